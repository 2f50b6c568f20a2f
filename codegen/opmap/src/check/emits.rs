//! The clauses of an `extern fn`: the operators that it may emit, and what it may refuse.

use super::{Context, did_you_mean};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast;
use crate::tree::Emits;

/// Checks the clauses. None if there are none.
pub(super) fn check(function: &ast::ExternFn, context: &Context<'_>, out: &mut Vec<Diagnostic>) -> Option<Emits> {
    if function.emits.is_empty() && function.since.is_empty() {
        return None;
    }
    let mut emits = Emits { span: function.name.span, ..Emits::default() };
    for name in &function.emits {
        let op = name.full();
        if context.schemas.onnx.versions(&op).is_empty() {
            let text = format!("ONNX has no operator `{op}`");
            let diagnostic = Diagnostic::new("E0102", name.span, text).label("unknown");
            out.push(did_you_mean(diagnostic, context.schemas.onnx.nearest(&op)));
        } else if emits.ops.contains(&op) {
            let text = format!("`{op}` is listed twice");
            out.push(Diagnostic::new("E0105", name.span, text).label("remove it"));
        } else {
            emits.ops.push(op);
        }
    }
    let opsets = &context.schemas.opsets;
    for clause in &function.since {
        if clause.opset <= opsets.min || clause.opset > opsets.max {
            let text = format!("`since {}` refuses nothing, or everything", clause.opset);
            let (min, max) = (opsets.min, opsets.max);
            let diagnostic = Diagnostic::new("E0702", clause.opset_span, text);
            out.push(diagnostic.note(format!("the supported opsets are {min} to {max}")));
            continue;
        }
        emits.since.push((clause.opset, clause.reason.clone()));
    }
    Some(emits)
}
