//! Calls of nodes: finds the version that is native at the target opset, starting from the form of the call.

pub(crate) mod avoided;
pub(crate) mod axes;
pub(crate) mod call;
mod emit;
mod foreign;
mod legalise;
pub(crate) mod literals;
pub(crate) mod lowerings;
pub(crate) mod reuse;
pub(crate) mod source;
mod upgrade;

use crate::build::complex::ComplexCall;
use crate::build::emitted::Became;
use crate::build::fold::{LIMIT, SMALL};
use crate::build::node::lowerings::{AVOIDED, LowerFn, Lowering};
use crate::build::{Builder, Event, In, NodeCall};
use crate::infer;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Type, Value};
use aten2onnx_onnx::schema::plan::{self, Answer, Difference};
use aten2onnx_onnx::schema::{self, Op, Version};

/// The limit of nested lowerings. Beyond it, the rules are assumed to be recursive.
const MAX_DEPTH: u32 = 48;

/// What is inferred about a call before a node is made.
pub(crate) struct Inferred {
    pub(crate) types: Vec<Type>,
    pub(crate) contents: Vec<Option<Vec<SymInt>>>,
}

/// What to do with a call.
pub(crate) enum Step {
    Native(&'static Version),
    Lower(Lowering, u32),
    /// The target has a newer form.
    Upgrade(&'static Version),
    /// It is native, but the runtime has no kernel for it; the older form may have one.
    Instead(Lowering, u32, &'static Version),
}

impl Step {
    fn newer(version: &'static Version, same: bool) -> Step {
        if same { Step::Native(version) } else { Step::Upgrade(version) }
    }

    /// What the record of a call says of it. A call in an older form than that of the target is not told of.
    fn became(&self) -> Option<Became> {
        match self {
            Step::Native(version) => Some(Became::Node(version.since)),
            Step::Lower(_, since) => Some(Became::Lowered(*since)),
            Step::Upgrade(_) | Step::Instead(..) => None,
        }
    }
}

/// The form of a call's arguments: the inputs and attributes of an ONNX operator change between versions.
#[derive(Debug, Clone, Copy)]
pub struct OperatorForm {
    before: u32,
    lower: Option<(u32, LowerFn)>,
}

impl OperatorForm {
    /// The form of the newest version.
    pub const NEWEST: OperatorForm = OperatorForm { before: u32::MAX, lower: None };

    /// The form of the version before an opset.
    pub fn before(opset: u32) -> OperatorForm {
        OperatorForm { before: opset, lower: None }
    }

    /// The version with this form.
    pub fn version(self, op: &'static Op) -> Option<&'static Version> {
        op.at(self.before.saturating_sub(1))
    }

    /// The same form with a lowering for opsets before `since`: exporters for one opset call it directly.
    pub fn lowered_by(self, since: u32, lower: LowerFn) -> OperatorForm {
        OperatorForm { lower: Some((since, lower)), ..self }
    }
}

impl Builder {
    /// A node in the newest form of its operator. Returns exactly `outputs` values.
    pub fn node(
        &mut self,
        op: &'static str,
        inputs: Vec<In>,
        attrs: Vec<(&'static str, Attr)>,
        outputs: usize,
    ) -> Result<Vec<Value>> {
        self.node_in(OperatorForm::NEWEST, op, inputs, attrs, outputs)
    }

    /// A node with one output, in the newest form of its operator.
    pub fn node1(&mut self, op: &'static str, inputs: Vec<In>, attrs: Vec<(&'static str, Attr)>) -> Result<Value> {
        self.node1_in(OperatorForm::NEWEST, op, inputs, attrs)
    }

    /// The elements of `yes` where a condition holds, and those of `no` elsewhere. All three broadcast.
    pub fn choice(&mut self, condition: Value, yes: Value, no: Value) -> Result<Value> {
        self.node1("Where", vec![condition.into(), yes.into(), no.into()], vec![])
    }

    /// A node with one output in the given form.
    pub fn node1_in(
        &mut self,
        form: OperatorForm,
        op: &'static str,
        inputs: Vec<In>,
        attrs: Vec<(&'static str, Attr)>,
    ) -> Result<Value> {
        let values = self.node_in(form, op, inputs, attrs, 1)?;
        values.first().copied().ok_or_else(|| self.fault(format!("`{op}` has no output")))
    }

    /// A node with one output, unless the runtime should not be given it.
    pub(crate) fn node_of_runtime(
        &mut self,
        op: &'static str,
        inputs: Vec<In>,
        attrs: Vec<(&'static str, Attr)>,
    ) -> Option<Value> {
        let before = std::mem::replace(&mut self.lowerings.refuses, true);
        let value = self.node1(op, inputs, attrs);
        self.lowerings.refuses = before;
        value.ok()
    }

    /// A node in the given form. Returns exactly `outputs` values.
    pub fn node_in(
        &mut self,
        form: OperatorForm,
        op: &'static str,
        inputs: Vec<In>,
        attrs: Vec<(&'static str, Attr)>,
        outputs: usize,
    ) -> Result<Vec<Value>> {
        let place = self.trace.enter_node(op);
        let mut noted = None;
        let values = self.node_of(form, op, inputs, attrs, outputs, (place, &mut noted));
        if let (Some(number), Ok(values)) = (noted, &values) {
            self.note_results(number, values);
        }
        self.trace.leave_node();
        values
    }

    /// Notes the results of a call that a rule names.
    fn note_results(&mut self, number: usize, values: &[Value]) {
        let results = values.iter().map(|value| (self.dtype(*value), self.rank(*value).ok())).collect();
        if let Some(call) = self.trace.emitted_mut().and_then(|emitted| emitted.named.get_mut(number)) {
            call.results = results;
        }
    }

    /// Notes a call that a rule names. Returns its number.
    fn note_call(&mut self, place: usize, op: &'static str, inputs: &[Option<Value>], outputs: usize) -> Option<usize> {
        let typed = |value: &Option<Value>| value.map(|value| (self.dtype(value), self.rank(value).ok()));
        let inputs = inputs.iter().map(typed).collect();
        self.trace.emitted_mut().map(|emitted| emitted.note_call(place, op, inputs, outputs))
    }

    fn node_of(
        &mut self,
        form: OperatorForm,
        op: &'static str,
        inputs: Vec<In>,
        attrs: Vec<(&'static str, Attr)>,
        outputs: usize,
        (place, noted): (Option<usize>, &mut Option<usize>),
    ) -> Result<Vec<Value>> {
        let OperatorForm { before, lower } = form;
        let found = schema::find(op).and_then(|s| Some((s, form.version(s)?)));
        let (schema, form) = found.ok_or_else(|| self.fault(format!("there is no operator `{op}` before {before}")))?;
        let inputs = self.literals(op, form, inputs)?;
        *noted = place.and_then(|place| self.note_call(place, schema.name, &inputs, outputs));
        if inputs.iter().flatten().any(|v| self.is_complex(*v)) {
            return self.complex_node(&ComplexCall { before, op: schema.name, form, inputs, attrs, outputs });
        }
        let attrs = attrs.into_iter().map(|(name, attr)| Ok((name, self.checked(op, attr)?))).collect::<Result<_>>()?;
        self.call(schema, NodeCall { op: schema.name, form, inputs, attrs, outputs, lower })
    }

    fn call(&mut self, schema: &'static Op, call: NodeCall) -> Result<Vec<Value>> {
        self.check_inputs(&call)?;
        if let Some(value) = self.elided(&call) {
            return Ok(vec![value]);
        }
        let key = self.reuse_key(&call);
        if let Some(values) = key.as_ref().and_then(|key| self.reused(key)) {
            self.share(&values, self.origins.current);
            return Ok(values);
        }
        let inferred = self.infer(&call)?;
        if let Some(values) = self.known_contents(&inferred) {
            return Ok(values);
        }
        if let Some(constant) = inferred.types.first().and_then(|ty| self.folded(&call, ty)) {
            return Ok(vec![self.intern(constant)]);
        }
        let kept = self.may_be_folded(&call).then(|| call.clone());
        if let Some(call) = kept.as_ref().filter(|call| self.avoidance(schema, call).is_some())
            && let Some(value) = self.folded_instead(call, &inferred.types, SMALL)
        {
            return Ok(vec![value]);
        }
        let values = match self.written(schema, call, &inferred) {
            Err(error) if error.kind == Kind::Unsupported => {
                let folded = kept.and_then(|call| self.folded_instead(&call, &inferred.types, LIMIT));
                vec![folded.ok_or(error)?]
            }
            values => values?,
        };
        self.remember(key, &values);
        Ok(values)
    }

    /// Writes a call with the operators of the target.
    fn written(&mut self, schema: &'static Op, call: NodeCall, inferred: &Inferred) -> Result<Vec<Value>> {
        let step = self.step(schema, &call, &inferred.types)?;
        if let (Some(emitted), Some(became)) = (self.trace.emitted_mut(), step.became()) {
            emitted.note_step(became);
        }
        match step {
            Step::Native(version) => self.native(schema, version, call, inferred),
            Step::Upgrade(version) => self.upgraded(schema, version, &call, inferred),
            Step::Lower(lower, since) => self.lowered(lower, since, &call, inferred),
            // Nodes left by a failed attempt are unused and dropped at the end.
            Step::Instead(lower, since, version) => match self.lowered(lower, since, &call, inferred) {
                Ok(values) => Ok(values),
                Err(_) => self.native(schema, version, call, inferred),
            },
        }
    }

    /// A tensor in an attribute must be a constant.
    fn checked(&self, op: &str, attr: Attr) -> Result<Attr> {
        match attr {
            Attr::Tensor(value) if self.constant_of(self.plain(value)).is_some() => Ok(Attr::Tensor(self.plain(value))),
            Attr::Tensor(_) => Err(self.fault(format!("an attribute of `{op}` is a tensor that is not constant"))),
            other => Ok(other),
        }
    }

    /// Values of another body or of no body are an error of the rule.
    pub(crate) fn check_inputs(&self, call: &NodeCall) -> Result<()> {
        for value in call.inputs.iter().flatten() {
            self.check_visible(*value)?;
        }
        Ok(())
    }

    /// Infers the types and contents of a call's outputs.
    pub(crate) fn infer(&self, call: &NodeCall) -> Result<Inferred> {
        let inputs: Vec<Option<infer::TypedInput<'_>>> =
            call.inputs.iter().map(|v| v.map(|v| self.typed_input(v))).collect();
        let types = infer::infer(self, call.op, call.form, &inputs, &call.attrs, call.outputs, self.limits.opset)
            .map_err(|e| self.in_rule(e))?;
        let contents = infer::content(self, call.op, call.form, &inputs, &call.attrs, call.outputs, self.limits.opset);
        Ok(Inferred { types, contents })
    }

    fn typed_input(&self, value: Value) -> infer::TypedInput<'_> {
        let constant = self.small_constant(value);
        let view = constant.map(|c| infer::Const { dtype: c.dtype, sizes: &c.sizes, bytes: c.bytes() });
        infer::TypedInput { ty: self.ty(value), constant: view, content: self.content(value) }
    }

    /// Adds the current rule to an error about a call.
    fn in_rule(&self, error: Error) -> Error {
        match error.kind {
            Kind::Internal | Kind::Input => {
                let message = self.of_rule(&error.message);
                error.with_message(message)
            }
            _ => error,
        }
    }

    /// Constants to use instead of a node whose results are known.
    pub(crate) fn known_contents(&mut self, inferred: &Inferred) -> Option<Vec<Value>> {
        let all = inferred.types.iter().zip(&inferred.contents);
        let constants: Option<Vec<_>> = all.map(|(ty, c)| self.content_as_constant(ty, c.as_ref()?)).collect();
        let constants = constants.filter(|c| !c.is_empty() && c.len() == inferred.types.len())?;
        Some(constants.into_iter().map(|c| self.intern(c)).collect())
    }

    /// Walks down the versions until one is native or has a lowering. `types` are the output types.
    pub(crate) fn step(&self, schema: &'static Op, call: &NodeCall, types: &[Type]) -> Result<Step> {
        if let Some(step) = self.tracked_step(schema, call) {
            return Ok(step);
        }
        let Some(why) = self.avoidance(schema, call) else { return self.step_of_version(schema, call, types, false) };
        if self.lowerings.refuses {
            return Err(self.not_replaced(schema, why, None));
        }
        match self.lower_avoided(schema, call) {
            Some(lower) => Ok(Step::Lower(lower, AVOIDED)),
            None if self.is_replacing(schema.name) => Err(self.not_replaced(schema, why, None)),
            None => {
                let step = self.step_of_version(schema, call, types, true);
                step.map_err(|_| self.not_replaced(schema, why, None))
            }
        }
    }

    /// The same for the versions of the operator. If it is to be avoided, only older versions are considered.
    fn step_of_version(&self, schema: &'static Op, call: &NodeCall, types: &[Type], avoided: bool) -> Result<Step> {
        let target = self.target_of(schema.name);
        let in_force = schema.at(target).filter(|v| v.since > call.form.since && !avoided);
        if let Some(version) = in_force {
            return Ok(self.upgrade_step(schema, version, call));
        }
        let mut left = schema.versions;
        while let [older @ .., version] = left {
            left = older;
            if version.since > call.form.since {
                continue;
            }
            if version.since <= target && version.deprecated {
                return Ok(Step::Upgrade(version));
            }
            if version.since <= target && !avoided {
                return Ok(
                    match self.lower_of(schema.name, version, None).filter(|_| self.has_no_kernel(version, call)) {
                        Some(_) if self.lowerings.refuses => return Err(self.needs(schema, version.since)),
                        Some(lower) => Step::Instead(lower, version.since, version),
                        None => Step::Native(version),
                    },
                );
            }
            match self.lowering(schema, version, older.last(), call, types) {
                Ok(Some(_)) if self.lowerings.refuses && older.is_empty() => {
                    return Err(self.needs(schema, version.since));
                }
                Ok(Some(lower)) => return Ok(Step::Lower(lower, version.since)),
                Ok(None) => {}
                Err(error) => return Err(error),
            }
        }
        Err(self.needs(schema, call.form.since))
    }

    /// An operator of sequences whose input is not in the graph, at any opset: its lowering for opsets without sequences.
    fn tracked_step(&self, schema: &'static Op, call: &NodeCall) -> Option<Step> {
        let first = schema.versions.first()?;
        let is_tracked = call.inputs.iter().flatten().any(|value| self.is_bundle(*value));
        let lower = is_tracked.then(|| self.lower_of(schema.name, first, None))??;
        Some(Step::Lower(lower, first.since))
    }

    /// A call in a form older than the target's: it is kept if the versions in between mean the same.
    fn upgrade_step(&self, schema: &'static Op, version: &'static Version, call: &NodeCall) -> Step {
        let between = schema.versions.iter().filter(|v| v.since > call.form.since && v.since <= version.since);
        let mut same = between
            .into_iter()
            .all(|v| matches!(self.difference(schema.name, v), Difference::Same | Difference::Types));
        same &= call.attrs.iter().all(|(name, _)| version.attribute(name).is_some());
        // Deprecated versions are refused when the node is emitted.
        Step::newer(version, same && !version.deprecated)
    }

    /// The lowering for a version that is too new; None if the older version can express the call.
    fn lowering(
        &self,
        schema: &'static Op,
        version: &'static Version,
        older: Option<&'static Version>,
        call: &NodeCall,
        types: &[Type],
    ) -> Result<Option<Lowering>> {
        let difference = self.difference(schema.name, version);
        let provided = call.lower.filter(|(since, _)| *since == version.since).map(|(_, lower)| lower);
        let lower = self.lower_of(schema.name, version, provided);
        let Some(older) = older else {
            return lower.map(Some).ok_or_else(|| self.needs(schema, version.since));
        };
        let step = StepDown { builder: self, version, older, call, types };
        let fate = plan::below(difference, lower.is_some(), &step);
        if fate.older {
            return Ok(None);
        }
        lower.map(Some).ok_or_else(|| self.needs(schema, version.since))
    }

    pub(crate) fn lowered(
        &mut self,
        lower: Lowering,
        since: u32,
        call: &NodeCall,
        inferred: &Inferred,
    ) -> Result<Vec<Value>> {
        self.trace.event(Event::Lower(call.op, since));
        let when = if since == AVOIDED { "avoided".to_owned() } else { format!("before {since}") };
        let rule = format!("lower {} {when}", call.op);
        let replacing = self.lowerings.replacing.len();
        if since == AVOIDED {
            self.lowerings.replacing.push(call.op);
        }
        let values = self.nested(&rule, call, |cx| lower.call(since, cx, call));
        self.lowerings.replacing.truncate(replacing);
        let values = match values {
            Ok(values) => values,
            Err(error) => return self.lowered_otherwise(since, error, call, inferred),
        };
        self.note_replaced(call);
        if values.len() < call.outputs {
            let what = format!("`{}` with {} outputs needs opset {since}", call.op, call.outputs);
            return Err(Error::refused(what, Some(since)));
        }
        self.as_inferred(values, &rule, call, inferred)
    }

    /// After a lowering refused a call: the lowerings to older opsets may replace what a `lower OP avoided` cannot.
    fn lowered_otherwise(
        &mut self,
        since: u32,
        error: Error,
        call: &NodeCall,
        inferred: &Inferred,
    ) -> Result<Vec<Value>> {
        let Some(schema) = schema::find(call.op).filter(|_| error.kind == Kind::Unsupported) else { return Err(error) };
        if since == AVOIDED
            && let Ok(Step::Lower(older, before)) = self.step_of_version(schema, call, &inferred.types, true)
        {
            return self.lowered(older, before, call, inferred);
        }
        Err(self.with_avoidance(schema, call, error))
    }

    /// Runs a rule that replaces a call.
    fn nested(
        &mut self,
        rule: &str,
        call: &NodeCall,
        run: impl FnOnce(&mut Builder) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        if self.lowerings.depth >= MAX_DEPTH {
            // With a target: two operators that are written by each other, of which the runtime has neither.
            return Err(match self.has_target() {
                true => Error::unsupported(format!("what replaces `{}` leads back to it", call.op)),
                false => self.fault(format!("the lowerings of `{}` are recursive", call.op)),
            });
        }
        self.lowerings.depth += 1;
        let result = run(self);
        self.lowerings.depth -= 1;
        result.map_err(|e| if matches!(e.kind, Kind::Internal | Kind::Input) { e.at(rule) } else { e })
    }

    /// The requested values of a rule, with the types and contents that are known of the call that they replace.
    fn as_inferred(
        &mut self,
        mut values: Vec<Value>,
        rule: &str,
        call: &NodeCall,
        inferred: &Inferred,
    ) -> Result<Vec<Value>> {
        values.truncate(call.outputs);
        for (value, ty) in values.iter().zip(&inferred.types) {
            self.refine(*value, ty)
                .map_err(|(got, wanted)| self.contradiction(format!("`{rule}` returns {got}, expected {wanted}")))?;
        }
        for (value, content) in values.iter().zip(&inferred.contents) {
            if let (Some(content), None) = (content, self.content(*value)) {
                self.data_mut(*value).content = Some(content.as_slice().into());
            }
        }
        Ok(values)
    }

    /// The newest opset of an operator's domain that the graph may use.
    pub(crate) fn target_of(&self, op: &str) -> u32 {
        // Other domains have their own versions.
        if op.contains("::") { u32::MAX } else { self.limits.opset }
    }

    /// The error for a call that cannot be expressed below `since`.
    pub(crate) fn needs(&self, schema: &'static Op, since: u32) -> Error {
        Error::refused(format!("`{}` as it is used here needs opset {since}", schema.name), Some(since))
    }
}

/// Whether the older version can express the call.
/// A call with the version before the one whose form it has.
struct StepDown<'a> {
    builder: &'a Builder,
    version: &'static Version,
    older: &'static Version,
    call: &'a NodeCall,
    /// The types of its outputs.
    types: &'a [Type],
}

impl plan::Known for StepDown<'_> {
    fn takes_types(&self) -> Answer {
        self.builder.takes_types(self.older, self.call, self.types).into()
    }

    fn fits(&self) -> Answer {
        fits_older(self.version, self.older, self.call).into()
    }
}

fn fits_older(version: &'static Version, older: &'static Version, call: &NodeCall) -> bool {
    let attrs = call.attrs.iter().all(|(name, attr)| {
        let default = || version.attribute(name).and_then(|a| a.default);
        older.attribute(name).is_some() || default().is_some_and(|d| d.is(attr))
    });
    let inputs = call.inputs.iter().enumerate().all(|(i, v)| v.is_none() || older.input_port(i).is_some());
    let outputs = (0..call.outputs).all(|i| older.output_port(i).is_some());
    attrs && inputs && outputs
}

/// What type inference reads from the graph.
impl infer::InferCx for Builder {
    fn fresh(&self) -> SymInt {
        self.fresh_symbol()
    }

    fn type_of(&self, value: Value) -> Option<Type> {
        Some(self.ty(value).clone())
    }

    fn content_of(&self, value: Value) -> Option<Vec<SymInt>> {
        self.content(value).map(<[SymInt]>::to_vec)
    }

    fn range(&self, symbol: &str) -> (Option<i64>, Option<i64>) {
        self.symbol_range(symbol)
    }
}
