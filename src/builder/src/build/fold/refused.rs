//! Folding of calls that the runtime should not be given, but whose inputs are all stored in the model.
//!
//! Elsewhere such calls stay nodes if their results are large, so that the model does not grow. Here a small result is stored at once, and a
//! large one if no other operators compute it: the choice is to store it, or to refuse the model.

use rustc_hash::FxHashMap;

use aten2onnx_core::weights::{Payload, Weight};
use aten2onnx_onnx::graph::{Attr, Constant, Node, Source, Type, Value};

use super::{evaluate, rounded};
use crate::build::{Builder, NodeCall};

/// The largest result in bytes.
pub(crate) const LIMIT: u64 = 16 << 20;

/// The largest result in bytes that is stored in place of other operators.
pub(crate) const SMALL: u64 = 256 << 10;

/// How many nodes may be between a value and what is stored.
const DEPTH: usize = 64;

impl Builder {
    /// Whether the inputs that a call depends on may be stored in the model.
    pub(crate) fn may_be_folded(&self, call: &NodeCall) -> bool {
        call.op == "Where" || self.is_folded_call(call, &call.attrs)
    }

    /// The result of a call that is not written, if it follows from constants and weights alone and has up to `limit` bytes.
    pub(crate) fn folded_instead(&mut self, call: &NodeCall, types: &[Type], limit: u64) -> Option<Value> {
        let ([ty], 1) = (types, call.outputs) else { return None };
        if let Some(chosen) = self.chosen(call, ty) {
            return Some(chosen);
        }
        bytes_of(ty).filter(|bytes| *bytes <= limit)?;
        let constant = Stored::new(self).result(call.op, &call.attrs, &call.inputs, ty, DEPTH)?;
        let follows_weight = call.inputs.iter().flatten().any(|value| self.follows_weight(*value));
        let value = self.intern(constant);
        if follows_weight {
            self.mark_of_weight(value);
        }
        Some(value)
    }

    /// What a `Where` chooses everywhere, if it has the type of the result.
    fn chosen(&self, call: &NodeCall, ty: &Type) -> Option<Value> {
        let condition = call.optional(0).filter(|_| call.op == "Where")?;
        let branch = if uniform(&self.stored(condition)?)? { 1 } else { 2 };
        call.optional(branch).filter(|value| self.ty(*value) == ty)
    }

    /// The elements of a value, if they follow from what is stored.
    pub(super) fn stored(&self, value: Value) -> Option<Constant> {
        Stored::new(self).value(value, DEPTH)
    }

    /// The result of a `ConstantOfShape`, whose sizes are known.
    pub(crate) fn constant_of_shape(&self, attrs: &[(&'static str, Attr)], ty: &Type) -> Option<Constant> {
        let count = count_of(ty)?;
        let element = match attrs.iter().find(|(name, _)| *name == "value") {
            Some((_, Attr::Tensor(value))) => self.constant_of(*value)?.bytes().to_vec(),
            _ => vec![0; 4],
        };
        let constant = Constant::new(ty.dtype(), ty.known_sizes()?, element.repeat(usize::try_from(count).ok()?));
        constant.is_consistent().then_some(constant)
    }
}

/// Values that follow from what is stored in the model. Each is computed once, however many nodes read it.
struct Stored<'a> {
    builder: &'a Builder,
    values: FxHashMap<Value, Option<Constant>>,
}

impl<'a> Stored<'a> {
    fn new(builder: &'a Builder) -> Stored<'a> {
        Stored { builder, values: FxHashMap::default() }
    }

    /// The elements of a value.
    fn value(&mut self, value: Value, depth: usize) -> Option<Constant> {
        if let Some(known) = self.values.get(&value) {
            return known.clone();
        }
        let found = self.computed(value, depth);
        self.values.insert(value, found.clone());
        found
    }

    fn computed(&mut self, value: Value, depth: usize) -> Option<Constant> {
        let builder = self.builder;
        match &builder.data(value).source {
            Source::Constant(constant) => Some(constant.clone()),
            Source::Weight(weight) => read(weight),
            Source::Input => None,
            Source::Node => {
                let Node { op, attrs, inputs, .. } = builder.node_of_output(value).filter(|_| depth > 0)?;
                self.result(op, attrs, inputs, builder.ty(value), depth - 1)
            }
        }
    }

    /// The result of an operator.
    fn result(
        &mut self,
        op: &str,
        attrs: &[(&'static str, Attr)],
        inputs: &[Option<Value>],
        ty: &Type,
        depth: usize,
    ) -> Option<Constant> {
        if bytes_of(ty)? > LIMIT || !inputs.iter().flatten().all(|value| self.builder.data(*value).is_folded) {
            return None;
        }
        if op == "ConstantOfShape" {
            return self.builder.constant_of_shape(attrs, ty);
        }
        let inputs: Vec<Constant> = inputs.iter().map(|value| self.value((*value)?, depth)).collect::<Option<_>>()?;
        evaluate(op, attrs, &inputs.iter().collect::<Vec<_>>(), ty).or_else(|| rounded::evaluate(op, &inputs, ty))
    }
}

/// The truth value that all elements of a condition have.
pub(crate) fn uniform(condition: &Constant) -> Option<bool> {
    let (&first, rest) = condition.bytes().split_first()?;
    rest.iter().all(|byte| (*byte != 0) == (first != 0)).then_some(first != 0)
}

/// The elements of a weight.
pub(crate) fn read(weight: &Weight) -> Option<Constant> {
    let mut bytes: Vec<u8> = Vec::new();
    Payload::new(weight).ok()?.write(&mut bytes).ok()?;
    Some(Constant::new(weight.dtype, weight.sizes.clone(), bytes)).filter(Constant::is_consistent)
}

/// The size in bytes of a tensor of known sizes.
pub(crate) fn bytes_of(ty: &Type) -> Option<u64> {
    ty.dtype().bytes(count_of(ty)?)
}

/// The number of elements.
fn count_of(ty: &Type) -> Option<u64> {
    let count = ty.known_sizes()?.iter().try_fold(1i64, |count, size| count.checked_mul(*size))?;
    u64::try_from(count).ok()
}
