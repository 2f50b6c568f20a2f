//! Converts floating-point numbers to their bits and back by arithmetic, exactly in double precision; all NaNs become
//! one bit pattern.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, In, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::Value;

/// The bit layout of a floating-point dtype.
#[derive(Clone, Copy)]
struct Layout {
    /// The number of fraction bits.
    fraction: i32,
    /// The exponent bias; the largest exponent field is twice that plus one.
    bias: i32,
}

fn layout(t: Dtype) -> Option<Layout> {
    Some(match t {
        Dtype::Float16 => Layout { fraction: 10, bias: 15 },
        Dtype::Bfloat16 => Layout { fraction: 7, bias: 127 },
        Dtype::Float32 => Layout { fraction: 23, bias: 127 },
        Dtype::Float64 => Layout { fraction: 52, bias: 1023 },
        _ => return None,
    })
}

fn power_of_2(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// Whether the bits of a floating-point dtype are supported.
pub fn has_layout(_: &mut Builder, t: Dtype) -> Result<bool> {
    Ok(layout(t).is_some())
}

/// The bits of floating-point numbers as int64. Narrower dtypes use the lower bits.
pub fn float_bits(cx: &mut Builder, x: Value) -> Result<Value> {
    let Layout { fraction, bias } =
        layout(cx.dtype(x)).ok_or_else(|| Error::internal("expected a floating-point dtype"))?;
    let x = cx.cast(x, Dtype::Float64)?;
    let size = cx.op("Abs", vec![x.into()])?;
    let (exponent, mantissa) = exponent_of(cx, size, bias)?;
    // 1.f is the implicit one and the fraction.
    let beyond = cx.sub(mantissa, 1.0)?;
    let scaled = cx.mul(beyond, power_of_2(fraction))?;
    let part = cx.cast(scaled, Dtype::Int64)?;
    let field = cx.add(exponent, i64::from(bias))?;
    let whole = cx.mul(field, 1i64 << fraction)?;
    let normal = cx.add(whole, part)?;
    // Subnormal numbers are multiples of the smallest one.
    let steps = cx.mul(size, power_of_2(fraction))?;
    let steps = cx.mul(steps, power_of_2(bias - 1))?;
    let steps = cx.cast(steps, Dtype::Int64)?;
    let is_tiny = cx.op("Less", vec![size.into(), In::from(power_of_2(1 - bias))])?;
    let finite = cx.where_(is_tiny, steps, normal)?;
    let infinity = i64::from(2 * bias + 1) << fraction;
    let is_infinite = cx.op("Greater", vec![size.into(), In::from(f64::MAX)])?;
    let real = cx.where_(is_infinite, infinity, finite)?;
    let is_nan = cx.op("IsNaN", vec![x.into()])?;
    let bits = cx.where_(is_nan, infinity + (1i64 << (fraction - 1)), real)?;
    signed(cx, x, bits, fraction, bias)
}

/// Adds the sign bit; for zeros the sign follows from the reciprocal.
fn signed(cx: &mut Builder, x: Value, bits: Value, fraction: i32, bias: i32) -> Result<Value> {
    let is_zero = cx.op("Equal", vec![x.into(), 0.0.into()])?;
    let one = cx.scalar(&Scalar::Float(1.0), Dtype::Float64)?;
    let inverse = cx.div(one, x)?;
    let shown = cx.where_(is_zero, inverse, x)?;
    let is_negative = cx.op("Less", vec![shown.into(), 0.0.into()])?;
    let width = fraction
        + if bias == 1023 {
            11
        } else if bias == 15 {
            5
        } else {
            8
        };
    let with_sign = if width == 63 { cx.add(bits, i64::MIN)? } else { cx.add(bits, 1i64 << width)? };
    cx.where_(is_negative, with_sign, bits)
}

/// The exponent of a positive number, and its mantissa from 1 to 2, by bisection over the exponent range.
fn exponent_of(cx: &mut Builder, size: Value, bias: i32) -> Result<(Value, Value)> {
    let is_small = cx.op("Less", vec![size.into(), 1.0.into()])?;
    let raised = cx.mul(size, power_of_2(bias - 1))?;
    let mut rest = cx.where_(is_small, raised, size)?;
    let start = cx.scalar(&Scalar::Int(0), Dtype::Int64)?;
    let mut exponent = cx.where_(is_small, i64::from(1 - bias), start)?;
    let mut step = (bias + 1) / 2;
    while step > 0 {
        let is_above = cx.op("Less", vec![rest.into(), In::from(power_of_2(step))])?;
        let lowered = cx.mul(rest, power_of_2(-step))?;
        rest = cx.where_(is_above, rest, lowered)?;
        let more = cx.add(exponent, i64::from(step))?;
        exponent = cx.where_(is_above, exponent, more)?;
        step /= 2;
    }
    Ok((exponent, rest))
}

/// Floating-point numbers from their bits as int64; bits beyond those of the dtype are ignored.
pub fn float_of_bits(cx: &mut Builder, bits: Value, t: Dtype) -> Result<Value> {
    let Layout { fraction, bias } = layout(t).ok_or_else(|| Error::internal("expected a floating-point dtype"))?;
    let exponents = i64::from(2 * bias + 2);
    let one = 1i64 << fraction;
    // The remainder has the divisor's sign, so this is floor division.
    let part = cx.op("Mod", vec![bits.into(), one.into()])?;
    let above = cx.sub(bits, part)?;
    let above = cx.div(above, one)?;
    let field = cx.op("Mod", vec![above.into(), exponents.into()])?;
    let rest = cx.sub(above, field)?;
    let sign = cx.div(rest, exponents)?;
    let sign = cx.op("Mod", vec![sign.into(), 2.into()])?;
    let powers: Vec<Scalar> =
        (0..exponents as i32).map(|e| Scalar::Float(power_of_2(e.clamp(1, 2 * bias) - bias))).collect();
    let powers = cx.numbers(&powers, Dtype::Float64)?;
    let power = cx.gather(powers, field, 0)?;
    let is_tiny = cx.op("Equal", vec![field.into(), 0.into()])?;
    let part_as_float = cx.cast(part, Dtype::Float64)?;
    let scaled = cx.mul(part_as_float, power_of_2(-fraction))?;
    let with_one = cx.add(scaled, 1.0)?;
    let mantissa = cx.where_(is_tiny, scaled, with_one)?;
    let finite = cx.mul(mantissa, power)?;
    let is_beyond = cx.op("Equal", vec![field.into(), (exponents - 1).into()])?;
    let is_whole = cx.op("Equal", vec![part.into(), 0.into()])?;
    let infinite = cx.scalar(&Scalar::Float(f64::INFINITY), Dtype::Float64)?;
    let special = cx.where_(is_whole, infinite, f64::NAN)?;
    let size = cx.where_(is_beyond, special, finite)?;
    let negative = cx.op("Neg", vec![size.into()])?;
    let is_negative = cx.op("Equal", vec![sign.into(), 1.into()])?;
    let number = cx.where_(is_negative, negative, size)?;
    cx.cast(number, t)
}
