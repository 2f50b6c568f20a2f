//! Sequences and optionals.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::{Ctx, Shape};
use super::dims::with_dim;

/// The type of a sequence's elements.
pub(super) fn element<'a>(c: &Ctx<'a>, i: usize) -> Result<&'a Type> {
    match c.ty(i)? {
        Type::Sequence(of) => Ok(of),
        _ => Err(c.error(format!("input {i} must be a sequence"))),
    }
}

fn tensor_element<'a>(c: &Ctx<'a>, i: usize) -> Result<(Dtype, Option<&'a [SymInt]>)> {
    match element(c, i)? {
        Type::Tensor { dtype, shape } => Ok((*dtype, shape.as_deref())),
        _ => Err(c.error("takes a sequence of tensors")),
    }
}

fn sequence(dtype: Dtype, shape: Shape) -> Vec<Type> {
    vec![Type::Sequence(Box::new(Type::Tensor { dtype, shape }))]
}

pub(super) fn construct(c: &Ctx) -> Result<Vec<Type>> {
    let dtype = c.input_dtype(0).ok_or_else(|| c.error("takes tensors"))?;
    let mut shape = c.owned_shape(0);
    for i in 1..c.inputs.len() {
        if c.input_dtype(i) != Some(dtype) {
            return Err(c.error("elements differ in dtype"));
        }
        shape = c.union_shapes(shape.as_deref(), c.shape(i));
    }
    Ok(sequence(dtype, shape))
}

pub(super) fn empty(c: &Ctx) -> Result<Vec<Type>> {
    Ok(sequence(c.dtype_attr("dtype")?.unwrap_or(Dtype::Float32), None))
}

pub(super) fn insert(c: &Ctx) -> Result<Vec<Type>> {
    let (dtype, shape) = tensor_element(c, 0)?;
    if c.input_dtype(1) != Some(dtype) {
        return Err(c.error("the tensor and the sequence differ in dtype"));
    }
    Ok(sequence(dtype, c.union_shapes(shape, c.shape(1))))
}

/// A length for each batch.
pub(super) fn reverse(c: &Ctx) -> Result<Vec<Type>> {
    c.want_rank(1, 1)?;
    if let (Some(data), Some([count])) = (c.shape(0), c.shape(1)) {
        let batch = c.axis(c.int("batch_axis").unwrap_or(1), data.len())?;
        c.axis(c.int("time_axis").unwrap_or(0), data.len())?;
        if let Some(batch) = data.get(batch) {
            c.equal_dims(batch, count)?;
        }
    }
    c.one_output(c.owned_shape(0))
}

/// Elements may differ in sizes that are not known, whatever the name of the size.
pub(super) fn at(c: &Ctx) -> Result<Vec<Type>> {
    c.want_one_element(1, "position")?;
    let (dtype, shape) = tensor_element(c, 0)?;
    let own = |dim: &SymInt| if dim.known().is_some() { dim.clone() } else { c.fresh() };
    c.typed(dtype, shape.map(|dims| dims.iter().map(own).collect()))
}

pub(super) fn concat(c: &Ctx) -> Result<Vec<Type>> {
    let (dtype, shape) = tensor_element(c, 0)?;
    let Some(dims) = shape else { return c.typed(dtype, None) };
    let joined = if c.flag("new_axis") {
        let (before, after) = dims.split_at(c.axis_attr(0, dims.len() + 1)?);
        [before, &[c.fresh()], after].concat()
    } else {
        with_dim(dims, c.axis_attr(0, dims.len())?, c.fresh())
    };
    c.typed(dtype, Some(joined))
}

pub(super) fn split(c: &Ctx) -> Result<Vec<Type>> {
    let dtype = c.input_dtype(0).ok_or_else(|| c.error("takes a tensor"))?;
    let Some(dims) = c.shape(0) else { return Ok(sequence(dtype, None)) };
    let axis = c.axis_attr(0, dims.len())?;
    if !c.has(1) && c.int("keepdims") == Some(0) {
        let kept = dims.iter().enumerate().filter(|(i, _)| *i != axis);
        return Ok(sequence(dtype, Some(kept.map(|(_, d)| d.clone()).collect())));
    }
    let dim = dims.get(axis).cloned().unwrap_or_default();
    let part = part_length(c, &dim).unwrap_or_else(|| c.fresh());
    Ok(sequence(dtype, Some(with_dim(dims, axis, part))))
}

/// The length that all parts have.
fn part_length(c: &Ctx, dim: &SymInt) -> Option<SymInt> {
    if !c.has(1) {
        return Some(SymInt::from(1));
    }
    let lengths = c.content(1)?;
    let (first, others) = lengths.split_first()?;
    let is_scalar = c.shape(1)?.is_empty();
    let equal = if is_scalar { dim.modulo(first) == 0 } else { others.iter().all(|n| n == first) };
    equal.then(|| first.clone())
}

/// Without an input, the type would be an attribute of a kind that nodes here do not support.
pub(super) fn optional(c: &Ctx) -> Result<Vec<Type>> {
    Ok(vec![Type::Optional(Box::new(c.ty(0)?.clone()))])
}

/// Since opset 18 it also accepts values that are not optionals.
pub(super) fn optional_get_element(c: &Ctx) -> Result<Vec<Type>> {
    match c.ty(0)? {
        Type::Optional(of) => Ok(vec![(**of).clone()]),
        other => Ok(vec![other.clone()]),
    }
}
