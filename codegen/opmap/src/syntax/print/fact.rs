//! Facts about operators.

use super::flat;
use super::layout::Writer;
use crate::syntax::fact::{Clause, Fact};

/// `view aten::reshape if strides, in order`; what stands after `=` in a line of its own if it is too long.
pub(super) fn fact(w: &mut Writer, fact: &Fact) {
    w.write(&format!("{} {}", fact.kind.keyword(), flat::op_name(&fact.op)));
    let clauses: Vec<String> = fact.clauses.iter().map(Clause::text).collect();
    if !clauses.is_empty() {
        w.write(" ");
        w.write(&clauses.join(", "));
    }
    if let Some(value) = &fact.value {
        w.write(" =");
        w.assigned(value, 0);
    }
}
