//! Random numbers, and other operators with an optional dtype attribute.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

/// The input's shape, and its dtype unless the attribute is given.
pub(super) fn like(c: &Ctx) -> Result<Vec<Type>> {
    let dtype = match c.dtype_attr("dtype")? {
        Some(dtype) => dtype,
        None => c.input_dtype(0).ok_or_else(|| c.error("the input must be a tensor"))?,
    };
    c.typed(dtype, c.owned_shape(0))
}

pub(super) fn shaped(c: &Ctx) -> Result<Vec<Type>> {
    let dtype = c.dtype_attr("dtype")?.unwrap_or(Dtype::Float32);
    c.typed(dtype, c.int_list("shape").map(|dims| dims.into_iter().map(SymInt::from).collect()))
}

pub(super) fn multinomial(c: &Ctx) -> Result<Vec<Type>> {
    c.want_rank(0, 2)?;
    let dtype = c.dtype_attr("dtype")?.unwrap_or(Dtype::Int32);
    let batch = c.shape(0).and_then(<[SymInt]>::first).cloned().unwrap_or_else(|| c.fresh());
    c.typed(dtype, Some(vec![batch, SymInt::from(c.int("sample_size").unwrap_or(1))]))
}
