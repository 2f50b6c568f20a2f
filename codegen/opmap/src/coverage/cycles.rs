//! Lowerings that lead back to themselves through functions in Rust, or through calls that a runtime avoids.
//!
//! The walk over a rule finds cycles of rules and helpers, because it enters them. It does not enter an `extern fn`: what that emits is
//! declared. Such a node has no attributes, as far as is known, so the lowering of the operator is walked once for calls without attributes;
//! if it calls a function that leads to the same lowering, there is no end.

use super::Coverage;
use super::call::{AbstractCall, Given};
use super::operator::default_value;
use super::opsets::Opsets;
use super::scope::Scope;
use super::values::{Abs, List, Optional, Tensor};
use super::walk::converted;
use crate::diagnostic::Diagnostic;
use crate::returned::Returned;
use crate::source::Span;
use crate::tree::{AVOIDED, Lower};
use aten2onnx_schemas::dtypes::DtypeSet;

impl<'a> Coverage<'a> {
    /// Walks the lowerings of what an `extern fn` emits, to see whether they lead back.
    pub(super) fn follow_emitted(&mut self, external: &str, args: &[Abs], at: Opsets, site: Span) {
        let is_idle = !self.judges || (self.quiet > 0 && self.emitting.is_empty());
        if is_idle || self.is_constant(external, args) {
            return;
        }
        let program = self.program;
        for op in program.emits.get(external).into_iter().flat_map(|emits| &emits.ops) {
            let Some((index, below)) = self.emitted_lowering(op, at) else { continue };
            let known = self.ending.get(&index).copied().unwrap_or_default();
            if below.without(known).is_empty() {
                continue;
            }
            if self.emitting.contains(&index) {
                self.report_cycle(index, external, site);
                continue;
            }
            self.walk_plain(index, below);
            self.ending.insert(index, known.or(below));
        }
    }

    /// Whether a function makes a tensor of numbers that are known: a constant, and no node.
    fn is_constant(&self, external: &str, args: &[Abs]) -> bool {
        let Some(returns) = self.program.results.get(external) else { return false };
        let is_of_numbers = matches!(returns.is, Returned::Scalar | Returned::Vector);
        let is_known = |at: &usize| args.get(*at).is_some_and(|arg| !arg.known().may_not());
        is_of_numbers && returns.args.iter().all(is_known)
    }

    /// The lowering of a node in the newest form, and the opsets at which it runs.
    fn emitted_lowering(&self, op: &'a str, at: Opsets) -> Option<(usize, Opsets)> {
        let changed = self.schemas.onnx.versions(op).iter().rev().find(|version| {
            self.schemas.shape_change(op, version.since) && !self.sames.contains(&(op, version.since))
        })?;
        let index = self.lowers.get(&(op, changed.since)).copied()?;
        let below = at.below(changed.since);
        (!below.is_empty()).then_some((index, below))
    }

    /// Walks a lowering for calls without attributes, only for where it leads.
    fn walk_plain(&mut self, index: usize, at: Opsets) {
        let Some(lower) = self.program.lowers.get(index) else { return };
        let args = self.plain_arguments(lower);
        let kept = (std::mem::take(&mut self.frame), std::mem::take(&mut self.stack), std::mem::take(&mut self.within));
        let (all, outer) = (std::mem::replace(&mut self.all, DtypeSet::ALL), std::mem::take(&mut self.memo));
        std::mem::swap(&mut self.memo, &mut self.plain_memo);
        self.quiet += 1;
        self.emitting.push(index);
        let mut scope = Scope::default();
        for (param, arg) in lower.function.params.iter().zip(args) {
            scope.bind(&param.name, arg, None);
        }
        self.expr(&lower.function.body, &scope, at);
        self.emitting.pop();
        self.quiet -= 1;
        std::mem::swap(&mut self.memo, &mut self.plain_memo);
        (self.all, self.memo) = (all, outer);
        (self.frame, self.stack, self.within) = kept;
    }

    /// Any inputs, and attributes that are left out.
    fn plain_arguments(&self, lower: &'a Lower) -> Vec<Abs> {
        let version = self.version_of_lowering(lower);
        let any = self.any_arguments_of_lowering(lower).into_iter().zip(&lower.function.params).enumerate();
        any.map(|(i, (any, param))| {
            let stem = param.name.rsplit_once('_').map_or(param.name.as_str(), |(stem, _)| stem);
            let default = version.and_then(|version| version.attribute(stem)).and_then(|a| a.default.as_ref());
            match default {
                _ if i < lower.inputs => any,
                Some(default) => {
                    converted(default_value(default), &param.ty).fit(&param.ty, DtypeSet::ALL, self.opsets)
                }
                None if matches!(any, Abs::Optional(_)) => Abs::Optional(Optional::nothing()),
                None => any,
            }
        })
        .collect()
    }

    fn report_cycle(&mut self, index: usize, external: &str, site: Span) {
        let program = self.program;
        let Some(lower) = program.lowers.get(index) else { return };
        if self.out.iter().any(|known| known.code == "E0603" && known.primary.0 == site) {
            return;
        }
        let (name, through) = (&lower.function.name, crate::tree::short_name(external));
        let text = format!("`{name}` leads back to itself through `{through}`");
        let diagnostic = Diagnostic::new("E0603", site, text).label(format!("emits what `{name}` replaces"));
        let mut diagnostic = diagnostic.also(lower.function.span, "the lowering");
        let way =
            self.emitting.iter().filter_map(|on| program.lowers.get(*on)).map(|on| format!("`{}`", on.function.name));
        let way: Vec<String> = way.chain([format!("`{through}`"), format!("`{name}`")]).collect();
        diagnostic = diagnostic.note(format!("the cycle: {}", way.join(" -> ")));
        self.out.push(diagnostic.help("write this step with the operators of the older opset, without the function"));
    }

    /// An error for a call of an operator in its own `lower .. avoided`, in the form of each call that this replaces.
    pub(super) fn check_avoided(&mut self, call: &AbstractCall<'a>) {
        let name = format!("{} avoided", call.op);
        if !self.judges || self.quiet > 0 || !self.stack.iter().any(|entered| entered.name == name) {
            return;
        }
        let Some(lower) = self.program.lower(call.op, AVOIDED) else { return };
        if !self.is_whole_form(lower, call) {
            return;
        }
        let op = call.op;
        let text = format!("`{name}` calls `{op}` in the form that it replaces");
        let diagnostic = Diagnostic::new("E0603", call.site, text).label("this is replaced again, without end");
        let diagnostic = diagnostic.also(lower.function.span, "the lowering");
        let help = format!("call other operators, or `{op}` in another form: with other dtypes, ranks or attributes");
        if !self.out.iter().any(|known| known.code == "E0603" && known.primary.0 == call.site) {
            self.out.push(diagnostic.help(help));
        }
    }

    /// Whether a call can be any call that a lowering replaces.
    fn is_whole_form(&self, lower: &'a Lower, call: &AbstractCall<'a>) -> bool {
        let wanted = self.any_arguments_of_lowering(lower);
        let params = lower.function.params.iter().zip(&wanted).enumerate();
        params.into_iter().all(|(i, (param, any))| {
            if i >= lower.inputs {
                let stem = param.name.rsplit_once('_').map_or(param.name.as_str(), |(stem, _)| stem);
                return call.attr(stem) == Some(any);
            }
            match (call.inputs.get(i), any) {
                (Some(given), Abs::List(_)) => matches!(given, Given::Spread(list) if is_whole_list(list)),
                (Some(given), any) => {
                    let is_whole = |tensor: &Tensor| {
                        tensor.is_given && any.dtypes().is_within(tensor.dtypes) && is_any_rank(tensor, any)
                    };
                    given.tensor().is_none_or(is_whole)
                }
                (None, Abs::Optional(_)) => false,
                (None, _) => true,
            }
        })
    }
}

/// Whether a tensor may have each rank that another value may have.
fn is_any_rank(tensor: &Tensor, any: &Abs) -> bool {
    any.tensor().is_none_or(|any| any.ranks.and(tensor.ranks) == any.ranks)
}

/// Whether a list may be each that is given.
fn is_whole_list(list: &List) -> bool {
    let is_given = matches!(&*list.each, Abs::Tensor(tensor) if tensor.is_given);
    is_given && list.items.is_none() && list.most == u32::MAX
}

/// Marks the tensors that a lowering is given.
pub(super) fn given(value: Abs) -> Abs {
    match value {
        Abs::Tensor(tensor) => Abs::Tensor(Tensor { is_given: true, ..tensor }),
        Abs::Optional(optional) => {
            let present = given((*optional.present).clone());
            Abs::Optional(Optional { absent: optional.absent, present: std::rc::Rc::new(present) })
        }
        Abs::List(list) => Abs::List(list.map(|item| given(item.clone()))),
        other => other,
    }
}
