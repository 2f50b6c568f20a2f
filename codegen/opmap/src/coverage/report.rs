//! The errors of this pass.

use std::collections::{BTreeMap, BTreeSet};

use super::opsets::Opsets;
use super::trace::Trace;
use super::{Coverage, Gap, ranges};
use crate::check::lower_header;
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::Span;
use aten2onnx_schemas::onnx::Version;
use aten2onnx_schemas::onnx_diff::shape_differences;

/// The missing lowerings (operator, version), and the calls that need each.
pub(super) type Gaps = BTreeMap<(String, u32), BTreeMap<Span, Route>>;

/// The path to a call that nothing covers, and the opsets concerned.
#[derive(Debug)]
pub(super) struct Route {
    path: Vec<String>,
    opsets: BTreeSet<u32>,
}

/// Adds the gaps of a rule.
pub(super) fn note_gaps(found: &BTreeMap<Gap, Opsets>, at: Opsets, gaps: &mut Gaps) {
    for (gap, opsets) in found {
        let opsets = opsets.and(at);
        if opsets.is_empty() {
            continue;
        }
        let calls = gaps.entry((gap.op.clone(), gap.missing)).or_default();
        let way = calls.entry(gap.site).or_insert_with(|| Route { path: gap.path.clone(), opsets: BTreeSet::new() });
        way.opsets.extend(opsets.iter());
        if gap.path.len() < way.path.len() {
            way.path.clone_from(&gap.path);
        }
    }
}

/// An error for a `since` with another number than the exact one.
pub(super) fn inexact(span: Span, since: u32, why: &str) -> Diagnostic {
    Diagnostic::new("E0702", span, format!("`since {since}` is not exact")).label(why)
}

impl Coverage<'_> {
    /// All errors. `trace` is what all roots reached.
    pub(super) fn report(mut self, gaps: Gaps, trace: &Trace, out: &mut Vec<Diagnostic>) {
        out.append(&mut self.out);
        for ((op, missing), calls) in &gaps {
            out.extend(self.missing(op, *missing, calls));
        }
        for (site, (since, reached)) in &trace.since_values {
            let Some(newest) = reached.last() else { continue };
            let exact = newest + 1;
            if exact != *since {
                let label = match newest >= *since {
                    true => format!("opset {newest} reaches this too and gets no value"),
                    false => format!("no opset above {newest} reaches this"),
                };
                out.push(inexact(*site, *since, &label).help(format!("write `since {exact}`")).fix(
                    format!("write `since {exact}`"),
                    FixPlace::Number(*site),
                    exact.to_string(),
                ));
            }
        }
        for (site, (since, needed)) in &trace.since_statements {
            if !needed {
                let label = "what follows works below that opset too";
                out.push(inexact(*site, *since, label).help("remove it, or lower the number"));
            }
        }
        self.unreached(trace, out);
    }

    /// Branches that no path takes, in rules and helpers that are called. `check` has found some of them.
    fn unreached(&self, trace: &Trace, out: &mut Vec<Diagnostic>) {
        let is_known = |span: Span| out.iter().any(|d| d.code == "E0602" && d.primary.0 == span);
        // Branches without a rule are those of rules that changed (`check::before`).
        let is_walked = |rule: &str| {
            !rule.is_empty() && self.program.helper(rule).is_none_or(|own| trace.walked.contains(&own.span))
        };
        let arms = self.program.arms.iter().zip(&trace.arms);
        let unreached: Vec<Diagnostic> = arms
            .filter(|(arm, at)| at.is_empty() && is_walked(&arm.rule) && !is_known(arm.span))
            .map(|(arm, _)| {
                let (min, max) = (self.schemas.opsets.min, self.schemas.opsets.max);
                let rule = &arm.rule;
                Diagnostic::new("E0602", arm.span, "no call takes this branch").label("never reached").note(format!(
                    "no call of `{rule}` with arguments that its header and the conditions before allow reaches it at opsets {min} to {max}"
                ))
            })
            .collect();
        out.extend(unreached);
    }

    /// One error for each missing lowering, at the call with the shortest path.
    fn missing(&self, op: &str, missing: u32, calls: &BTreeMap<Span, Route>) -> Option<Diagnostic> {
        let (site, way) = calls.iter().min_by_key(|(site, way)| (way.path.len(), **site))?;
        let opsets: BTreeSet<u32> = calls.values().flat_map(|way| way.opsets.iter().copied()).collect();
        let versions = self.schemas.onnx.versions(op);
        let at = versions.iter().position(|v| v.since == missing)?;
        let (version, before) = (versions.get(at)?, at.checked_sub(1).and_then(|i| versions.get(i)));
        let fact = self.change(version, before);
        let many = if opsets.len() == 1 { "" } else { "s" };
        let text = format!("`{op}` is not covered at opset{many} {}", ranges(&opsets));
        let lower = format!("lower {op} before {missing} ({})", lower_header(version));
        let mut diagnostic = Diagnostic::new("E0701", *site, text)
            .label("neither native nor lowered there")
            .note(fact)
            .help(format!("add `{lower}`, or declare the gap with `since {missing} \"why\"`"))
            .fix(
                format!("declare the gap: `since {missing}`"),
                FixPlace::Header(*site),
                format!("since {missing} \"why\""),
            )
            .fix(
                format!("add `lower {op} before {missing}`"),
                FixPlace::AfterItem(*site),
                format!("{lower} = since {missing} \"why\""),
            );
        if way.path.len() > 1 {
            let path = way.path.iter().chain([&op.to_owned()]).map(|name| format!("`{name}`")).collect::<Vec<_>>();
            diagnostic = diagnostic.note(format!("the path: {}", path.join(" -> ")));
        }
        match calls.len() - 1 {
            0 => {}
            1 => diagnostic = diagnostic.note("one more call needs it too"),
            n => diagnostic = diagnostic.note(format!("{n} more calls need it too")),
        }
        Some(diagnostic)
    }

    /// What changed in a version.
    pub(super) fn change(&self, version: &Version, before: Option<&Version>) -> String {
        let (op, since) = (&version.name, version.since);
        match (before, self.schemas.opsets.meaning(op, since)) {
            (None, _) => format!("{op} was added in opset {since}"),
            (Some(_), Some(change)) => format!("{op} changed in opset {since}: {}", change.why),
            (Some(before), None) => {
                format!("{op} changed in opset {since}: {}", shape_differences(before, version).join(", "))
            }
        }
    }
}
