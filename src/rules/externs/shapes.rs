//! Shapes, permutations, and folds over lists of tensors.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, In};
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

/// Slices with steps, by gathering.
pub fn stepped(cx: &mut Builder, x: Value, starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> Result<Value> {
    let mut result = x;
    for (i, axis) in axes.iter().enumerate() {
        let at = |list: &[i64], absent: i64| list.get(i).copied().unwrap_or(absent);
        result = stepped_dim(cx, result, *axis, at(starts, 0), at(ends, i64::MAX), at(steps, 1))?;
    }
    Ok(result)
}

fn stepped_dim(cx: &mut Builder, x: Value, axis: i64, start: i64, end: i64, step: i64) -> Result<Value> {
    let size = cx.dim(x, axis)?;
    let Some(size) = size.known() else { return stepped_unknown(cx, x, axis, (start, end, step), &size) };
    let places = slice_places(size, start, end, step);
    let places = cx.ints(&places);
    cx.gather(x, places, axis)
}

/// The positions that a slice of a known dimension reads, as in NumPy.
fn slice_places(size: i64, start: i64, end: i64, step: i64) -> Vec<i64> {
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let from_front = |n: i64| if n < 0 { n.saturating_add(size) } else { n };
    let (start, end) = (from_front(start).clamp(low, high), from_front(end).clamp(low, high));
    let mut places = Vec::new();
    let mut at = start;
    while (step > 0 && at < end) || (step < 0 && at > end) {
        places.push(at);
        at = at.saturating_add(step);
    }
    places
}

/// With a step, a dimension of unknown size must be taken as a whole, forwards or backwards.
fn stepped_unknown(cx: &mut Builder, x: Value, axis: i64, slice: (i64, i64, i64), size: &SymInt) -> Result<Value> {
    let (start, end, step) = slice;
    let refused = || Error::refused("a slice with a step of a dimension of unknown size needs opset 10", Some(10));
    let by = SymInt::from(step.checked_abs().ok_or_else(refused)?);
    let count = size.ceil_div(&by);
    let forwards = step > 0 && start == 0 && end == i64::MAX;
    let backwards = step < 0 && (start == -1 || start == i64::MAX) && end < -i64::from(i32::MAX);
    if !forwards && !backwards {
        return Err(refused());
    }
    let places = cx.count(&count)?;
    let scaled = cx.mul(places, In::from(step))?;
    let places = if forwards { scaled } else { cx.add(scaled, size - 1)? };
    cx.gather(x, places, axis)
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
