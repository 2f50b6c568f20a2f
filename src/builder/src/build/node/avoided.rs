//! Forms of operators that the runtime lacks or gets wrong: `[[avoid]]` in `mappings/targets/NAME_forms.toml`.
//!
//! A node of such a form is replaced by the `lower OP avoided`, or else like an operator that the runtime lacks.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::build::node::lowerings::{AVOIDED, Lowering};
use crate::build::{Builder, NodeCall};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Body, Node, Source, Value};
use aten2onnx_onnx::schema::plan::Difference;
use aten2onnx_onnx::schema::{self, Default, Op, PortKind, Version};
use aten2onnx_onnx::targets::{Avoid, Condition, Missing, Name, State};

/// Every form of an operator: what tests avoid, to compare a `lower OP avoided` with the operator.
pub(crate) static EVERY_FORM: Avoid =
    Avoid { op: "", since: &[], when: &[], conditions: &[], reason: "it is being tested", seen_in: "" };

/// How many nodes may be between a value and the weights that passes join to it.
const JOINED_DEPTH: usize = 6;

/// How many steps are taken to the sizes that a value follows from.
const SIZED_STEPS: usize = 64;

/// Why a call is not written as it is.
#[derive(Clone, Copy)]
pub(crate) enum Avoidance {
    /// The runtime does not have the operator.
    Lacking,
    /// The runtime does not have this form, or gets it wrong.
    Form(&'static Avoid),
    /// The runtime does not have the operator for a dtype, or gets it wrong.
    Dtype(&'static Missing, Dtype),
}

impl Builder {
    /// Why the runtime should not be given a call in the version of the target.
    pub(crate) fn avoidance(&self, schema: &'static Op, call: &NodeCall) -> Option<Avoidance> {
        if let Some(form) = schema.at(self.target_of(schema.name)).and_then(|v| self.avoided_form(schema, v, call)) {
            return Some(Avoidance::Form(form));
        }
        if self.limits.lacking.contains(schema.name) {
            return Some(Avoidance::Lacking);
        }
        self.missing_dtype(schema, call).map(|(missing, dtype)| Avoidance::Dtype(missing, dtype))
    }

    /// The form to avoid that a call in a version has.
    pub(crate) fn avoided_form(
        &self,
        schema: &'static Op,
        version: &'static Version,
        call: &NodeCall,
    ) -> Option<&'static Avoid> {
        let forms = self.limits.forms.get(schema.name)?;
        let is_nested = self.is_replacing(schema.name);
        let mut forms = forms.iter().filter(|form| !(is_nested && std::ptr::eq(**form, &raw const EVERY_FORM)));
        forms
            .by_ref()
            .filter(|form| is_of(form, version))
            .copied()
            .find(|form| form.conditions.iter().all(|c| self.holds(c, call)))
    }

    /// The form of a call of which a note tells.
    pub(crate) fn form_to_tell(&self, op: &str, version: &'static Version, call: &NodeCall) -> Option<&'static Avoid> {
        let mut forms = self.limits.warns.get(op)?.iter().filter(|form| is_of(form, version));
        forms.find(|form| form.conditions.iter().all(|condition| self.holds(condition, call))).copied()
    }

    /// What to know of nodes in the runtime, and of how many of those that are left.
    pub(crate) fn warned(&self, body: &Body) -> BTreeMap<String, usize> {
        let mut left = FxHashMap::default();
        body.visit(&mut |node| {
            let used = node.outputs.iter().flatten();
            left.extend(used.clone().map(|value| (*value, used.clone().count())));
        });
        let used = |values: &[Value]| values.iter().find_map(|value| left.get(value));
        let mut found = BTreeMap::new();
        let is_left =
            |(values, form): &&(Vec<Value>, &'static Avoid)| used(values).is_some_and(|used| has_outputs(form, *used));
        for (_, form) in self.lowerings.warned.iter().filter(is_left) {
            *found.entry(format!("`{}`{}: {}", form.op, conditions_of(form), form.reason)).or_default() += 1;
        }
        found
    }

    /// Whether the runtime should not be given an operator with these inputs, without attributes.
    pub fn is_avoided(&self, op: &str, inputs: &[Value]) -> Result<bool> {
        let schema = schema::find(op).ok_or_else(|| self.fault(format!("there is no operator `{op}`")))?;
        let Some(form) = schema.at(self.target_of(schema.name)) else { return Ok(true) };
        let inputs = inputs.iter().copied().map(Some).collect();
        let call = NodeCall { op: schema.name, form, inputs, attrs: Vec::new(), outputs: 1, lower: None };
        Ok(self.avoidance(schema, &call).is_some())
    }

    /// Whether the `lower OP avoided` of an operator is running.
    pub(crate) fn is_replacing(&self, op: &str) -> bool {
        self.lowerings.replacing.contains(&op)
    }

    /// The `lower OP avoided`, if the call has its form. It may call the operator in a form that it replaces too, and that in one more: a
    /// pool of three dimensions consists of pools of two, whose padding becomes explicit.
    pub(crate) fn lower_avoided(&self, schema: &'static Op, call: &NodeCall) -> Option<Lowering> {
        if self.lowerings.replacing.iter().filter(|op| **op == schema.name).count() > 2 {
            return None;
        }
        let mut newer = schema.versions.iter().filter(|version| version.since > call.form.since);
        let extends = |version: &'static Version| {
            let same = matches!(self.difference(schema.name, version), Difference::Same | Difference::Types);
            !version.deprecated && (same || version.extends)
        };
        newer.all(extends).then(|| self.lower_at(schema.name, AVOIDED, None)).flatten()
    }

    /// Counts a call that was replaced because of the runtime.
    pub(crate) fn note_replaced(&mut self, call: &NodeCall) {
        let why = schema::find(call.op).and_then(|schema| self.avoidance(schema, call));
        let text = match why {
            None => return,
            Some(Avoidance::Lacking) => format!("`{}`: the runtime does not have it", call.op),
            Some(Avoidance::Form(form)) => format!("`{}`{}: {}", call.op, conditions_of(form), form.reason),
            Some(Avoidance::Dtype(missing, dtype)) => format!("`{}` of {dtype}: {}", call.op, missing.reason),
        };
        *self.lowerings.replaced.entry(text).or_default() += 1;
    }

    /// An error for a call that the runtime should not be given and that nothing can replace.
    pub(crate) fn not_replaced(&self, schema: &'static Op, why: Avoidance, inner: Option<&Error>) -> Error {
        let inner = inner.map(|e| e.message.as_str()).filter(|message| !message.starts_with("the runtime "));
        let because = inner.map(|message| format!(": {message}")).unwrap_or_default();
        let op = schema.name;
        Error::unsupported(match why {
            Avoidance::Lacking => format!("the runtime has no `{op}`, and no other operator can replace it{because}"),
            Avoidance::Dtype(missing, dtype) => format!(
                "the runtime does not compute `{op}` of {dtype} ({}), and no other operators can replace it{because}",
                missing.reason
            ),
            Avoidance::Form(form) => {
                let when = conditions_of(form);
                format!(
                    "the runtime does not compute `{op}`{when} ({}; seen in {}), and no other operators can replace it{because}",
                    form.reason, form.seen_in
                )
            }
        })
    }

    /// The error of a lowering, with the reason why it was used.
    pub(crate) fn with_avoidance(&self, schema: &'static Op, call: &NodeCall, error: Error) -> Error {
        let own = error.message.starts_with("the runtime ");
        match self.avoidance(schema, call).filter(|_| !own) {
            Some(why) => {
                let mut refusal = self.not_replaced(schema, why, Some(&error));
                refusal.place.clone_from(&error.place);
                refusal
            }
            None => error,
        }
    }

    fn holds(&self, condition: &Condition, call: &NodeCall) -> bool {
        match condition {
            Condition::Is(State::Given, name) => self.is_given(*name, call),
            Condition::Is(State::Absent, name) => !self.is_given(*name, call),
            Condition::Is(State::Uneven, name) => self.is_uneven(*name, call),
            Condition::Is(state, name) => {
                self.inputs_named(*name, call).iter().any(|value| self.is(*state, *value, call))
            }
            Condition::Rank(name, comparison, rank) => {
                let ranks = self.inputs_named(*name, call).into_iter().filter_map(|value| self.rank(value).ok());
                comparison.holds_for(&ranks.collect::<Vec<_>>(), rank)
            }
            Condition::Length(name, comparison, length) => {
                let lengths = self.inputs_named(*name, call).into_iter().filter_map(|value| self.length(value));
                comparison.holds_for(&lengths.collect::<Vec<_>>(), length)
            }
            Condition::Last(name, comparison, size) => {
                let sizes = self.inputs_named(*name, call).into_iter().filter_map(|value| self.last_size(value));
                comparison.holds_for(&sizes.collect::<Vec<_>>(), size)
            }
            Condition::First(name, comparison, number) => {
                let inputs = self.inputs_named(*name, call).into_iter();
                let firsts = inputs.filter_map(|value| self.constant_ints(value)?.first().copied());
                comparison.holds_for(&firsts.collect::<Vec<_>>(), number)
            }
            Condition::MadeBy(name, comparison, op) => {
                let makers = self.inputs_named(*name, call).into_iter().filter_map(|value| self.operator_of(value));
                comparison.holds_for(&makers.collect::<Vec<_>>(), op)
            }
            Condition::Dtype(name, comparison, dtype) => {
                let inputs = self.inputs_named(*name, call).into_iter();
                let dtypes = inputs.map(|value| self.dtype(value) as u32);
                comparison.holds_for(&dtypes.collect::<Vec<_>>(), &(*dtype as u32))
            }
            Condition::Inputs(comparison, count) => {
                comparison.holds(&as_number(call.inputs.iter().flatten().count()), count)
            }
            Condition::Outputs(comparison, count) => comparison.holds(&as_number(call.outputs), count),
            Condition::Number(name, comparison, number) => {
                self.numbers_of(*name, call).is_some_and(|numbers| comparison.holds_for(&numbers, number))
            }
            Condition::Text(Name::Attribute(name), comparison, text) => {
                let texts = call.str(name).map(|text| vec![text]).or_else(|| call.strs(name));
                let by_default = || texts_by_default(call.form.attribute(name)?.default?);
                texts.or_else(by_default).is_some_and(|texts| comparison.holds_for(&texts, &(*text).to_owned()))
            }
            Condition::Text(Name::Input(_), ..) => false,
        }
    }

    /// Whether the first half of a list of integers is not the second.
    fn is_uneven(&self, name: Name, call: &NodeCall) -> bool {
        let lists = match name {
            Name::Attribute(name) => call.ints(name).into_iter().collect(),
            Name::Input(_) => {
                let inputs = self.inputs_named(name, call).into_iter();
                inputs.filter_map(|value| self.constant_ints(value)).collect::<Vec<_>>()
            }
        };
        lists.iter().map(|list| list.split_at(list.len() / 2)).any(|(begins, ends)| begins != ends)
    }

    fn is_given(&self, name: Name, call: &NodeCall) -> bool {
        match name {
            Name::Input(_) => !self.inputs_named(name, call).is_empty(),
            Name::Attribute(name) => call.attr(name).is_some(),
        }
    }

    /// The values given for an input.
    fn inputs_named(&self, name: Name, call: &NodeCall) -> Vec<Value> {
        let Name::Input(name) = name else { return Vec::new() };
        let Some(at) = call.form.inputs.iter().position(|port| port.name == name) else { return Vec::new() };
        match call.form.inputs.get(at).map(|port| port.kind) {
            Some(PortKind::Variadic) => call.variadic(at),
            _ => call.optional(at).into_iter().collect(),
        }
    }

    fn is(&self, state: State, value: Value, call: &NodeCall) -> bool {
        match state {
            State::Given => true,
            State::Absent | State::Uneven => false,
            State::Computed => !self.is_joined(value, JOINED_DEPTH),
            State::Constant => self.is_joined(value, JOINED_DEPTH),
            State::Folded => self.data(value).is_folded,
            State::Symbolic => {
                self.shape(value).map_or(true, |sizes| sizes.iter().any(|size: &SymInt| size.known().is_none()))
            }
            State::Empty => {
                self.shape(value).is_ok_and(|sizes| sizes.iter().any(|size: &SymInt| size.known() == Some(0)))
            }
            State::Open => {
                let content = self.data(value).content.as_deref().unwrap_or_default();
                self.constant_of(value).is_none() && content.iter().any(|n: &SymInt| n.known() == Some(-1))
            }
            State::Filled => self.is_filled(value, JOINED_DEPTH),
            State::Sized => self.is_sized(value),
            State::Data => !self.is_stored(value) && !self.is_sized(value),
            State::Fractional => {
                self.constant_floats(value).is_some_and(|numbers| numbers.iter().any(|n: &f64| n.fract() != 0.0))
            }
            State::Stretched => call
                .inputs
                .iter()
                .flatten()
                .any(|other| self.is_smaller(value, *other) && self.is_smaller(*other, value)),
            State::Broadcast => call.inputs.iter().flatten().any(|other| self.is_smaller(value, *other)),
        }
    }

    /// Whether a value has 1 or no dimension where the other has another size.
    fn is_smaller(&self, value: Value, other: Value) -> bool {
        let (Ok(sizes), Ok(others)) = (self.shape(value), self.shape(other)) else { return false };
        let is_one = |size: Option<&SymInt>| size.is_none_or(|size| size.known() == Some(1));
        let mut others = others.iter().rev().enumerate();
        others.any(|(i, other)| !is_one(Some(other)) && is_one(sizes.iter().rev().nth(i)))
    }

    /// The number of elements of a value of one dimension.
    fn length(&self, value: Value) -> Option<i64> {
        match &self.shape(value).ok()?[..] {
            [length] => length.known(),
            _ => None,
        }
    }

    fn last_size(&self, value: Value) -> Option<i64> {
        self.shape(value).ok()?.last().and_then(SymInt::known)
    }

    /// The node that a value is an output of.
    pub(crate) fn node_of_output(&self, value: Value) -> Option<&Node> {
        let mut nodes = (0..=self.depth()).rev().flat_map(|scope| self.nodes_at(scope).iter().rev());
        nodes.find(|node| node.outputs.contains(&Some(value)))
    }

    /// The operator that a value is an output of.
    fn operator_of(&self, value: Value) -> Option<&'static str> {
        self.node_of_output(value).map(|node| node.op)
    }

    /// Whether a value is filled with one number, also if it has other sizes by now.
    fn is_filled(&self, value: Value, depth: usize) -> bool {
        let Some(node) = self.node_of_output(value).filter(|_| depth > 0) else { return false };
        match node.op {
            "ConstantOfShape" => true,
            "Reshape" | "Expand" => node.input(0).is_some_and(|value| self.is_filled(value, depth - 1)),
            _ => false,
        }
    }

    /// Whether a value is a constant or a weight.
    fn is_stored(&self, value: Value) -> bool {
        matches!(self.data(value).source, Source::Constant(_) | Source::Weight(_))
    }

    /// Whether passes make one weight of a value: of parts of weights that a Concat puts one after the other.
    fn is_joined(&self, value: Value, depth: usize) -> bool {
        if self.is_stored(value) {
            return true;
        }
        let Some(node) = self.node_of_output(value).filter(|_| depth > 0 && self.data(value).is_folded) else {
            return false;
        };
        match node.op {
            "Slice" | "Split" | "Squeeze" | "Unsqueeze" => {
                node.input(0).is_some_and(|whole| self.is_joined(whole, depth - 1))
            }
            "Concat" => {
                self.is_first_axis(node, value)
                    && node.inputs.iter().flatten().all(|part| self.is_joined(*part, depth - 1))
            }
            _ => false,
        }
    }

    /// Whether all dimensions before the axis of a node have one element.
    fn is_first_axis(&self, node: &Node, value: Value) -> bool {
        let Ok(sizes) = self.shape(value) else { return false };
        let axis = counted_from_start(node.int("axis").unwrap_or(0), sizes.len());
        axis.is_some_and(|axis| sizes.iter().take(axis).all(|size| size.known() == Some(1)))
    }

    /// Whether a value is not constant, and follows from sizes and constants by 64-bit integers alone, by a few nodes.
    pub fn is_sized(&self, value: Value) -> bool {
        let mut left = vec![value];
        if self.is_stored(value) {
            return false;
        }
        for _ in 0..SIZED_STEPS {
            let Some(value) = left.pop() else { return true };
            if self.is_stored(value) {
                continue;
            }
            match self.node_of_output(value).filter(|_| self.dtype(value) == Dtype::Int64) {
                Some(node) if matches!(node.op, "Shape" | "Size") => {}
                Some(node) => left.extend(node.inputs.iter().flatten()),
                None => return false,
            }
        }
        false
    }

    fn numbers_of(&self, name: Name, call: &NodeCall) -> Option<Vec<f64>> {
        match name {
            Name::Attribute(name) => {
                let given = call.attr(name).and_then(numbers_given);
                given.or_else(|| call.form.attribute(name)?.default.and_then(numbers_by_default))
            }
            Name::Input(_) => {
                let inputs = self.inputs_named(name, call).into_iter();
                let numbers = inputs.filter_map(|value| match self.constant_ints(value) {
                    Some(ints) => Some(ints.into_iter().map(to_float).collect()),
                    None => self.constant_floats(value),
                });
                // Of a variadic input, those that are constant count.
                let constants: Vec<Vec<f64>> = numbers.collect();
                (!constants.is_empty()).then(|| constants.concat())
            }
        }
    }
}

/// Whether a form is one of nodes with so many used outputs.
fn has_outputs(form: &Avoid, used: usize) -> bool {
    form.conditions.iter().all(|condition| match condition {
        Condition::Outputs(comparison, count) => comparison.holds(&as_number(used), count),
        _ => true,
    })
}

/// Whether an entry is about a version.
fn is_of(form: &Avoid, version: &Version) -> bool {
    form.since.is_empty() || form.since.contains(&version.since)
}

/// ` with onesided_i == 1`
fn conditions_of(form: &Avoid) -> String {
    match form.when {
        [] => String::new(),
        when => format!(" with {}", when.join(" and ")),
    }
}

fn numbers_given(attr: &Attr) -> Option<Vec<f64>> {
    Some(match attr {
        Attr::Int(number) => vec![to_float(*number)],
        Attr::Ints(numbers) => numbers.iter().copied().map(to_float).collect(),
        Attr::Float(number) => vec![*number],
        Attr::Floats(numbers) => numbers.clone(),
        _ => return None,
    })
}

fn numbers_by_default(default: Default) -> Option<Vec<f64>> {
    Some(match default {
        Default::Int(number) => vec![to_float(number)],
        Default::Ints(numbers) => numbers.iter().copied().map(to_float).collect(),
        Default::Float(number) => vec![number.into()],
        Default::Floats(numbers) => numbers.iter().copied().map(f64::from).collect(),
        Default::Str(_) | Default::Strs(_) => return None,
    })
}

fn texts_by_default(default: Default) -> Option<Vec<String>> {
    match default {
        Default::Str(text) => Some(vec![text.to_owned()]),
        Default::Strs(texts) => Some(texts.iter().map(|text| (*text).to_owned()).collect()),
        Default::Int(_) | Default::Ints(_) | Default::Float(_) | Default::Floats(_) => None,
    }
}

fn as_number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Conditions compare small numbers.
fn to_float(number: i64) -> f64 {
    number as f64
}
