//! Dtypes and their limits.

use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};

/// Whether a dtype is floating-point.
pub fn is_float(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(t.is_float())
}

/// Whether maxima, minima, pools and orders keep NaN as PyTorch does.
pub fn exact_nan(cx: &mut Builder) -> Result<bool> {
    Ok(cx.exact_nan())
}

/// Whether the runtime has no form of an operator.
pub fn runtime_lacks(cx: &mut Builder, op: &str) -> Result<bool> {
    Ok(cx.lacks(op))
}

/// Whether a dtype is an integer type; bool is not.
pub fn is_int(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(t.is_int())
}

/// Whether a dtype is an unsigned integer type.
pub fn is_unsigned(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(t.is_unsigned())
}

/// The number of a dtype in ONNX.
pub fn onnx_type(_: &mut Builder, t: Dtype) -> Result<i64> {
    match t.onnx() {
        n if n > 0 => Ok(n.into()),
        _ => Err(Error::unsupported(format!("ONNX has no type {t}"))),
    }
}

/// The largest finite value of a float dtype, and the distance from 1 to the next value.
fn float_limits(t: Dtype) -> Option<(f64, f64)> {
    Some(match t {
        Dtype::Float64 => (f64::MAX, f64::EPSILON),
        Dtype::Float32 => (f32::MAX.into(), f32::EPSILON.into()),
        Dtype::Float16 => (65504.0, 0.000_976_562_5),
        Dtype::Bfloat16 => (3.389_531_389_251_535_5e38, 0.007_812_5),
        Dtype::Float8E4M3FN => (448.0, 0.125),
        Dtype::Float8E4M3FNUZ => (240.0, 0.125),
        Dtype::Float8E5M2 | Dtype::Float8E5M2FNUZ => (57344.0, 0.25),
        _ => return None,
    })
}

/// The smallest and largest value of an integer dtype, limited to int64.
fn int_limits(t: Dtype) -> Option<(i64, i64)> {
    let bits = t.bits();
    match t {
        Dtype::Bool => Some((0, 1)),
        Dtype::Uint64 => Some((0, i64::MAX)),
        _ if t.is_unsigned() => Some((0, (1i64 << bits) - 1)),
        _ if t.is_signed_int() => Some((i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))),
        _ => None,
    }
}

fn no_limits(t: Dtype) -> Error {
    Error::unsupported(format!("{t} has no smallest and largest value"))
}

/// The smallest finite value.
pub fn lowest(_: &mut Builder, t: Dtype) -> Result<Scalar> {
    if let Some((low, _)) = int_limits(t) {
        return Ok(if t == Dtype::Bool { Scalar::Bool(false) } else { Scalar::Int(low) });
    }
    float_limits(t).map(|(high, _)| Scalar::Float(-high)).ok_or_else(|| no_limits(t))
}

/// The largest finite value.
pub fn highest(_: &mut Builder, t: Dtype) -> Result<Scalar> {
    if let Some((_, high)) = int_limits(t) {
        return Ok(if t == Dtype::Bool { Scalar::Bool(true) } else { Scalar::Int(high) });
    }
    float_limits(t).map(|(high, _)| Scalar::Float(high)).ok_or_else(|| no_limits(t))
}

/// The distance from 1 to the next value.
pub fn epsilon(_: &mut Builder, t: Dtype) -> Result<f64> {
    float_limits(t).map(|(_, epsilon)| epsilon).ok_or_else(|| no_limits(t))
}

/// The smallest float32 number that is not less.
pub fn rounded_up(_: &mut Builder, x: f64) -> Result<f64> {
    let near = x as f32;
    Ok(f64::from(if f64::from(near) < x { near.next_up() } else { near }))
}

/// The nearest float32 number.
pub fn nearest_float32(_: &mut Builder, x: f64) -> Result<f64> {
    Ok(f64::from(x as f32))
}
