//! Operators whose output has the shape of an input, or of several inputs broadcast together.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

pub(super) fn like_first(c: &Ctx) -> Result<Vec<Type>> {
    c.one_output(c.owned_shape(0))
}

pub(super) fn broadcast(c: &Ctx) -> Result<Vec<Type>> {
    let shapes: Vec<Option<&[SymInt]>> = (0..c.inputs.len()).map(|i| c.shape(i)).collect();
    c.one_output(c.broadcast(&shapes)?)
}

/// The slope is broadcast to the data, never the data to the slope.
pub(super) fn prelu(c: &Ctx) -> Result<Vec<Type>> {
    c.broadcast(&[c.shape(0), c.shape(1)])?;
    like_first(c)
}

pub(super) fn same_shapes(c: &Ctx) -> Result<Vec<Type>> {
    c.one_output(c.equal_shapes(c.shape(0), c.shape(1))?)
}

pub(super) fn cast(c: &Ctx) -> Result<Vec<Type>> {
    match c.dtype_attr("to")? {
        Some(dtype) => c.typed(dtype, c.owned_shape(0)),
        None => Err(c.error("attribute to is not an element type")),
    }
}

pub(super) fn cast_like(c: &Ctx) -> Result<Vec<Type>> {
    match c.input_dtype(1) {
        Some(dtype) => c.typed(dtype, c.owned_shape(0)),
        None => Err(c.error("target_type must be a tensor")),
    }
}

/// The mask is boolean since opset 10.
pub(super) fn dropout(c: &Ctx) -> Result<Vec<Type>> {
    let mut types = c.one_output(c.owned_shape(0))?;
    let mask = c.dtype(1).unwrap_or(Dtype::Bool);
    types.push(Type::Tensor { dtype: mask, shape: c.owned_shape(0) });
    Ok(types)
}

pub(super) fn identity(c: &Ctx) -> Result<Vec<Type>> {
    Ok(vec![c.ty(0)?.clone()])
}
