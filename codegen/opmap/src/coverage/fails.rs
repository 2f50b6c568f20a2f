//! `since N` is the only way to say "from opset N": the matrix, the pages and the advice in errors take the number from there. A `fail`
//! under a condition on `opset` would hide it.

use crate::diagnostic::Diagnostic;
use crate::tree::{Expr, Function, Kind, Program};
use crate::visit;

/// Errors for branches that only fail, and are taken or not by the opset.
pub(super) fn check(program: &Program, out: &mut Vec<Diagnostic>) {
    let rules = program.lowers.iter().chain(&program.raises).map(|rule| &rule.function);
    let functions = program.maps.iter().map(|map| &map.function).chain(rules).chain(&program.fns);
    functions.for_each(|function| check_function(function, out));
}

fn check_function(function: &Function, out: &mut Vec<Diagnostic>) {
    visit::walk(&function.body, &mut |expr| {
        let Kind::If { condition, then, other, .. } = &expr.kind else { return };
        if !asks_opset(condition) {
            return;
        }
        for branch in [then, other] {
            let Some(fail) = failing(branch) else { continue };
            let text = "this `fail` depends on the opset, which the proof and the matrix cannot see";
            let diagnostic = Diagnostic::new("E0710", fail.span, text).also(condition.span, "the condition");
            out.push(diagnostic.help("write `since N \"why\"` here, where N is the first opset that needs no refusal"));
        }
    });
}

/// Whether a condition compares the opset itself.
fn asks_opset(condition: &Expr) -> bool {
    let mut found = false;
    visit::walk(condition, &mut |part| found |= matches!(part.kind, Kind::Opset));
    found
}

/// The `fail` that is all of a branch.
fn failing(branch: &Expr) -> Option<&Expr> {
    match &branch.kind {
        Kind::Fail(_) => Some(branch),
        Kind::Convert(inner) => failing(inner),
        Kind::Block(_, result) => failing(result),
        _ => None,
    }
}
