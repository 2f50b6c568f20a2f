//! Dtypes: kinds, limits, casts.

use crate::builder::{Builder, Scalar};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::Value;

/// A floating-point dtype.
pub fn is_float(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(t.is_float())
}

/// An integer dtype; bool is not one.
pub fn is_int(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(t.is_int())
}

/// An unsigned integer dtype.
pub fn is_unsigned(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(t.is_unsigned())
}

/// A complex dtype.
pub fn is_complex(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(t.is_complex())
}

/// ONNX's number of a dtype.
pub fn onnx_type(_: &mut Builder, t: Dtype) -> Result<i64> {
    match t.onnx() {
        n if n > 0 => Ok(n.into()),
        _ => Err(Error::refused(format!("ONNX has no dtype {t}"), None)),
    }
}

/// In another dtype; no node where it is the same.
pub fn cast(cx: &mut Builder, x: Value, to: Dtype) -> Result<Value> {
    cx.cast(x, to)
}

/// The least finite value.
pub fn lowest(_: &mut Builder, t: Dtype) -> Result<Scalar> {
    Ok(match t {
        Dtype::Bool => Scalar::Bool(false),
        t if t.is_unsigned() => Scalar::Int(0),
        t if t.is_signed_int() => Scalar::Int(i64::MIN >> (64 - t.bits())),
        t => Scalar::Float(-greatest_float(t)?),
    })
}

/// The greatest finite value.
pub fn highest(_: &mut Builder, t: Dtype) -> Result<Scalar> {
    Ok(match t {
        Dtype::Bool => Scalar::Bool(true),
        // As a number of the builder it must fit 64 signed bits.
        Dtype::Uint64 => Scalar::Int(i64::MAX),
        t if t.is_unsigned() => Scalar::Int((1 << t.bits()) - 1),
        t if t.is_signed_int() => Scalar::Int(i64::MAX >> (64 - t.bits())),
        t => Scalar::Float(greatest_float(t)?),
    })
}

/// The greatest finite value of a float dtype, by IEEE 754 and the OCP formats' definitions.
fn greatest_float(t: Dtype) -> Result<f64> {
    Ok(match t {
        Dtype::Float16 => half::f16::MAX.to_f64(),
        Dtype::Bfloat16 => half::bf16::MAX.to_f64(),
        Dtype::Float32 => f64::from(f32::MAX),
        Dtype::Float64 => f64::MAX,
        Dtype::Float8E4M3FN => 448.0,
        Dtype::Float8E4M3FNUZ => 240.0,
        Dtype::Float8E5M2 | Dtype::Float8E5M2FNUZ => 57344.0,
        other => return Err(Error::refused(format!("{other} has no greatest value"), None)),
    })
}

/// The distance from 1 to the next value of a float dtype.
pub fn epsilon(_: &mut Builder, t: Dtype) -> Result<f64> {
    Ok(match t {
        Dtype::Float16 => half::f16::EPSILON.to_f64(),
        Dtype::Bfloat16 => half::bf16::EPSILON.to_f64(),
        Dtype::Float32 => f64::from(f32::EPSILON),
        Dtype::Float64 => f64::EPSILON,
        other => return Err(Error::refused(format!("{other} has no epsilon"), None)),
    })
}
