//! Which changes of operators need a `raise`: those that the schemas do not show to be mere additions.
//!
//! With `complete` in `opsets.toml` each of them must have one, because a model that is converted may contain any operator.

use super::lower_header::lower_header;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::tree::Program;
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::onnx::Version;
use aten2onnx_schemas::onnx_diff::shape_differences;

/// Checks that every `raise` is needed, and that none is missing.
pub(super) fn check(schemas: &Schemas, program: &Program, out: &mut Vec<Diagnostic>) {
    for raise in &program.raises {
        if let Some(why) = why_needless(schemas, program, &raise.op, raise.before) {
            let text = format!("`{}` needs no `raise` at opset {}", raise.op, raise.before);
            out.push(Diagnostic::new("E0705", raise.function.span, text).label("remove it").note(why));
        }
    }
    if !schemas.opsets.complete {
        return;
    }
    for (op, versions) in schemas.onnx.ops.iter().filter(|(op, _)| !op.contains("::")) {
        for pair in versions.windows(2) {
            let [before, version] = pair else { continue };
            let is_newer = schemas.opsets.min < version.since && version.since <= schemas.opsets.max;
            let is_said = program.raises.iter().any(|r| r.op == *op && r.before == version.since);
            if is_newer && !is_said && why_needless(schemas, program, op, version.since).is_none() {
                out.push(missing(schemas, program, before, version));
            }
        }
    }
}

/// Why older calls of an operator are calls of a version as they are, if so.
fn why_needless(schemas: &Schemas, program: &Program, op: &str, since: u32) -> Option<String> {
    let version = schemas.onnx.versions(op).iter().find(|v| v.since == since)?;
    if version.deprecated {
        return None;
    }
    if !schemas.shape_change(op, since) {
        return Some(format!("only the types of {op} changed in opset {since}"));
    }
    if program.sames.iter().any(|same| same.op == op && same.to == since) {
        return Some(format!("a `same` says that calls of {op} mean the same in opset {since}"));
    }
    let text = format!("{op} of opset {since} has all calls of the version before, with the same meaning");
    schemas.extends(op, since).then_some(text)
}

/// It points at another rule of the operator, if there is one.
fn missing(schemas: &Schemas, program: &Program, before: &Version, version: &Version) -> Diagnostic {
    let (op, since) = (&version.name, version.since);
    let change = match schemas.opsets.meaning(op, since) {
        Some(change) => change.why.clone(),
        None if version.deprecated => "it is deprecated".to_owned(),
        None => shape_differences(before, version).join(", "),
    };
    let mut rules = program.lowers.iter().chain(&program.raises);
    let kin = rules.find(|rule| rule.op == *op).map_or(Span::NOWHERE, |rule| rule.function.span);
    let header = format!("raise {op} from {since} ({})", lower_header(before));
    let diagnostic = Diagnostic::new("E0704", kin, format!("`{op}` of opset {since} has no `raise`"))
        .note(format!("{op} changed in opset {since}: {change}"))
        .note("a model that is converted may have the older form (`complete` in opsets.toml)");
    let diagnostic = if kin == Span::NOWHERE { diagnostic } else { diagnostic.label("the operator's other rule") };
    diagnostic.help(format!("add `{header}`, or refuse in its body with `fail \"why\"`"))
}
