//! Numbers with Python's semantics.

use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;

/// The numbers as sizes, if all are integers that are known or expressions of sizes.
pub fn as_sizes(_: &mut Builder, xs: &[Scalar]) -> Result<Option<Vec<SymInt>>> {
    Ok(xs.iter().map(Scalar::as_size).collect())
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
