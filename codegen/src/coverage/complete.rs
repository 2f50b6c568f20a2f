//! Every operator that appeared or changed has its lowering, whether a rule calls it or not: `convert` may meet any of them.

use super::{Coverage, Holes};
use crate::check::lower_header;
use crate::diagnostic::Diagnostic;
use crate::schema::onnx::{Change, Version};
use crate::source::Span;

/// The steps of versions that neither a `lower` nor a `same` speaks of. Those in `holes` have been reported with the way to them.
pub(super) fn unsaid(coverage: &Coverage<'_>, holes: &Holes) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (op, versions) in &coverage.schemas.onnx.ops {
        let mut before = None;
        for version in versions {
            let key = (op.as_str(), version.since);
            let is_said = coverage.lowers.contains_key(&key) || coverage.sames.contains(&key);
            if is_demanded(coverage, version) && !is_said && !holes.contains_key(&(op.clone(), version.since)) {
                out.push(diagnostic(coverage, version, before));
            }
            before = Some(version);
        }
    }
    out
}

/// Nobody may call a deprecated version.
fn is_demanded(coverage: &Coverage<'_>, version: &Version) -> bool {
    let opsets = &coverage.schemas.opsets;
    let changed = coverage.schemas.change(&version.name, version.since) != Some(Change::Types);
    let is_newer = opsets.min < version.since && version.since <= opsets.max;
    changed && is_newer && !version.deprecated && !version.name.contains("::")
}

/// It points at the next rule of the operator, if there is one.
fn diagnostic(coverage: &Coverage<'_>, version: &Version, before: Option<&Version>) -> Diagnostic {
    let (op, since) = (&version.name, version.since);
    let kin = coverage.program.lowers.iter().find(|l| l.op == *op).map_or(Span::NOWHERE, |l| l.function.span);
    let header = format!("lower {op} before {since} ({})", lower_header(version));
    let diagnostic = Diagnostic::new("E0703", kin, format!("`{op}` of opset {since} has no lowering"))
        .note(coverage.change(version, before))
        .note("no rule needs it, but a model that is converted may: `complete` in opsets.toml asks for all");
    let diagnostic = if kin == Span::NOWHERE { diagnostic } else { diagnostic.label("the operator's other rule") };
    let same = if before.is_some() { ", say that it means the same with `same`" } else { "" };
    diagnostic.help(format!("add `{header}`{same}, or refuse in its body: `since {since} \"why\"`"))
}
