//! Quantization, where the dtype follows from attributes, the scale or the zero point.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

pub(super) fn quantize(c: &Ctx) -> Result<Vec<Type>> {
    let (asked, zero_point) = (c.dtype_attr("output_dtype")?, c.input_dtype(2));
    match (asked, zero_point) {
        (Some(a), Some(b)) if a != b => Err(c.error(format!("output_dtype is {a}, the zero point {b}"))),
        _ => c.typed(asked.or(zero_point).unwrap_or(Dtype::Uint8), c.owned_shape(0)),
    }
}

/// The result is float32 before opset 19; later it has the dtype of the attribute or else of the scale.
pub(super) fn dequantize(c: &Ctx) -> Result<Vec<Type>> {
    let scale = c.input_dtype(1).ok_or_else(|| c.error("the scale must be a tensor"))?;
    c.typed(c.dtype_attr("output_dtype")?.unwrap_or(scale), c.owned_shape(0))
}

/// The quantized data, its scale and its zero point.
pub(super) fn dynamic(c: &Ctx) -> Result<Vec<Type>> {
    c.outputs_typed(vec![c.owned_shape(0), Some(vec![]), Some(vec![])])
}
