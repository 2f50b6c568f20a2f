//! What an `extern fn` declares: the operators that it emits must have a form at every opset at which it does not refuse.

use std::collections::{BTreeMap, BTreeSet};

use super::Coverage;
use super::opsets::Opsets;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::tree::AVOIDED;
use aten2onnx_schemas::dtypes::DtypeSet;

impl<'a> Coverage<'a> {
    /// Notes what a call of an `extern fn` may refuse.
    pub(super) fn external(&mut self, name: &str, at: Opsets) {
        let program = self.program;
        let Some(emits) = program.emits.get(name) else { return };
        for (since, reason) in &emits.since {
            self.refuse(*since, reason, at.below(*since));
        }
        let lowered = match self.lowered_externs.get(name) {
            Some(lowered) => *lowered,
            None => {
                let lowered = self.lowered_somewhere(&emits.ops);
                self.lowered_externs.insert(name.to_owned(), lowered);
                lowered
            }
        };
        self.frame.lowered = self.frame.lowered.or(lowered.and(at));
    }

    /// The opsets at which one of the operators is not native.
    fn lowered_somewhere(&self, ops: &[String]) -> Opsets {
        let schemas = self.schemas;
        let native = |op: &String, opset: u32| {
            let versions = schemas.onnx.versions(op);
            let newer = versions.iter().filter(|v| v.since > opset && schemas.shape_change(op, v.since));
            newer.into_iter().all(|v| self.sames.contains(&(op.as_str(), v.since)))
        };
        schemas.opsets.range().filter(|opset| !ops.iter().all(|op| native(op, *opset))).collect()
    }

    /// Errors for operators that an `extern fn` may emit where nothing can express them. `expressible` has the opsets of each.
    pub(super) fn check_emitted(&mut self, expressible: &BTreeMap<&str, Opsets>) {
        let program = self.program;
        let opsets = self.opsets;
        let missing_of = |op: &String| opsets.without(expressible.get(op.as_str()).copied().unwrap_or(opsets));
        for op in self.implicit_operators() {
            let missing = missing_of(op);
            if !missing.is_empty() {
                let text =
                    format!("the exporter may emit `{op}`, which nothing can express at opsets {}", missing.text());
                let diagnostic = Diagnostic::new("E0706", Span::NOWHERE, text);
                self.out.push(
                    diagnostic.help("opsets.toml lists it as `implicit` or `control`: write the missing `lower`"),
                );
            }
        }
        for (name, emits) in &program.emits {
            let refused = emits.since.iter().map(|(since, _)| *since).max().unwrap_or(0);
            for op in &emits.ops {
                let missing = missing_of(op).from(refused);
                let Some(last) = missing.last() else { continue };
                let needed = last + 1;
                let text = format!("`{name}` may emit `{op}`, which nothing can express at opsets {}", missing.text());
                let diagnostic = Diagnostic::new("E0706", emits.span, text).label("declared here");
                self.out.push(diagnostic.help(format!(
                    "declare what it refuses below opset {needed} with `since {needed} \"why\"`, or remove `{op}` from `emits`"
                )));
            }
        }
    }

    /// The operators that the exporter emits of itself and that must be expressible.
    fn implicit_operators(&self) -> impl Iterator<Item = &'a String> + use<'a> {
        let schemas = self.schemas;
        let is_known = |op: &&String| schemas.opsets.complete && !schemas.onnx.versions(op).is_empty();
        schemas.opsets.without_rules().filter(is_known)
    }

    /// The operators that the exporter or an `extern fn` may emit.
    pub(super) fn emitted_operators(&self) -> BTreeSet<&'a str> {
        let of_externs = self.program.emits.values().flat_map(|emits| &emits.ops);
        of_externs.chain(self.implicit_operators()).map(String::as_str).collect()
    }

    /// Walks the lowerings of all operators that no rule names, for any arguments.
    pub(super) fn walk_emitted(&mut self) {
        let (program, schemas) = (self.program, self.schemas);
        let opsets = self.opsets;
        self.all = DtypeSet::ALL;
        let emitted = program.emits.values().flat_map(|emits| &emits.ops);
        for op in emitted.chain(schemas.opsets.without_rules()) {
            self.walk_lowerings(op, opsets);
        }
    }

    /// Walks the lowerings of an operator for any arguments.
    pub(super) fn walk_lowerings(&mut self, op: &str, at: Opsets) {
        let (program, schemas) = (self.program, self.schemas);
        for lower in program.lowers.iter().filter(|lower| lower.op == *op && lower.before != AVOIDED) {
            let version = self.version_of_lowering(lower);
            let args = self.any_arguments_of_lowering(lower);
            let groups = Coverage::groups_of(version);
            let below = schemas.opsets.lowered_below(op, lower.before);
            self.call_grouped(&lower.function, args, None, &groups, at.below(below));
        }
    }

    /// Walks the lowering for calls of an operator that are avoided, for any arguments.
    pub(super) fn walk_avoided(&mut self, op: &str, at: Opsets) {
        let Some(lower) = self.program.lower(op, AVOIDED) else { return };
        let groups = Coverage::groups_of(self.version_of_lowering(lower));
        let args = self.any_arguments_of_lowering(lower);
        self.call_grouped(&lower.function, args, None, &groups, at);
    }

    /// The opsets at which some call of an operator can be expressed.
    pub(super) fn expressible(&mut self, op: &str, at: Opsets) -> Opsets {
        let schemas = self.schemas;
        let mut left = at;
        let mut done = Opsets::NONE;
        for version in schemas.onnx.versions(op).iter().rev() {
            if !version.deprecated {
                done = done.or(left.from(version.since));
            }
            left = left.below(version.since);
            if !schemas.shape_change(op, version.since) || self.sames.contains(&(op, version.since)) {
                continue;
            }
            let Some(lower) = self.program.lower(op, version.since) else {
                // With `complete`, a missing lowering is an error of its own.
                return if schemas.opsets.complete { done.or(left) } else { done };
            };
            let args = self.any_arguments_of_lowering(lower);
            let (seen, frame) = self.root(&lower.function, args, &Coverage::groups_of(Some(version)), left);
            // Gaps are errors of their own.
            done = done.or(if frame.gaps.is_empty() { seen.at } else { left });
            return done;
        }
        done
    }
}
