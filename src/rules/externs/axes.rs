//! Axes computed by the graph, for opsets where they are attributes: each dimension is tested for membership.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, In};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value};

/// For each of `rank` dimensions, whether it is one of the axes: a one-dimensional boolean tensor.
pub fn is_meant(cx: &mut Builder, axes: Value, rank: i64) -> Result<Value> {
    let meant = matches(cx, axes, rank)?;
    let counts = cx.cast(meant, Dtype::Int32)?;
    let count = cx.node1("ReduceSum", vec![counts.into(), vec![0i64].into()], vec![("keepdims", Attr::Int(0))])?;
    cx.op("Greater", vec![count.into(), 0.into()])
}

/// A boolean matrix with a row per axis and a column per dimension: whether they are equal.
fn matches(cx: &mut Builder, axes: Value, rank: i64) -> Result<Value> {
    let axes = cx.cast(axes, Dtype::Int64)?;
    let list = super::reshape(cx, axes, &[SymInt::from(-1)])?;
    let is_negative = cx.op("Less", vec![list.into(), 0.into()])?;
    let moved = cx.add(list, rank)?;
    let front = cx.where_(is_negative, moved, list)?;
    let column = cx.unsqueeze(front, &[1])?;
    let dims: Vec<i64> = (0..rank).collect();
    cx.op("Equal", vec![column.into(), dims.into()])
}

/// Scatters numbers given for some axes to all of `rank` dimensions; the others get `absent`.
pub fn spread_over(cx: &mut Builder, numbers: Value, axes: Value, rank: i64, absent: i64) -> Result<Value> {
    let meant = matches(cx, axes, rank)?;
    let numbers = cx.cast(numbers, Dtype::Int64)?;
    let list = super::reshape(cx, numbers, &[SymInt::from(-1)])?;
    let column = cx.unsqueeze(list, &[1])?;
    let given = cx.where_(meant, column, 0)?;
    let sums = cx.node1("ReduceSum", vec![given.into(), vec![0i64].into()], vec![("keepdims", Attr::Int(0))])?;
    if absent == 0 {
        return Ok(sums);
    }
    let is_given = is_meant(cx, axes, rank)?;
    cx.where_(is_given, sums, absent)
}

/// A reduction over axes that the graph computes, one conditional reduction per dimension. With `all`, no axes means
/// every dimension.
pub fn reduced_over(cx: &mut Builder, x: Value, axes: Value, op: &str, keep: bool, all: bool) -> Result<Value> {
    let op = aten2onnx_onnx::schema::find(op).ok_or_else(|| cx.fault("unknown reduction"))?.name;
    let rank = cx.rank(x)?;
    let mut mask = is_meant(cx, axes, rank)?;
    if all && cx.ty(axes).shape().is_none_or(|shape| shape.first().is_none_or(|n| n.known().is_none_or(|n| n == 0))) {
        let count = cx.op("Size", vec![axes.into()])?;
        let is_none = cx.op("Equal", vec![count.into(), 0.into()])?;
        mask = cx.op("Or", vec![mask.into(), is_none.into()])?;
    }
    let result = if cx.shape(x)?.iter().any(|n| *n == 0) {
        of_nothing(cx, op, x, mask)?
    } else if cx.opset() < 11 {
        reduced_in_place(cx, op, x, mask)?
    } else {
        reduced_by_branches(cx, op, x, mask)?
    };
    if keep { Ok(result) } else { without_dims(cx, result, mask) }
}

/// The result of a reduction without elements.
fn of_nothing(cx: &mut Builder, op: &'static str, x: Value, mask: Value) -> Result<Value> {
    let neutral = cx.node1(op, vec![x.into()], vec![("keepdims", Attr::Int(0))])?;
    let shape = cx.op("Shape", vec![x.into()])?;
    let sizes = cx.where_(mask, 1, shape)?;
    cx.op("Expand", vec![neutral.into(), sizes.into()])
}

/// Uses an If for each dimension.
fn reduced_by_branches(cx: &mut Builder, op: &'static str, x: Value, mask: Value) -> Result<Value> {
    let mut result = x;
    for dim in 0..cx.rank(x)? {
        let condition = cx.gather(mask, dim, 0)?;
        let before = result;
        let reduced = cx.body(&[], |cx, _| Ok(vec![super::shapes::reduce(cx, op, before, &[dim], true)?]))?;
        let kept = cx.body(&[], |_, _| Ok(vec![before]))?;
        let branches = vec![("else_branch", kept), ("then_branch", reduced)];
        result = cx.node1("If", vec![condition.into()], branches)?;
    }
    Ok(result)
}

/// For branches that must have equal shapes: repeats the reduced values, and finally keeps only the first ones.
fn reduced_in_place(cx: &mut Builder, op: &'static str, x: Value, mask: Value) -> Result<Value> {
    let sizes = cx.shape(x)?;
    let mut result = x;
    for dim in 0..sizes.len() as i64 {
        let is_meant = cx.gather(mask, dim, 0)?;
        let reduced = super::shapes::reduce(cx, op, result, &[dim], true)?;
        let repeated = cx.expand(reduced, &sizes)?;
        result = cx.where_(is_meant, repeated, result)?;
    }
    let shape = cx.op("Shape", vec![x.into()])?;
    let counts = cx.where_(mask, 1, shape)?;
    for dim in 0..sizes.len() as i64 {
        let count = cx.gather(counts, dim, 0)?;
        let count = cx.sym(count)?;
        let first = cx.count(&count)?;
        result = cx.gather(result, first, dim)?;
    }
    Ok(result)
}

/// Removes the dimensions of size 1 that a mask selects.
pub fn without_dims(cx: &mut Builder, x: Value, mask: Value) -> Result<Value> {
    let others = cx.op("Not", vec![mask.into()])?;
    let shape = cx.op("Shape", vec![x.into()])?;
    let kept = cx.op_with("Compress", vec![shape.into(), others.into()], "axis", Attr::Int(0))?;
    reshaped(cx, x, kept)
}

/// Adds dimensions of size 1 where a mask over the result's dimensions is true.
pub fn with_dims(cx: &mut Builder, x: Value, mask: Value, rank: i64) -> Result<Value> {
    let old = cx.rank(x)?;
    if old == 0 {
        return super::reshape(cx, x, &vec![SymInt::from(1); usize::try_from(rank).unwrap_or(0)]);
    }
    // The source dimension is the number of earlier dimensions that are not new.
    let others = cx.op("Not", vec![mask.into()])?;
    let flags = cx.cast(others, Dtype::Int64)?;
    let below: Vec<i64> = (0..rank).flat_map(|i| (0..rank).map(move |j| i64::from(j < i))).collect();
    let square = cx.ints(&below);
    let square = super::reshape(cx, square, &[SymInt::from(rank), SymInt::from(rank)])?;
    let counted = cx.mul(square, flags)?;
    let place = cx.node1("ReduceSum", vec![counted.into(), vec![1i64].into()], vec![("keepdims", Attr::Int(0))])?;
    let place = cx.op("Where", vec![others.into(), place.into(), In::from(0)])?;
    let shape = cx.op("Shape", vec![x.into()])?;
    let sizes = cx.gather(shape, place, 0)?;
    let sizes = cx.where_(mask, 1, sizes)?;
    reshaped(cx, x, sizes)
}

fn reshaped(cx: &mut Builder, x: Value, shape: Value) -> Result<Value> {
    cx.op_with("Reshape", vec![x.into(), shape.into()], "allowzero", Attr::Int(1))
}
