//! `same` items: versions of an operator whose schema changed and whose meaning did not.

use std::collections::HashMap;

use super::declare::is_first;
use super::wording::opsets;
use super::{Context, did_you_mean};
use crate::collect::Items;
use crate::diagnostic::Diagnostic;
use crate::syntax::ast;
use crate::tree::{Program, Same};

/// Checks the `same` items.
pub(super) fn check(items: &Items, context: &Context<'_>, program: &mut Program, out: &mut Vec<Diagnostic>) {
    let mut seen = HashMap::new();
    for (meta, same) in &items.sames {
        let op = same.op.full();
        let Some(versions) = context.schemas.onnx.ops.get(&op) else {
            let text = format!("ONNX has no operator `{op}`");
            let diagnostic = Diagnostic::new("E0102", same.op.span, text).label("unknown");
            out.push(did_you_mean(diagnostic, context.schemas.onnx.nearest(&op)));
            continue;
        };
        if !is_first(&mut seen, &format!("same {op} {}", same.to), same.numbers_span, out) {
            continue;
        }
        if let Some(problem) = same_problem(context, &op, same) {
            let versions = opsets(versions.iter().map(|v| v.since));
            out.push(
                Diagnostic::new("E0204", same.numbers_span, problem)
                    .label("not needed")
                    .note(format!("`{op}` was added or changed at {versions}")),
            );
            continue;
        }
        program.sames.push(Same { op, to: same.to, span: meta.span });
    }
}

/// Why a `same` has no effect, if so.
fn same_problem(context: &Context<'_>, op: &str, same: &ast::Same) -> Option<String> {
    let (from, to) = (same.from, same.to);
    if !context.schemas.shape_change(op, to) {
        return Some(format!("`{op}` did not change shape at opset {to}"));
    }
    match context.schemas.onnx.versions(op).iter().rev().find(|v| v.since < to) {
        None => Some(format!("`{op}` was added in opset {to}")),
        Some(before) if before.since != from => {
            Some(format!("the version of `{op}` before opset {to} is that of opset {}, not {from}", before.since))
        }
        Some(_) => None,
    }
}
