//! What values were made from.

use aten2onnx_builder::Builder;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Value;

/// A tensor, unless all its elements are known to be 0.
pub fn unless_zero(cx: &mut Builder, x: Value) -> Result<Option<Value>> {
    Ok(Some(x).filter(|x| !cx.is_zero(*x)))
}

/// What was expanded to a tensor, if it has as many dimensions; else the tensor itself.
pub fn before_expansion(cx: &mut Builder, x: Value) -> Result<Value> {
    Ok(cx.before_expansion(x))
}

/// The tensor that elements were taken from by a mask of the dimensions from `dim` on, if that is known.
pub fn masked_sources(cx: &mut Builder, x: Value, mask: Value, dim: i64) -> Result<Vec<Value>> {
    Ok(cx.masked_source(x, mask, dim).into_iter().collect())
}
