//! Quantization, where the dtype follows from attributes, the scale or the zero point.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

pub(super) fn quantize(c: &Ctx) -> Result<Vec<Type>> {
    want_scale(c)?;
    let (asked, zero_point) = (c.dtype_attr("output_dtype")?, c.input_dtype(2));
    match (asked, zero_point) {
        (Some(a), Some(b)) if a != b => Err(c.error(format!("output_dtype is {a}, the zero point {b}"))),
        _ => c.typed(asked.or(zero_point).unwrap_or(Dtype::Uint8), c.owned_shape(0)),
    }
}

/// The result is float32 before opset 19; later it has the dtype of the attribute or else of the scale.
pub(super) fn dequantize(c: &Ctx) -> Result<Vec<Type>> {
    want_scale(c)?;
    let scale = c.input_dtype(1).ok_or_else(|| c.error("the scale must be a tensor"))?;
    c.typed(c.dtype_attr("output_dtype")?.unwrap_or(scale), c.owned_shape(0))
}

/// There is one scale, one for each index of an axis, or one for each block of the data.
fn want_scale(c: &Ctx) -> Result<()> {
    let (Some(data), Some(scale)) = (c.shape(0), c.shape(1)) else { return Ok(()) };
    let has_blocks = c.int("block_size").unwrap_or(0) > 0;
    if has_blocks && scale.len() != data.len() || !has_blocks && scale.len() > 1 {
        let wanted = if has_blocks {
            "with blocks the scale has the rank of the data"
        } else {
            "without blocks the scale has at most one dimension"
        };
        return Err(c.error(wanted));
    }
    Ok(())
}

/// The quantized data, its scale and its zero point.
pub(super) fn dynamic(c: &Ctx) -> Result<Vec<Type>> {
    c.outputs_typed(vec![c.owned_shape(0), Some(vec![]), Some(vec![])])
}
