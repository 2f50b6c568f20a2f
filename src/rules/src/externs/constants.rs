//! Constants and tensors of one value.

use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// Casts a value; emits no node if the dtype is the same.
pub fn cast(cx: &mut Builder, x: Value, to: Dtype) -> Result<Value> {
    cx.cast(x, to)
}

/// A 0-dim tensor.
pub fn scalar(cx: &mut Builder, x: &Scalar, t: Dtype) -> Result<Value> {
    cx.scalar(x, t)
}

/// A one-dimensional int64 tensor.
pub fn vector(cx: &mut Builder, ns: &[SymInt]) -> Result<Value> {
    cx.tensor1(ns)
}

/// A one-dimensional constant.
pub fn constant(cx: &mut Builder, xs: &[Scalar], t: Dtype) -> Result<Value> {
    cx.numbers(xs, t)
}

/// A tensor filled with one value.
pub fn full_of(cx: &mut Builder, size: &[SymInt], value: &Scalar, t: Dtype) -> Result<Value> {
    cx.full(size, value, t)
}

/// An int64 constant of several dimensions.
pub fn table(cx: &mut Builder, ns: &[i64], size: &[i64]) -> Result<Value> {
    let bytes: Vec<u8> = ns.iter().flat_map(|n| n.to_le_bytes()).collect();
    cx.constant(Dtype::Int64, size, bytes)
}

/// The cosine.
pub fn cosine(_: &mut Builder, x: f64) -> Result<f64> {
    Ok(x.cos())
}
