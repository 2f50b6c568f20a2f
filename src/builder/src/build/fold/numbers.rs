//! Constant folding of casts and arithmetic.

use super::layout;
use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Constant};
use aten2onnx_onnx::schema::Function;

/// Integers up to this value are exact in float32, through which runtimes cast to half-precision types.
const EXACT: i64 = 1 << 24;

pub(crate) fn cast(x: &Constant, to: Dtype) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(x.len() * 8);
    for number in encode::decode(x.dtype, x.bytes())? {
        if let (Scalar::Int(n), Dtype::Float16 | Dtype::Bfloat16) = (&number, to)
            && n.unsigned_abs() > EXACT.unsigned_abs()
        {
            return None;
        }
        bytes.extend(encode::cast(&number, to)?);
    }
    Some(bytes)
}

pub(crate) fn negate(x: &Constant) -> Option<Vec<u8>> {
    let numbers = encode::decode(x.dtype, x.bytes())?;
    let mut bytes = Vec::with_capacity(x.len() * 8);
    for number in numbers {
        bytes.extend(match number {
            Scalar::Int(n) if x.dtype.is_signed_int() => encode::encode_int(n.checked_neg()?, x.dtype)?,
            Scalar::Float(v) => encode::encode_float(-v, x.dtype)?,
            _ => return None,
        });
    }
    Some(bytes)
}

/// A function that IEEE 754 rounds correctly. Half-precision types compute in float32 and round, as in runtimes.
pub(crate) fn unary(x: &Constant, f: fn(f64) -> f64) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(x.len() * 8);
    for number in encode::decode(x.dtype, x.bytes())? {
        let Scalar::Float(v) = number else { return None };
        // The float32 square root or quotient equals the rounded float64 one.
        let result = if x.dtype == Dtype::Float64 { f(v) } else { f64::from(f(v) as f32) };
        if result.is_nan() {
            return None;
        }
        bytes.extend(encode::encode_float(result, x.dtype)?);
    }
    Some(bytes)
}

/// The bytes of integers and floats. None if one is missing, or does not fit.
pub(super) fn encoded(numbers: Vec<Option<Scalar>>, dtype: Dtype) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(numbers.len() * 8);
    for number in numbers {
        bytes.extend(match number? {
            Scalar::Int(n) => encode::encode_int(n, dtype)?,
            Scalar::Float(v) => encode::encode_float(v, dtype)?,
            _ => return None,
        });
    }
    Some(bytes)
}

/// Clip with bounds as inputs or, in older opsets, as attributes. Bounds that are absent are not folded.
pub(crate) fn clip(x: &Constant, bounds: &[&Constant], attrs: [Option<&Attr>; 2]) -> Option<Vec<u8>> {
    let given = |attr: Option<&Attr>| match attr {
        Some(Attr::Float(v)) if x.dtype == Dtype::Float32 => {
            Some(Constant::new(x.dtype, Vec::new(), (*v as f32).to_le_bytes().to_vec()))
        }
        _ => None,
    };
    let (low, high) = match bounds {
        [] => (given(attrs[0])?, given(attrs[1])?),
        [low, high] => ((*low).clone(), (*high).clone()),
        _ => return None,
    };
    let raised = Constant::new(x.dtype, x.sizes.clone(), binary(Function::Max, x, &low, &x.sizes)?);
    binary(Function::Min, &raised, &high, &x.sizes)
}

/// Add, Sub, Mul, Div, Max, Min, Mod or `fmod` with broadcasting to `sizes`. Mod without `fmod` is of integers only, as the operator.
/// Runtimes differ in Max and Min of zeros with different signs, which are not folded.
pub(crate) fn binary(function: Function, a: &Constant, b: &Constant, sizes: &[i64]) -> Option<Vec<u8>> {
    if a.dtype != b.dtype {
        return None;
    }
    let (xs, ys) = (encode::decode(a.dtype, a.bytes())?, encode::decode(b.dtype, b.bytes())?);
    let (i, j) = (layout::broadcast(&a.sizes, sizes)?, layout::broadcast(&b.sizes, sizes)?);
    let mut bytes = Vec::with_capacity(i.len() * 8);
    for (i, j) in i.into_iter().zip(j) {
        bytes.extend(match (xs.get(i)?, ys.get(j)?) {
            (Scalar::Int(x), Scalar::Int(y)) => encode::encode_int(integers(function, *x, *y)?, a.dtype)?,
            (Scalar::Float(x), Scalar::Float(y)) => floats(function, *x, *y, a.dtype)?,
            _ => return None,
        });
    }
    Some(bytes)
}

/// None on overflow, which runtimes handle differently.
fn integers(function: Function, x: i64, y: i64) -> Option<i64> {
    match function {
        Function::Add => x.checked_add(y),
        Function::Sub => x.checked_sub(y),
        Function::Mul => x.checked_mul(y),
        Function::Div => x.checked_div(y),
        Function::Fmod => x.checked_rem(y),
        // The remainder has the sign of the divisor.
        Function::Mod => x.checked_rem(y)?.checked_add(y)?.checked_rem(y),
        Function::Max => Some(x.max(y)),
        Function::Min => Some(x.min(y)),
        _ => None,
    }
}

/// Half-precision types compute in float32 and round, as in runtimes. NaN is not folded, because its bit pattern
/// varies.
fn floats(function: Function, x: f64, y: f64, dtype: Dtype) -> Option<Vec<u8>> {
    if matches!(function, Function::Max | Function::Min) {
        let is_open = x.is_nan() || y.is_nan() || (x == y && x.is_sign_negative() != y.is_sign_negative());
        let chosen = if (x < y) == (function == Function::Min) { x } else { y };
        return if is_open { None } else { encode::encode_float(chosen, dtype) };
    }
    let result = match dtype {
        Dtype::Float64 => arithmetic(function, x, y)?,
        _ => {
            // The elements have at most 32 bits.
            let (x, y) = (x as f32, y as f32);
            let result = match function {
                Function::Add => x + y,
                Function::Sub => x - y,
                Function::Mul => x * y,
                Function::Div => x / y,
                Function::Fmod => x % y,
                _ => return None,
            };
            f64::from(result)
        }
    };
    if result.is_nan() { None } else { encode::encode_float(result, dtype) }
}

fn arithmetic(function: Function, x: f64, y: f64) -> Option<f64> {
    Some(match function {
        Function::Add => x + y,
        Function::Sub => x - y,
        Function::Mul => x * y,
        Function::Div => x / y,
        Function::Fmod => x % y,
        _ => return None,
    })
}
