//! Complex numbers as their parts.

use aten2onnx_builder::Builder;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Value;

/// Whether a dtype is complex.
pub fn is_complex(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(t.is_complex())
}

/// The dtype of the parts of a complex one.
pub fn real_dtype(_: &mut Builder, t: Dtype) -> Result<Dtype> {
    Ok(t.real())
}

/// The real part.
pub fn re(cx: &mut Builder, x: Value) -> Result<Value> {
    Ok(cx.parts(x)?.0)
}

/// The imaginary part.
pub fn im(cx: &mut Builder, x: Value) -> Result<Value> {
    cx.imaginary(x)
}

/// A complex value from two parts of one dtype.
pub fn complex(cx: &mut Builder, re: Value, im: Value) -> Result<Value> {
    let shapes = [cx.shape(re)?, cx.shape(im)?];
    let size = super::broadcast_all(cx, &shapes)?;
    let (re, im) = (cx.expand(re, &size)?, cx.expand(im, &size)?);
    cx.complex(re, Some(im))
}

/// The real tensor with both parts in a last dimension of 2.
pub fn as_real(cx: &mut Builder, x: Value) -> Result<Value> {
    cx.joined(x)
}

/// A complex value from a real tensor whose last dimension is 2.
pub fn as_complex(cx: &mut Builder, x: Value) -> Result<Value> {
    cx.paired(x)
}
