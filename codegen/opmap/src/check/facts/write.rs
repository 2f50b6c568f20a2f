//! `write` and `update`: what an operator writes, in place or in addition to returning results.

use super::terms::Scope;
use super::{Subject, clauses, passes_all};
use crate::check::wording::counted;
use crate::effects::{Term, Update, Write};
use aten2onnx_schemas::writes::{SchemaForm, Writes};

impl Subject<'_> {
    pub(super) fn write(&mut self) -> Option<Write> {
        let writes = self.context.schemas.aten.writes(self.schema);
        let Some(writes) = writes.filter(|writes| writes.form == SchemaForm::InPlace) else {
            return self.unfit(
                self.fact.op.span,
                "does not write in place",
                "the schema does not mark what it returns as written",
            );
        };
        let mut write = Write::default();
        for clause in &self.fact.clauses {
            match clause.text().as_str() {
                "whole" => write.whole = true,
                "constant" => write.constant = true,
                "resizes" => write.resizes = true,
                _ => return self.unknown(clause, clauses::WRITE),
            }
        }
        if let Some(value) = &self.fact.value {
            let (term, _) = self.value(value, Scope::Plain, &["Tensor"])?;
            if self.is_functional(&term, &writes) {
                return self.known(value.span, "has this functional form by its schema");
            }
            write.value = Some(term);
        }
        if self.fact.clauses.is_empty() && write.value.is_none() {
            return self.known(self.fact.op.span, "writes to its first argument by its schema");
        }
        Some(write)
    }

    /// Whether it is the functional form on the same arguments, which follows from the schemas.
    fn is_functional(&self, term: &Term, writes: &Writes<'_>) -> bool {
        let (Term::Call(call), Some(functional)) = (term, writes.functional) else { return false };
        call.op == functional.name && passes_all(call, self.schema.args.iter().map(|arg| arg.name.as_str()))
    }

    pub(super) fn update(&mut self) -> Option<Update> {
        let (mut args, mut flag) = (Vec::new(), None);
        for (at, clause) in self.fact.clauses.iter().enumerate() {
            let is_last = at + 1 == self.fact.clauses.len();
            let name = match clause.words.as_slice() {
                [name] => name,
                [name, word, when] if word.text == "if" && is_last => {
                    self.argument_of(&when.text, "bool", when.span)?;
                    flag = Some(when.text.clone());
                    name
                }
                _ => return self.unknown(clause, clauses::UPDATE),
            };
            self.argument_of(&name.text, "Tensor", name.span)?;
            args.push(name.text.clone());
        }
        if args.is_empty() {
            return self.unfit(self.fact.op.span, "updates nothing here", "name the arguments that it writes");
        }
        let value = match &self.fact.value {
            None => None,
            Some(value) => {
                let (term, results) = self.value(value, Scope::Plain, &["Tensor"])?;
                let all = self.schema.returns.len() + args.len();
                if results < all && !(results == 1 && args.len() == 1) {
                    let text = format!("this returns {}", counted(results, "result"));
                    let label = match args.len() {
                        1 => format!("at least {all} are wanted, or 1: the new value of `{}`", args.join("")),
                        count => {
                            format!("at least {all} are wanted: those of the operator and, last, {count} new values")
                        }
                    };
                    return self.wrong(value.span, &text, &label);
                }
                Some(term)
            }
        };
        Some(Update { args, flag, value })
    }
}
