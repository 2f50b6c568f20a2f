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
use crate::build::{Builder, Call};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Constant, Type, Value};

impl Builder {
    /// The result of a call that needs no node, whatever its inputs contain.
    pub(crate) fn elided(&self, call: &Call) -> Option<Value> {
        if call.outputs != 1 {
            return None;
        }
        match (call.op, call.optional(0)) {
            ("Identity", Some(input)) => Some(input),
            ("Cast", Some(input)) => {
                (call.int("to") == Some(self.dtype(input).onnx().into()) && self.ty(input).is_tensor()).then_some(input)
            }
            ("Constant", _) => call.tensor("value").filter(|v| self.constant_of(*v).is_some()),
            _ => None,
        }
    }

    /// The constant that a call on small constants computes.
    pub(crate) fn folded(&self, call: &Call, ty: &Type) -> Option<Constant> {
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
    let attr = |name: &str| attrs.iter().find(|(n, _)| *n == name).map(|(_, attr)| attr);
    let int = |name: &str| match attr(name) {
        Some(Attr::Int(n)) => Some(*n),
        _ => None,
    };
    let first = *inputs.first()?;
    if inputs.iter().any(|input| input.dtype == Dtype::String) {
        let is_reshaped = matches!(op, "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" | "Identity");
        return is_reshaped.then(|| Constant { sizes, ..first.clone() });
    }
    let bytes = match (op, inputs) {
        ("Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" | "Identity", _) => first.bytes().to_vec(),
        ("Cast", [x]) => numbers::cast(x, ty.dtype())?,
        ("Neg", [x]) => numbers::negate(x)?,
        ("Not", [x]) => logic::not(x)?,
        ("Abs", [x]) => numbers::unary(x, f64::abs)?,
        ("IsInf", [x]) if attrs.is_empty() => logic::infinite(x)?,
        ("Clip", [x, bounds @ ..]) => numbers::clip(x, bounds, [attr("min"), attr("max")])?,
        ("Sqrt", [x]) => numbers::unary(x, f64::sqrt)?,
        ("Reciprocal", [x]) => numbers::unary(x, f64::recip)?,
        ("Floor", [x]) => numbers::unary(x, f64::floor)?,
        ("Ceil", [x]) => numbers::unary(x, f64::ceil)?,
        ("Round", [x]) => numbers::unary(x, f64::round_ties_even)?,
        ("Mod", [a, b]) if int("fmod") == Some(1) => numbers::binary("fmod", a, b, &sizes)?,
        ("Add" | "Sub" | "Mul" | "Div" | "Mod" | "Max" | "Min", [a, b]) => numbers::binary(op, a, b, &sizes)?,
        ("Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor", [a, b]) => {
            logic::binary(op, a, b, &sizes)?
        }
        ("Where", [condition, a, b]) => logic::choose(condition, a, b, &sizes)?,
        ("ReduceMax" | "ReduceMin" | "ReduceSum", [x, axes @ ..]) => {
            let all = int("noop_with_empty_axes").unwrap_or(0) == 0;
            reduce::reduce(op, x, axes.first().copied(), attr("axes"), all)?
        }
        ("CumSum", [x, axis]) => {
            let is_set = |name: &str| int(name) == Some(1);
            running::sums(x, axis, is_set("exclusive"), is_set("reverse"))?
        }
        ("Expand", [x, _]) => layout::expand(x, &sizes)?,
        ("Concat", _) => layout::concat(inputs, int("axis")?)?,
        ("Gather", [x, indices]) => layout::gather(x, indices, int("axis").unwrap_or(0))?,
        ("Transpose", [x]) => layout::transpose(x, attr("perm"))?,
        ("Slice", [x, bounds @ ..]) => layout::slice(x, bounds, &sizes)?,
        _ => return None,
    };
    let constant = Constant::new(ty.dtype(), sizes, bytes);
    constant.is_consistent().then_some(constant)
}

/// The axes of a Transpose; reversed if none are given.
fn permutation(attr: Option<&Attr>, rank: usize) -> Option<Vec<usize>> {
    match attr {
        Some(Attr::Ints(perm)) => perm.iter().map(|axis| usize::try_from(*axis).ok().filter(|a| *a < rank)).collect(),
        _ => Some((0..rank).rev().collect()),
    }
}
