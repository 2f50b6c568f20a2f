//! Shapes, permutations, and folds over lists of tensors.

use super::nodes::MakeNodes;
use aten2onnx_builder::Builder;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value};

/// Reshapes a tensor.
pub fn reshape(cx: &mut Builder, x: Value, size: &[SymInt]) -> Result<Value> {
    cx.reshape(x, size)
}

/// Broadcasts dimensions of size 1 and adds new leading ones.
pub fn expand(cx: &mut Builder, x: Value, size: &[SymInt]) -> Result<Value> {
    cx.expand(x, size)
}

/// The shape that shapes broadcast to. Of two unknown sizes the first is used, because PyTorch has checked that they
/// are equal.
pub fn broadcast_all(_: &mut Builder, shapes: &[Vec<SymInt>]) -> Result<Vec<SymInt>> {
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let mut result = vec![SymInt::from(1); rank];
    for shape in shapes {
        let missing = rank - shape.len();
        for (size, into) in shape.iter().zip(result.iter_mut().skip(missing)) {
            let replaces = *into == 1 || (into.known().is_none() && size.known().is_some_and(|n| n != 1));
            if replaces {
                *into = size.clone();
            }
        }
    }
    Ok(result)
}

fn fold(cx: &mut Builder, xs: &[Value], f: impl Fn(&mut Builder, Value, Value) -> Result<Value>) -> Result<Value> {
    let (first, rest) = xs.split_first().ok_or_else(|| Error::input("the list of tensors is empty"))?;
    rest.iter().try_fold(*first, |sofar, x| f(cx, sofar, *x))
}

/// The sum of tensors that broadcast.
pub fn total(cx: &mut Builder, xs: &[Value]) -> Result<Value> {
    fold(cx, xs, |cx, a, b| cx.add(a, b))
}

/// The matrix product, from left to right.
pub fn chain(cx: &mut Builder, xs: &[Value]) -> Result<Value> {
    fold(cx, xs, |cx, a, b| cx.op("MatMul", vec![a.into(), b.into()]))
}

/// The elementwise maximum, by comparison.
pub fn largest(cx: &mut Builder, xs: &[Value]) -> Result<Value> {
    fold(cx, xs, |cx, a, b| {
        let greater = cx.op("Greater", vec![a.into(), b.into()])?;
        cx.where_(greater, a, b)
    })
}

/// The elementwise minimum, by comparison.
pub fn smallest(cx: &mut Builder, xs: &[Value]) -> Result<Value> {
    fold(cx, xs, |cx, a, b| {
        let less = cx.op("Less", vec![a.into(), b.into()])?;
        cx.where_(less, a, b)
    })
}

/// The text without spaces.
pub fn without_blanks(_: &mut Builder, text: &str) -> Result<String> {
    Ok(text.split_whitespace().collect())
}

/// Elements that leave dimensions at the end return at the start; without dimensions, the tensor is flattened.
pub fn roll_dims(cx: &mut Builder, x: Value, shifts: &[SymInt], dims: &[i64]) -> Result<Value> {
    let shape = cx.shape(x)?;
    if dims.is_empty() {
        let Some(shift) = shifts.first() else { return Ok(x) };
        if shape.is_empty() {
            return Ok(x);
        }
        let flat = cx.reshape(x, &[SymInt::from(-1)])?;
        let rolled = roll(cx, flat, shift, 0)?;
        return cx.reshape(rolled, &shape);
    }
    let mut result = x;
    for (shift, dim) in shifts.iter().zip(dims) {
        if !shape.is_empty() {
            result = roll(cx, result, shift, wrap(*dim, shape.len()))?;
        }
    }
    Ok(result)
}

fn roll(cx: &mut Builder, x: Value, shift: &SymInt, axis: i64) -> Result<Value> {
    let size = cx.dim(x, axis)?;
    if size == 0 {
        return Ok(x);
    }
    let cut = shift.neg().modulo(&size);
    if cut == 0 {
        return Ok(x);
    }
    let back = cx.part(x, axis, &cut, &SymInt::from(i64::MAX))?;
    let front = cx.part(x, axis, &SymInt::from(0), &cut)?;
    cx.concat(vec![back, front], axis)
}

/// Normalizes a dimension to count from the front.
pub(super) fn wrap(dim: i64, rank: usize) -> i64 {
    if dim < 0 { dim.saturating_add(rank as i64) } else { dim }
}

/// A reduction over some dimensions.
pub(super) fn reduce(cx: &mut Builder, op: &'static str, x: Value, axes: &[i64], keep: bool) -> Result<Value> {
    if axes.is_empty() {
        return Ok(x);
    }
    cx.op_with(op, vec![x.into(), axes.into()], "keepdims", Attr::Int(keep.into()))
}

/// Differences of adjacent elements, applied `count` times; for booleans, whether they differ.
pub fn differences(cx: &mut Builder, x: Value, dim: i64, count: i64) -> Result<Value> {
    let mut result = x;
    for _ in 0..count {
        let later = cx.part(result, dim, &SymInt::from(1), &SymInt::from(i64::MAX))?;
        let earlier = cx.part(result, dim, &SymInt::from(0), &SymInt::from(-1))?;
        let op = if cx.dtype(x) == aten2onnx_core::dtype::Dtype::Bool { "Xor" } else { "Sub" };
        result = cx.op(op, vec![later.into(), earlier.into()])?;
    }
    Ok(result)
}
