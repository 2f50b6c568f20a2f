//! One call of an ONNX operator: native at an opset, lowered, refused for its dtypes, or a gap.

use std::rc::Rc;

use super::call::{AbstractCall, Bound, Given, fill_numbers, port_at, ranks_of_length};
use super::opsets::Opsets;
use super::results::code_dtypes;
use super::said::Fate;
use super::scope::Scope;
use super::values::{Abs, Kinds, Known, List, Number, Optional, Ranks, Tensor, Values};
use super::walk::converted;
use super::{Coverage, Seen};
use crate::tree::{Expr, Input, Lower, Node, Outputs};
use crate::types::Ty;
use aten2onnx_operators::plan::{self, Answer, Difference};
use aten2onnx_schemas::dtypes::DTYPES;
use aten2onnx_schemas::dtypes::DtypeSet;
use aten2onnx_schemas::onnx::{AttrValue, Port, Version};

impl<'a> Coverage<'a> {
    /// The results of a node, and the opsets at which it can be expressed.
    pub(super) fn node(&mut self, node: &'a Node, expr: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Seen {
        let mut at = at;
        let mut inputs = Vec::with_capacity(node.inputs.len());
        let mut numbers = Vec::new();
        for (i, input) in node.inputs.iter().enumerate() {
            let given = self.input(input, scope, &mut at);
            if matches!(input, Input::Number(_) | Input::OptionalNumber(_)) {
                numbers.push(i);
            }
            inputs.push(given);
        }
        let mut attrs = Vec::with_capacity(node.attrs.len());
        for (name, _, value) in &node.attrs {
            let seen = self.expr(value, scope, at);
            at = seen.at;
            attrs.push((name.as_str(), seen.value));
        }
        for output in crate::visit::output_exprs(&node.outputs) {
            at = self.expr(output, scope, at).at;
        }
        if at.is_empty() {
            return Seen::never();
        }
        let counted = |count: usize| Abs::Number(Number::between(count as i64, count as i64));
        let (bound, outputs) = match &node.outputs {
            Outputs::One => (Bound::One, counted(1)),
            Outputs::Tuple(count) => (Bound::Tuple(*count), counted(*count)),
            Outputs::List(count) => (Bound::List, self.expr(count, scope, at).value),
            Outputs::Typed(stated) => (Bound::Tuple(stated.len()), counted(stated.len())),
        };
        let place = if self.said.is_some() { super::said::place_of(node, expr.span) } else { 0 };
        let mut call =
            AbstractCall { op: &node.op, form: node.form, site: expr.span, place, bound, inputs, attrs, outputs };
        let Some(version) = self.form_of(node) else {
            let value = match &node.outputs {
                Outputs::Typed(stated) => self.stated(stated, scope, at).value,
                _ => self.top(&expr.ty, at),
            };
            return Seen { value, at };
        };
        fill_numbers(&mut call, version, &numbers);
        let is_wrong = self.check_call(node, &call, version, &numbers, at);
        self.check_avoided(&call);
        if let Outputs::Typed(stated) = &node.outputs {
            let seen = self.stated(stated, scope, at);
            self.check_stated(stated, &seen.value, &call, version);
            return seen;
        }
        let value = self.results(&call, version);
        self.say(&call, &value);
        // What replaces a wrong call is not to blame.
        let judges = self.judges;
        self.judges &= !is_wrong;
        let at = self.dispatched(call, at);
        self.judges = judges;
        Seen { value, at }.or_top(self, &expr.ty)
    }

    /// The version whose form a node has.
    fn form_of(&self, node: &Node) -> Option<&'a Version> {
        let schemas = self.schemas;
        match node.op.contains("::") {
            true => schemas.onnx.versions(&node.op).last(),
            false => schemas.onnx.at(&node.op, node.form),
        }
    }

    /// The results of an operator of another domain, whose types the call states.
    fn stated(&mut self, stated: &'a [crate::tree::Stated], scope: &Scope<'a>, at: Opsets) -> Seen {
        let mut one = |output: &'a crate::tree::Stated| {
            let dtype = self.expr(&output.dtype, scope, at).value;
            let shape = self.expr(&output.shape, scope, at).value;
            let dtypes = if let Abs::Dtype(set) = dtype { set } else { self.all };
            let ranks = if let Abs::List(list) = shape { ranks_of_length(&list) } else { Ranks::ALL };
            Abs::Tensor(Tensor { ranks, known: Known::NO, ..Tensor::of(dtypes) })
        };
        let mut results: Vec<Abs> = stated.iter().map(&mut one).collect();
        let value = if results.len() == 1 { results.remove(0) } else { Abs::Tuple(results.into()) };
        Seen { value, at }
    }

    /// The opsets at which a call can be expressed. The others are noted as refused or as gaps.
    pub(super) fn dispatched(&mut self, call: AbstractCall<'a>, at: Opsets) -> Opsets {
        let op = call.op;
        if op.contains("::") {
            return at;
        }
        let schemas = self.schemas;
        let versions = schemas.onnx.versions(op);
        // Complex numbers are replaced by their parts before.
        let call = call.map_dtypes(|dtypes| self.parts(dtypes));
        let Some(mut call) = self.with_taken_dtypes(call, at) else { return Opsets::NONE };
        let (mut left, mut done) = self.raised(&call, at);
        let forms: Vec<&'a Version> = versions.iter().filter(|v| v.since <= call.form).collect();
        for (i, version) in forms.iter().enumerate().rev() {
            let mut native = left.from(version.since);
            if i + 1 == forms.len() {
                // Newer versions that mean the same are in force above.
                for newer in versions.iter().rev().filter(|v| v.since > call.form) {
                    done = done.or(self.native(&call, newer, native.from(newer.since)));
                    native = native.below(newer.since);
                }
            }
            done = done.or(self.native(&call, version, native));
            left = left.below(version.since);
            let Some(newest) = left.last() else { return done };
            let existing = self.existing_at(newest);
            call = call.map_dtypes(|dtypes| dtypes.and(existing));
            let older = i.checked_sub(1).and_then(|i| forms.get(i)).copied();
            let lower = self.lowers.get(&(op, version.since)).copied();
            let difference = schemas.difference(op, version.since, self.sames.contains(&(op, version.since)));
            let step = self.step_down(difference, &call, (version, older), newest);
            let fate = plan::below(difference, lower.is_some(), &step);
            // Of a call whose dtypes no tensor can have nothing is left.
            let rest = if difference == Difference::Types { step.others.as_ref() } else { Some(&call) };
            if let Some(rest) = rest.filter(|_| fate.lowered || fate.refused) {
                let done_below = self.below_version(difference, lower, rest, version, left);
                // Of a call that fits in part only the older version counts as working.
                let counts = !fate.older || difference == Difference::Types;
                done = done.or(if counts { done_below } else { Opsets::NONE });
            }
            if !fate.older {
                return done;
            }
            if lower.is_some() {
                call = step.taken.unwrap_or(call);
            }
        }
        done
    }

    /// The call with the dtypes that some version takes, as they are or cast. None if there are none, or if inputs of one type variable have
    /// different ones.
    fn with_taken_dtypes(&mut self, call: AbstractCall<'a>, at: Opsets) -> Option<AbstractCall<'a>> {
        let versions = self.schemas.onnx.versions(call.op);
        let form = versions.iter().rev().find(|version| version.since <= call.form)?;
        let mut inputs = Vec::with_capacity(call.inputs.len());
        for (i, given) in call.inputs.iter().enumerate() {
            let port = port_at(&form.inputs, i).filter(|port| !port.is_heterogeneous());
            let lacking = if port.is_some() { self.never_taken(versions, i, given.dtypes()) } else { DtypeSet::NONE };
            for name in lacking.names() {
                self.failed(&format!("`{}` does not take {name}", call.op), true, at);
            }
            if !lacking.is_empty() && lacking == given.dtypes() && matches!(given, Given::Tensor(_)) {
                return None;
            }
            inputs.push(given.map_dtypes(&|own| own.without(lacking)));
        }
        let call = call.with_inputs(inputs);
        if let Some(reason) = different_dtypes(&call, form) {
            self.failed(&reason, true, at);
            return None;
        }
        Some(call)
    }

    /// The dtypes that no version takes for an input.
    fn never_taken(&self, versions: &[Version], input: usize, dtypes: DtypeSet) -> DtypeSet {
        let ports = versions.iter().filter_map(|version| port_at(&version.inputs, input));
        let allowed = ports.fold(DtypeSet::NONE, |all, port| all.or(port.dtypes));
        if allowed.is_empty() {
            return DtypeSet::NONE;
        }
        let is_cast = |index: &usize| self.facts.wider_of(*index).meets(allowed);
        let lost = dtypes.without(allowed).indices().filter(|index| !is_cast(index));
        lost.fold(DtypeSet::NONE, |all, index| all.or(DtypeSet::at(index)))
    }

    /// What is known of a call before it is one of the version before.
    fn step_down(
        &self,
        difference: Difference,
        call: &AbstractCall<'a>,
        (version, older): (&Version, Option<&Version>),
        newest: u32,
    ) -> StepDown<'a> {
        let Some(older) = older else {
            return StepDown { taken: None, others: None, is_split: false, fits: Answer::No };
        };
        let split = match difference {
            // Only the dtypes differ: the lowering is for those that the older version does not support.
            Difference::Types => split_by(call, version, older, (self.all, self.existing_at(newest))),
            _ => None,
        };
        let is_split = split.is_some();
        let (taken, others) = split.unwrap_or((None, None));
        StepDown { taken, others, is_split, fits: fits_older(call, version, older) }
    }

    /// A call that the version before cannot say: lowered, refused, or a gap.
    fn below_version(
        &mut self,
        difference: Difference,
        lower: Option<usize>,
        call: &AbstractCall<'a>,
        version: &Version,
        at: Opsets,
    ) -> Opsets {
        if lower.is_none() && matches!(difference, Difference::Appeared | Difference::Changed) {
            self.gap(call.site, call.op, version.since, at);
            // What follows is walked as if there were a lowering.
            return at;
        }
        self.unfit(lower, call, version, at)
    }

    /// A call that an older version with the same meaning cannot say.
    fn unfit(&mut self, lower: Option<usize>, call: &AbstractCall<'a>, version: &Version, at: Opsets) -> Opsets {
        match lower {
            Some(index) => self.lowered(index, call, at),
            None => {
                let reason = format!("`{}` as it is used here needs opset {}", version.name, version.since);
                self.refuse(version.since, &reason, at);
                Opsets::NONE
            }
        }
    }

    /// A call in a version that is in force: dtypes that it lacks are cast, or refused.
    fn native(&mut self, call: &AbstractCall<'a>, version: &'a Version, at: Opsets) -> Opsets {
        if at.is_empty() {
            return at;
        }
        self.say_fate(call, Fate::Node(version.since), at);
        let mut done = at;
        for (i, given) in call.inputs.iter().enumerate() {
            let Some(port) = port_at(&version.inputs, i) else { continue };
            let allowed = port.dtypes;
            let lacking = given.dtypes().without(allowed);
            if lacking.is_empty() || port.is_heterogeneous() {
                continue;
            }
            let may_be_cast = call.op != "Cast";
            let mut cast = allowed.meets(given.dtypes());
            for index in lacking.indices() {
                if may_be_cast && self.facts.wider_of(index).meets(allowed) {
                    self.frame.lowered = self.frame.lowered.or(at);
                    cast = true;
                    continue;
                }
                self.refuse_dtype(version, i, index, at);
            }
            if !cast && !matches!(given, Given::Optional(_)) {
                done = Opsets::NONE;
            }
        }
        done
    }

    /// Notes that a version does not take a dtype, if a newer one does.
    fn refuse_dtype(&mut self, version: &Version, input: usize, dtype: usize, at: Opsets) {
        let takes = |v: &&Version| {
            let allowed = port_at(&v.inputs, input).map(|port| port.dtypes);
            let own = DtypeSet::at(dtype);
            allowed.is_some_and(|allowed| allowed.meets(own) || self.facts.wider_of(dtype).meets(allowed))
        };
        let schemas = self.schemas;
        let newer = schemas.onnx.versions(&version.name).iter().filter(|v| v.since > version.since);
        let name = DTYPES.get(dtype).map_or("", |d| d.2);
        let Some(since) = newer.into_iter().find(takes).map(|v| v.since) else {
            return self.failed(&format!("`{}` does not take {name}", version.name), true, at);
        };
        let exists = |opset: &u32| DtypeSet::at(dtype).is_within(self.existing_at(*opset));
        let at = at.iter().filter(exists).collect();
        let reason = format!("`{}` does not take {name} before opset {since}", version.name);
        self.refuse(since, &reason, at);
    }

    /// A call in a form that newer opsets have changed: the opsets that have its form, and those at which its `raise` works.
    fn raised(&mut self, call: &AbstractCall<'a>, at: Opsets) -> (Opsets, Opsets) {
        let (schemas, op) = (self.schemas, call.op);
        let newer = schemas.onnx.versions(op).iter().filter(|v| v.since > call.form);
        let changes = |v: &&Version| {
            let same = self.sames.contains(&(op, v.since)) || schemas.extends(op, v.since);
            v.deprecated || (schemas.shape_change(op, v.since) && !same)
        };
        let Some(since) = newer.into_iter().find(changes).map(|v| v.since) else { return (at, Opsets::NONE) };
        let above = at.from(since);
        let raise = self.program.raises.iter().find(|raise| raise.op == op && raise.before == since);
        // A missing one is an error of another pass.
        let Some(raise) = raise.filter(|_| !above.is_empty()) else { return (at, Opsets::NONE) };
        let version = schemas.onnx.versions(op).iter().rev().find(|v| v.since < since);
        (at.below(since), self.replaced(raise, version, call, above))
    }

    /// A call replaced by its lowering.
    fn lowered(&mut self, index: usize, call: &AbstractCall<'a>, at: Opsets) -> Opsets {
        let Some(lower) = self.program.lowers.get(index) else { return at };
        if let (Bound::Tuple(requested), Some(returned)) = (call.bound, count_of_results(&lower.function.returns))
            && requested > returned
        {
            let reason = format!("`{}` with {requested} outputs needs opset {}", call.op, lower.before);
            self.refuse(lower.before, &reason, at);
            return Opsets::NONE;
        }
        let version = self.version_of_lowering(lower);
        self.replaced(lower, version, call, at)
    }

    /// A call replaced by a rule whose header has the form of a version.
    fn replaced(&mut self, lower: &'a Lower, version: Option<&Version>, call: &AbstractCall<'a>, at: Opsets) -> Opsets {
        self.frame.lowered = self.frame.lowered.or(at);
        self.say_fate(call, Fate::Lowered(lower.before), at);
        let params = lower.function.params.iter().enumerate();
        let args = params.map(|(i, param)| match i < lower.inputs {
            true => input_argument(call, i, &param.ty),
            false => self.attribute_argument(call, version, &param.name, &param.ty, at),
        });
        let args: Vec<Abs> = args.collect();
        let groups = Coverage::groups_of(version);
        self.call_grouped(&lower.function, args, Some(call.outputs.clone()), &groups, at).at
    }

    fn attribute_argument(
        &self,
        call: &AbstractCall<'a>,
        version: Option<&Version>,
        name: &str,
        ty: &Ty,
        at: Opsets,
    ) -> Abs {
        let stem = name.rsplit_once('_').map_or(name, |(stem, _)| stem);
        let default = version.and_then(|v| v.attribute(stem)).and_then(|a| a.default.as_ref());
        let absent = || default.map_or_else(|| Abs::Optional(Optional::nothing()), default_value);
        let value = match call.attr(stem) {
            Some(Abs::Optional(optional)) if optional.absent => (*optional.present).or(&absent()),
            Some(Abs::Optional(optional)) => (*optional.present).clone(),
            Some(value) => value.clone(),
            None => absent(),
        };
        converted(value, ty).fit(ty, self.all, at)
    }
}

/// How many tensors a rule returns. None if any number.
fn count_of_results(returns: &Ty) -> Option<usize> {
    match returns {
        Ty::Tuple(parts) => Some(parts.len()),
        Ty::List(_) => None,
        _ => Some(1),
    }
}

/// What is known of a call before it is one of the version before.
struct StepDown<'a> {
    /// The call with the dtypes that this takes, if there are others.
    taken: Option<AbstractCall<'a>>,
    /// The call with the others.
    others: Option<AbstractCall<'a>>,
    /// Whether it does not take all.
    is_split: bool,
    /// Whether it has the inputs, the outputs and the attributes.
    fits: Answer,
}

impl plan::Known for StepDown<'_> {
    fn takes_types(&self) -> Answer {
        match (&self.taken, &self.others) {
            _ if !self.is_split => Answer::Yes,
            (Some(_), None) => Answer::Yes,
            (None, _) => Answer::No,
            (Some(_), Some(_)) => Answer::Maybe,
        }
    }

    fn fits(&self) -> Answer {
        self.fits
    }
}

/// Why a call is refused if tensors for one type variable have no dtype in common.
fn different_dtypes(call: &AbstractCall<'_>, version: &Version) -> Option<String> {
    let tensors = call.inputs.iter().enumerate().filter_map(|(i, given)| match given {
        Given::Tensor(tensor) if !tensor.dtypes.is_empty() => Some((port_at(&version.inputs, i)?, tensor.dtypes)),
        _ => None,
    });
    let tensors: Vec<(&Port, DtypeSet)> = tensors.filter(|(port, _)| port.homogeneous).collect();
    let is_variable = |port: &Port| version.types.iter().any(|variable| variable.name == port.ty);
    let differing = tensors.iter().enumerate().find_map(|(i, (port, dtypes))| {
        let before = tensors.iter().take(i).find(|(other, set)| other.ty == port.ty && !set.meets(*dtypes))?;
        is_variable(port).then_some((before.0, port))
    });
    differing.map(|(a, b)| match a.name == b.name {
        true => format!("the inputs of `{}` have different dtypes", call.op),
        false => format!("`{}` and `{}` of `{}` have different dtypes", a.name, b.name, call.op),
    })
}

/// The call with only the dtypes that a version takes, and the one with the others.
#[allow(clippy::type_complexity)]
fn split_by<'a>(
    call: &AbstractCall<'a>,
    version: &Version,
    older: &Version,
    (any, existing): (DtypeSet, DtypeSet),
) -> Option<(Option<AbstractCall<'a>>, Option<AbstractCall<'a>>)> {
    let allowed = |i: usize| {
        let port = port_at(&older.inputs, i)?;
        (!port.is_heterogeneous()).then_some(port.dtypes)
    };
    let lacking: Vec<(usize, DtypeSet, DtypeSet)> = call
        .inputs
        .iter()
        .enumerate()
        .filter_map(|(i, given)| Some((i, given.dtypes(), allowed(i)?)))
        .filter(|(_, dtypes, allowed)| !dtypes.is_within(*allowed))
        .collect();
    if let Some(both) = split_by_body(call, version, older, (any, existing)) {
        return Some(both);
    }
    let outputs = output_codes(call, older);
    if lacking.is_empty() && outputs.is_none() {
        return None;
    }
    // All inputs of one type variable have the same dtype.
    let ty = |i: usize| port_at(&older.inputs, i).map(|port| port.ty.clone());
    let variables: Vec<(String, DtypeSet)> = lacking.iter().filter_map(|(i, _, set)| Some((ty(*i)?, *set))).collect();
    let restricted = |inside: bool| {
        let inputs = call.inputs.iter().enumerate().map(|(i, given)| {
            let set = variables.iter().find(|(name, _)| Some(name) == ty(i).as_ref()).map(|(_, set)| *set);
            match set {
                Some(set) if inside => given.map_dtypes(&|own| own.and(set)),
                Some(set) if variables.len() == 1 || variables.iter().all(|v| v.0 == variables[0].0) => {
                    given.map_dtypes(&|own| own.without(set))
                }
                _ => given.clone(),
            }
        });
        call.with_inputs(inputs.collect())
    };
    let possible = |call: &AbstractCall<'_>| {
        let here = |given: &Given| !matches!(given, Given::Tensor(tensor) if tensor.dtypes.is_empty());
        call.inputs.iter().all(here)
    };
    let (taken, others) = (restricted(true), restricted(false));
    let (taken, others) = match outputs {
        Some(OutputCodes::None) => (None, Some(call.with_inputs(call.inputs.clone()))),
        Some(OutputCodes::Some) => (Some(taken), Some(call.with_inputs(call.inputs.clone()))),
        None => (Some(taken), Some(others)),
    };
    Some((taken.filter(possible), others.filter(possible)))
}

/// The same for what has no dtypes of its own here: values of mixed types, results of bodies, and, in a model that is converted
/// (`any` has all dtypes), sequences and optionals. Both versions may have to take them.
#[allow(clippy::type_complexity)]
fn split_by_body<'a>(
    call: &AbstractCall<'a>,
    version: &Version,
    older: &Version,
    (any, existing): (DtypeSet, DtypeSet),
) -> Option<(Option<AbstractCall<'a>>, Option<AbstractCall<'a>>)> {
    let copy = || call.with_inputs(call.inputs.clone());
    let allowed = |port: &Port| port.dtypes;
    let mixed = call.inputs.iter().enumerate().filter_map(|(i, given)| {
        let port = port_at(&older.inputs, i).filter(|port| port.is_heterogeneous())?;
        Some((given.dtypes(), allowed(port)))
    });
    let mixed: Vec<(DtypeSet, DtypeSet)> = mixed.filter(|(dtypes, allowed)| !dtypes.is_within(*allowed)).collect();
    let possible = |i: usize| {
        let newer = port_at(&version.outputs, i).map(|port| port.dtypes);
        newer.map_or(any.and(existing), |newer| any.and(existing).and(newer))
    };
    let of_body = older
        .outputs
        .iter()
        .enumerate()
        .any(|(i, port)| port.is_heterogeneous() && !possible(i).is_within(allowed(port)));
    let types =
        |v: &Version| v.types.iter().flat_map(|var| &var.allowed).filter(|ty| !ty.starts_with("tensor(")).count();
    let of_sequences = any == DtypeSet::ALL && types(version) > types(older);
    if mixed.is_empty() && !of_body && !of_sequences {
        return None;
    }
    let none_fits = mixed.iter().any(|(dtypes, allowed)| !dtypes.meets(*allowed));
    Some(((!none_fits).then(copy), Some(copy())))
}

/// How many of the dtypes that an attribute states an older version gives.
enum OutputCodes {
    Some,
    None,
}

fn output_codes(call: &AbstractCall<'_>, older: &Version) -> Option<OutputCodes> {
    let port = older.outputs.first()?;
    let allowed = port.dtypes;
    if older.inputs.iter().any(|input| input.ty == port.ty) {
        return None;
    }
    let stated = ["to", "dtype", "output_dtype"].into_iter().find_map(|name| code_dtypes(call.attr(name)?, allowed))?;
    match (stated.is_within(allowed), stated.meets(allowed)) {
        (true, _) => None,
        (false, true) => Some(OutputCodes::Some),
        (false, false) => Some(OutputCodes::None),
    }
}

/// Whether an older version can say a call.
fn fits_older(call: &AbstractCall<'_>, version: &Version, older: &Version) -> Answer {
    let mut maybe = false;
    for (name, value) in &call.attrs {
        if older.attribute(name).is_some() {
            continue;
        }
        let default = version.attribute(name).and_then(|a| a.default.as_ref()).map(default_value);
        let is_default = default.is_some_and(|default| {
            let given = if let Abs::Optional(optional) = value { (*optional.present).clone() } else { value.clone() };
            given == Abs::Never || given == default
        });
        if is_default {
            continue;
        }
        match value {
            Abs::Optional(optional) if !optional.may_be_present() => {}
            Abs::Optional(optional) if optional.absent => maybe = true,
            Abs::Number(number) if number.integer().is_none() => maybe = true,
            _ => return Answer::No,
        }
    }
    for (i, given) in call.inputs.iter().enumerate() {
        match given {
            Given::Tensor(_) if port_at(&older.inputs, i).is_none() => return Answer::No,
            Given::Optional(_) if port_at(&older.inputs, i).is_none() => maybe = true,
            _ => {}
        }
    }
    if let Bound::Tuple(count) = call.bound
        && count > 0
        && port_at(&older.outputs, count - 1).is_none()
    {
        return Answer::No;
    }
    if maybe { Answer::Maybe } else { Answer::Yes }
}

/// The argument of a lowering for an input.
fn input_argument(call: &AbstractCall<'_>, i: usize, ty: &Ty) -> Abs {
    if *ty == Ty::list(Ty::Tensor) {
        let mut list = List::of(Vec::new());
        for given in call.inputs.get(i..).unwrap_or(&[]) {
            let next = match given {
                Given::Tensor(tensor) | Given::Optional(tensor) => List::of(vec![Abs::Tensor(tensor.clone())]),
                Given::Spread(list) => list.clone(),
                Given::Absent => continue,
            };
            list = list.then(&next);
        }
        return Abs::List(list);
    }
    match (call.inputs.get(i), ty) {
        (Some(Given::Tensor(tensor)), _) => converted(Abs::Tensor(tensor.clone()), ty),
        (Some(Given::Optional(tensor)), Ty::Optional(_)) => {
            Abs::Optional(Optional { absent: true, present: Rc::new(Abs::Tensor(tensor.clone())) })
        }
        (Some(Given::Optional(tensor)), _) => Abs::Tensor(tensor.clone()),
        (Some(Given::Spread(list)), _) => converted((*list.each).clone(), ty),
        (Some(Given::Absent) | None, _) => Abs::Optional(Optional::nothing()),
    }
}

/// A default of a schema.
pub(super) fn default_value(value: &AttrValue) -> Abs {
    let int = |i: &i64| Abs::Number(Number::between(*i, *i));
    let float = |x: &f32| {
        Abs::Number(Number { known: Known::YES, values: Values::Float(f64::from(*x).to_bits()), kinds: Kinds::FLOAT })
    };
    let text = |s: &String| Abs::Text(super::values::Text::one(s));
    match value {
        AttrValue::Int(i) => int(i),
        AttrValue::Float(x) => float(x),
        AttrValue::String(s) => text(s),
        AttrValue::Ints(items) => Abs::List(List::of(items.iter().map(int).collect())),
        AttrValue::Floats(items) => Abs::List(List::of(items.iter().map(float).collect())),
        AttrValue::Strings(items) => Abs::List(List::of(items.iter().map(text).collect())),
    }
}
