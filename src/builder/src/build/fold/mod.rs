//! Folding of small constants, limited to results that are identical on every runtime, bit for bit.

mod bits;
mod layout;
mod logic;
mod numbers;
mod reduce;
mod refused;
mod repeats;
mod rounded;
mod running;

pub(crate) use bits::evaluate_wrapping;
pub(crate) use refused::{LIMIT, SMALL, bytes_of, read, uniform};
pub(crate) use rounded::{encoded_floats, evaluate as evaluate_rounded, product as multiplied};

use crate::build::values::constants::MAX_FOLDED;
use crate::build::{Builder, NodeCall};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Constant, Type, Value};
use aten2onnx_onnx::schema::{self, Facts, Function, Shape};

impl Builder {
    /// The result of a call that needs no node, whatever its inputs contain.
    pub(crate) fn elided(&self, call: &NodeCall) -> Option<Value> {
        if call.outputs != 1 {
            return None;
        }
        match (schema::facts(call.op).shape, call.optional(0)) {
            (Shape::Identity, Some(input)) => Some(input),
            (Shape::Cast, Some(input)) => {
                (call.int("to") == Some(self.dtype(input).onnx().into()) && self.ty(input).is_tensor()).then_some(input)
            }
            (Shape::Constant, _) => call.tensor("value").filter(|v| self.constant_of(*v).is_some()),
            _ => None,
        }
    }

    /// The constant that a call on small constants computes.
    pub(crate) fn folded(&self, call: &NodeCall, ty: &Type) -> Option<Constant> {
        if call.outputs != 1 || call.inputs.is_empty() {
            return None;
        }
        let inputs: Vec<&Constant> =
            call.inputs.iter().map(|v| self.small_constant((*v)?)).collect::<Option<Vec<_>>>()?;
        // The result may not be larger than the inputs.
        let given: usize = inputs.iter().map(|constant| constant.len()).sum();
        let count = ty.shape()?.iter().try_fold(1usize, |n, size| n.checked_mul(usize::try_from(size.known()?).ok()?));
        count.filter(|count| *count <= given.max(MAX_FOLDED))?;
        evaluate(call.op, &call.attrs, &inputs, ty)
    }
}

/// Evaluates an operator on constants. None unless every runtime gives the same bits.
///
/// The caller limits the sizes.
pub(crate) fn evaluate(op: &str, attrs: &[(&'static str, Attr)], inputs: &[&Constant], ty: &Type) -> Option<Constant> {
    let sizes: Vec<i64> = ty.known_sizes()?;
    let facts = schema::facts(op);
    let first = *inputs.first()?;
    let is_reshaped =
        matches!(facts.shape, Shape::Reshape | Shape::Squeeze | Shape::Unsqueeze | Shape::Flatten | Shape::Identity);
    if inputs.iter().any(|input| input.dtype == Dtype::String) {
        return is_reshaped.then(|| Constant { sizes, ..first.clone() });
    }
    let call = Folding { attrs, inputs, sizes: &sizes, to: ty.dtype() };
    let bytes = match facts.computes {
        _ if is_reshaped => first.bytes().to_vec(),
        Some(function) => call.elements(function)?,
        None => call.arranged(facts)?,
    };
    let constant = Constant::new(ty.dtype(), sizes, bytes);
    constant.is_consistent().then_some(constant)
}

/// A call on constants whose result is folded.
struct Folding<'a> {
    attrs: &'a [(&'static str, Attr)],
    inputs: &'a [&'a Constant],
    /// The sizes of the result.
    sizes: &'a [i64],
    /// Its dtype.
    to: Dtype,
}

impl Folding<'_> {
    fn attr(&self, name: &str) -> Option<&Attr> {
        self.attrs.iter().find(|(n, _)| *n == name).map(|(_, attr)| attr)
    }

    fn int(&self, name: &str) -> Option<i64> {
        match self.attr(name) {
            Some(Attr::Int(n)) => Some(*n),
            _ => None,
        }
    }

    fn is_set(&self, name: &str) -> bool {
        self.int(name) == Some(1)
    }

    /// A function of the elements at each place.
    fn elements(&self, function: Function) -> Option<Vec<u8>> {
        match (function, self.inputs) {
            (Function::Clip, [x, bounds @ ..]) => numbers::clip(x, bounds, [self.attr("min"), self.attr("max")]),
            (Function::Infinite, [x]) if self.attrs.is_empty() => logic::infinite(x),
            (Function::Mod, [a, b]) if self.is_set("fmod") => numbers::binary(Function::Fmod, a, b, self.sizes),
            (Function::Choose, [condition, a, b]) => logic::choose(condition, a, b, self.sizes),
            (_, [x]) => of_one(function, x),
            (_, [a, b]) => of_two(function, a, b, self.sizes),
            _ => None,
        }
    }

    /// A call that moves, reduces or casts elements.
    fn arranged(&self, facts: &Facts) -> Option<Vec<u8>> {
        match (facts.shape, self.inputs) {
            (Shape::Cast, [x]) => numbers::cast(x, self.to),
            (Shape::Reduce, [x, axes @ ..]) => {
                let all = self.int("noop_with_empty_axes").unwrap_or(0) == 0;
                reduce::reduce(facts.combines?, x, axes.first().copied(), self.attr("axes"), all)
            }
            (Shape::First, [x, axis]) if facts.combines == Some(Function::Add) => {
                running::sums(x, axis, self.is_set("exclusive"), self.is_set("reverse"))
            }
            (Shape::Expand, [x, _]) => layout::expand(x, self.sizes),
            (Shape::Concat, _) => layout::concat(self.inputs, self.int("axis")?),
            (Shape::Gather, [x, indices]) => layout::gather(x, indices, self.int("axis").unwrap_or(0)),
            (Shape::Transpose, [x]) => layout::transpose(x, self.attr("perm")),
            (Shape::Slice, [x, bounds @ ..]) => layout::slice(x, bounds, self.sizes),
            _ => None,
        }
    }
}

/// A function of two elements.
fn of_two(function: Function, a: &Constant, b: &Constant, sizes: &[i64]) -> Option<Vec<u8>> {
    use Function as F;
    match function {
        F::Add | F::Sub | F::Mul | F::Div | F::Mod | F::Max | F::Min => numbers::binary(function, a, b, sizes),
        F::Equal | F::Greater | F::GreaterOrEqual | F::Less | F::LessOrEqual | F::And | F::Or | F::Xor => {
            logic::binary(function, a, b, sizes)
        }
        _ => None,
    }
}

/// A function of one element.
fn of_one(function: Function, x: &Constant) -> Option<Vec<u8>> {
    match function {
        Function::Neg => numbers::negate(x),
        Function::Not => logic::not(x),
        Function::Abs => numbers::unary(x, f64::abs),
        Function::Sqrt => numbers::unary(x, f64::sqrt),
        Function::Reciprocal => numbers::unary(x, f64::recip),
        Function::Floor => numbers::unary(x, f64::floor),
        Function::Ceil => numbers::unary(x, f64::ceil),
        Function::Round => numbers::unary(x, f64::round_ties_even),
        _ => None,
    }
}

/// The axes of a Transpose; reversed if none are given.
fn permutation(attr: Option<&Attr>, rank: usize) -> Option<Vec<usize>> {
    match attr {
        Some(Attr::Ints(perm)) => perm.iter().map(|axis| usize::try_from(*axis).ok().filter(|a| *a < rank)).collect(),
        _ => Some((0..rank).rev().collect()),
    }
}
