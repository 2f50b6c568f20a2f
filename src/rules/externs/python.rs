//! Numbers with Python's semantics.

use aten2onnx_builder::{Builder, Scalar, ScalarOp};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;

/// Division that rounds down.
pub fn floor_div(cx: &mut Builder, a: &Scalar, b: &Scalar) -> Result<Scalar> {
    cx.scalar_op(ScalarOp::FloorDiv, a, b)
}

/// The dtype of a number: bool, int64 or float64, or that of its tensor if the graph computes it.
pub fn python_dtype(cx: &mut Builder, x: &Scalar) -> Result<Dtype> {
    Ok(match x {
        Scalar::Bool(_) => Dtype::Bool,
        Scalar::Int(_) | Scalar::Sym(_) => Dtype::Int64,
        Scalar::Float(_) => Dtype::Float64,
        Scalar::Complex(..) => Dtype::Complex128,
        Scalar::Value(value) => cx.dtype(*value),
    })
}
