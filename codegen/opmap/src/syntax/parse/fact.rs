//! Facts about operators: `view`, `write`, `update`, `rewrite`, `fact`.

use super::{Pair, Parts, Reader, Rule};
use crate::syntax::fact::{Clause, Fact, FactKind};

impl Reader<'_> {
    pub(super) fn fact(&self, pair: Pair<'_>) -> Option<Fact> {
        let mut parts = Parts::of(pair);
        let keyword = parts.one(Rule::fact_keyword)?;
        let kind = FactKind::ALL.into_iter().find(|kind| kind.keyword() == keyword.as_str().trim_end())?;
        let op = self.op_name(parts.one(Rule::path_with_namespace)?)?;
        let mut clauses = Vec::new();
        while let Some(clause) = parts.one(Rule::clause) {
            clauses.push(Clause { span: self.span(&clause), words: self.words(clause) });
        }
        let value = match parts.one(Rule::expr) {
            Some(value) => Some(self.expr(value)?),
            None => None,
        };
        Some(Fact { kind, op, clauses, value })
    }
}
