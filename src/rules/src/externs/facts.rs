//! Known facts about values, sizes and numbers.

use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// The number of dimensions.
pub fn rank(cx: &mut Builder, x: Value) -> Result<i64> {
    cx.rank(x)
}

/// The number of dimensions, if it is known.
pub fn known_rank(cx: &mut Builder, x: Value) -> Result<Option<i64>> {
    Ok(cx.rank(x).ok())
}

/// The element type.
pub fn dtype_of(cx: &mut Builder, x: Value) -> Result<Dtype> {
    Ok(cx.dtype(x))
}

/// All sizes.
pub fn shape_of(cx: &mut Builder, x: Value) -> Result<Vec<SymInt>> {
    cx.shape(x)
}

/// One size. A 0-dim tensor counts as one dimension of size 1.
pub fn dim_of(cx: &mut Builder, x: Value, i: i64) -> Result<SymInt> {
    if cx.rank(x)? == 0 && (i == 0 || i == -1) {
        return Ok(SymInt::from(1));
    }
    cx.dim(x, i)
}

/// The integer, if it is known.
pub fn known(_: &mut Builder, n: &SymInt) -> Result<Option<i64>> {
    Ok(n.known())
}

/// Whether the bounds of its symbols say that it is at least this.
pub fn is_at_least(cx: &mut Builder, n: &SymInt, least: i64) -> Result<bool> {
    Ok(cx.is_at_least(n, least))
}

/// The integers, if all are known.
pub fn known_ints(_: &mut Builder, ns: &[SymInt]) -> Result<Option<Vec<i64>>> {
    Ok(ns.iter().map(SymInt::known).collect())
}

/// The number as a float, if it is known and real.
pub fn known_float(_: &mut Builder, x: &Scalar) -> Result<Option<f64>> {
    Ok(x.as_float())
}

/// The numbers as floats, if all are known and real.
pub fn known_floats(_: &mut Builder, xs: &[Scalar]) -> Result<Option<Vec<f64>>> {
    Ok(xs.iter().map(Scalar::as_float).collect())
}

/// The number of parts of this size, of which the last may be smaller; None if the bounds do not determine it.
pub fn count_of_parts(cx: &mut Builder, total: &SymInt, size: i64) -> Result<Option<i64>> {
    let parts = |n: i64| if size > 0 { SymInt::from(n).ceil_div(&SymInt::from(size)).known() } else { Some(1) };
    if let Some(total) = total.known() {
        return Ok(parts(total));
    }
    let Some((low, high)) = cx.bounds(total) else { return Ok(None) };
    Ok(parts(low).filter(|count| parts(high) == Some(*count)))
}

/// The product of all factors.
pub fn product(_: &mut Builder, ns: &[SymInt]) -> Result<SymInt> {
    Ok(ns.iter().product())
}

/// A size as a number.
pub fn to_scalar(_: &mut Builder, n: &SymInt) -> Result<Scalar> {
    Ok(Scalar::from(n))
}

/// Whether the elements are known.
pub fn is_known(cx: &mut Builder, x: Value) -> Result<bool> {
    Ok(cx.constant_of(x).is_some() || contents(cx, x)?.is_some())
}

/// Whether a value is not constant, and follows from sizes and constants by 64-bit integers alone.
pub fn is_sized(cx: &mut Builder, x: Value) -> Result<bool> {
    Ok(cx.is_sized(x))
}

/// Whether the runtime should not be given an operator with these inputs.
pub fn is_avoided(cx: &mut Builder, op: &str, inputs: &[Value]) -> Result<bool> {
    cx.is_avoided(op, inputs)
}

/// A stored value with 1 in place of each dimension along which it repeats.
pub fn without_repeats(cx: &mut Builder, x: Value) -> Result<Value> {
    Ok(cx.without_repeats(x))
}

/// The elements of an integer tensor, if they are known.
pub fn contents(cx: &mut Builder, x: Value) -> Result<Option<Vec<i64>>> {
    Ok(cx.constant_ints(x))
}

/// The elements of an integer tensor, if each is known or an expression of named sizes.
pub fn symbolic(cx: &mut Builder, x: Value) -> Result<Option<Vec<SymInt>>> {
    let content = cx.content(x).filter(|content| !content.iter().any(SymInt::has_anonymous));
    Ok(content.map(<[SymInt]>::to_vec))
}

/// Whether the integers of a constant or of a small weight are known to lie within limits.
pub fn stored_within(cx: &mut Builder, x: Value, low: i64, high: i64) -> Result<bool> {
    Ok(cx.stored_ints(x).is_some_and(|ns| ns.iter().all(|n| (low..=high).contains(n))))
}

/// A small weight as a constant; others are unchanged.
pub fn as_constant(cx: &mut Builder, x: Value) -> Result<Value> {
    cx.stored_constant(x)
}

/// One of two tensors by a flag. A flag that is stored decides while the model is exported.
pub fn by_flag(cx: &mut Builder, flag: Value, is_on: Value, yes: Value, no: Value) -> Result<Value> {
    match cx.stored_numbers(flag).as_deref() {
        Some([number]) => Ok(if number.as_bool().unwrap_or(true) { yes } else { no }),
        _ => cx.node1("Where", vec![is_on.into(), yes.into(), no.into()], vec![]),
    }
}

/// The only element, if the tensor is present and known.
pub fn value_of(cx: &mut Builder, x: Option<Value>) -> Result<Option<Scalar>> {
    Ok(x.and_then(|x| cx.constant_scalar(x)))
}

/// The only element of a constant, if it is a finite real number.
pub fn finite_number(cx: &mut Builder, x: Value) -> Result<Option<f64>> {
    Ok(cx.stored_scalar(x).and_then(|number| number.as_float()).filter(|number| number.is_finite()))
}

/// The elements of a one-dimensional integer tensor as sizes.
pub fn sym_ints(cx: &mut Builder, x: Value) -> Result<Vec<SymInt>> {
    cx.sym_ints(x)
}

/// The only element of an integer tensor as a size.
pub fn sym(cx: &mut Builder, x: Value) -> Result<SymInt> {
    cx.sym(x)
}

/// The only element of a tensor as a number.
pub fn number(cx: &mut Builder, x: Value) -> Result<Scalar> {
    cx.number(x)
}

/// Whether the lower bound is known to exceed the upper one.
pub fn crossed(_: &mut Builder, low: &Option<Scalar>, high: &Option<Scalar>) -> Result<bool> {
    let (low, high) = (low.as_ref().and_then(Scalar::as_float), high.as_ref().and_then(Scalar::as_float));
    Ok(low.zip(high).is_some_and(|(low, high)| low > high))
}

/// The number as the dtype stores it: truncated for integers.
pub fn fitting(_: &mut Builder, x: &Scalar, t: Dtype) -> Result<Scalar> {
    Ok(match x {
        Scalar::Float(f) if t.is_int() => Scalar::Int(*f as i64),
        other => other.clone(),
    })
}
