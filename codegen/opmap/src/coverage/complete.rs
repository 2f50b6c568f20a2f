//! With `complete` in `opsets.toml`, every operator that was added or changed needs a lowering, even if no rule calls it: a
//! model that is converted may contain any operator.

use super::Coverage;
use super::report::Gaps;
use crate::check::lower_header;
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::Span;
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::onnx::{Change, Version};

/// Errors for versions that neither a `lower` nor a `same` covers. Those in `gaps` are reported with a call instead.
pub(super) fn missing_lowerings(coverage: &Coverage<'_>, gaps: &Gaps) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (op, versions) in &coverage.schemas.onnx.ops {
        let mut before = None;
        for version in versions {
            let key = (op.as_str(), version.since);
            let is_covered = coverage.lowers.contains_key(&key) || coverage.sames.contains(&key);
            if is_required(coverage, version) && !is_covered && !gaps.contains_key(&(op.clone(), version.since)) {
                out.push(diagnostic(coverage, version, before));
            }
            before = Some(version);
        }
    }
    out
}

/// Errors for operators of which `operators.toml` does not say what they do.
pub(super) fn missing_facts(schemas: &Schemas, out: &mut Vec<Diagnostic>) {
    for op in schemas.operators.missing(&schemas.onnx) {
        let text = format!("operators.toml does not say what `{op}` does");
        let diagnostic = Diagnostic::new("E0708", Span::NOWHERE, text)
            .note("the proof, inference, complex numbers and passes take from there what an operator does to shapes and elements");
        out.push(diagnostic.help(format!(
            "add the line `{op} = {{ shape = \"..\" }}` under `[operators]`, with the facts that the head of the file lists"
        )));
    }
}

/// Deprecated versions cannot be called, so they need no lowering.
fn is_required(coverage: &Coverage<'_>, version: &Version) -> bool {
    let opsets = &coverage.schemas.opsets;
    let changed = coverage.schemas.change(&version.name, version.since) != Some(Change::Types);
    let is_newer = opsets.min < version.since && version.since <= opsets.max;
    changed && is_newer && !version.deprecated && !version.name.contains("::")
}

/// It points at another rule of the operator, if there is one.
fn diagnostic(coverage: &Coverage<'_>, version: &Version, before: Option<&Version>) -> Diagnostic {
    let (op, since) = (&version.name, version.since);
    let kin = coverage.program.lowers.iter().find(|l| l.op == *op).map_or(Span::NOWHERE, |l| l.function.span);
    let header = format!("lower {op} before {since} ({})", lower_header(version));
    let diagnostic = Diagnostic::new("E0703", kin, format!("`{op}` of opset {since} has no lowering"))
        .note(coverage.change(version, before))
        .note("no rule calls it, but a model that is converted may contain it (`complete` in opsets.toml)");
    let diagnostic = if kin == Span::NOWHERE { diagnostic } else { diagnostic.label("the operator's other rule") };
    let same = if before.is_some() { ", declare with `same` that it means the same" } else { "" };
    let diagnostic =
        diagnostic.help(format!("add `{header}`{same}, or refuse in its body with `since {since} \"why\"`"));
    match kin == Span::NOWHERE {
        true => diagnostic,
        false => diagnostic.fix(
            format!("add `lower {op} before {since}`"),
            FixPlace::AfterItem(kin),
            format!("{header} = since {since} \"why\""),
        ),
    }
}
