//! The clauses of an `extern fn`: the operators that it may emit, why it is not a rule, and what it may refuse.

use std::collections::BTreeSet;

use super::{Context, Signature, did_you_mean};
use crate::diagnostic::Diagnostic;
use crate::returned::Returned;
use crate::syntax::ast;
use crate::tree::{Emits, Returns};
use aten2onnx_schemas::nearest::nearest;

/// Checks the clauses. None if there are none.
pub(super) fn check(function: &ast::ExternFn, context: &Context<'_>, out: &mut Vec<Diagnostic>) -> Option<Emits> {
    check_reason(function, out);
    if function.emits.is_empty() && function.since.is_empty() {
        return None;
    }
    let because = function.because.as_ref().map(|because| because.reason.clone()).unwrap_or_default();
    let mut emits = Emits { because, span: function.name.span, ..Emits::default() };
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

/// Checks what a function says of its result. None if that is wrong.
pub(super) fn check_result(is: &ast::Is, signature: &Signature, out: &mut Vec<Diagnostic>) -> Option<Returns> {
    let word = is.word.text.as_str();
    let signatures = Returned::signatures(word);
    if signatures.is_empty() {
        let text = format!("the result of a function is never `{word}`");
        let diagnostic = Diagnostic::new("E0709", is.word.span, text).label("unknown");
        let known: BTreeSet<&str> = Returned::words().collect();
        let all = known.iter().copied().collect::<Vec<_>>().join(", ");
        out.push(did_you_mean(diagnostic.note(format!("the proof knows: {all}")), nearest(word, Returned::words())));
        return None;
    }
    let mut args = Vec::with_capacity(is.args.len());
    for arg in &is.args {
        let Some(at) = signature.params.iter().position(|param| param.name == arg.text) else {
            let text = format!("there is no parameter `{}`", arg.text);
            let diagnostic = Diagnostic::new("E0709", arg.span, text).label("unknown");
            out.push(did_you_mean(diagnostic, nearest(&arg.text, signature.params.iter().map(|p| p.name.as_str()))));
            return None;
        };
        args.push(at);
    }
    let types: Vec<String> = args.iter().filter_map(|at| Some(signature.params.get(*at)?.ty.to_string())).collect();
    let types = format!("{} -> {}", types.join(", "), signature.returns);
    let Some(returned) = Returned::of(word, &types) else {
        let text = format!("`{word}` is `{}`, not `{types}`", signatures.join("` or `"));
        out.push(Diagnostic::new("E0709", is.word.span, text).label("of other types"));
        return None;
    };
    Some(Returns { is: returned, args })
}

/// A function that makes nodes says why it is not a rule, and only such a function.
fn check_reason(function: &ast::ExternFn, out: &mut Vec<Diagnostic>) {
    let name = &function.name.text;
    let diagnostic = match &function.because {
        None if !function.emits.is_empty() => {
            let text = format!("`{name}` makes nodes, but does not say why it is not a rule");
            Diagnostic::new("E0707", function.name.span, text)
                .label("needs a reason")
                .help("write it as a `fn`, or add `because \"what rules cannot do\"` after `emits`")
        }
        Some(because) if function.emits.is_empty() => {
            let text = format!("`{name}` gives a reason for making nodes, but makes none");
            Diagnostic::new("E0707", because.span, text)
                .label("for no nodes")
                .help("list the operators in `emits`, or remove `because`")
        }
        Some(because) if because.reason.trim().is_empty() => {
            Diagnostic::new("E0707", because.span, format!("the reason why `{name}` is not a rule is empty"))
                .label("empty")
                .help("say what the function does that rules cannot")
        }
        _ => return,
    };
    out.push(diagnostic);
}
