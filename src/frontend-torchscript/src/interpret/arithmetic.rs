//! Arithmetic of Python on known numbers.

use crate::values::Value;
use aten2onnx_core::error::{Error, Result};

/// The greatest common divisor.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(i64::MAX)
}

/// A function of a known float.
pub(super) fn known_function(op: &str, x: f64) -> Option<Value> {
    let whole = |x: f64| Value::Int(x as i64);
    Some(match op {
        "floor" => whole(x.floor()),
        "ceil" => whole(x.ceil()),
        "isnan" => Value::Bool(x.is_nan()),
        "isinf" => Value::Bool(x.is_infinite()),
        "isfinite" => Value::Bool(x.is_finite()),
        "neg" => Value::Float(-x),
        "abs" | "fabs" => Value::Float(x.abs()),
        "round" => Value::Float(x.round_ties_even()),
        "sqrt" => Value::Float(x.sqrt()),
        "exp" => Value::Float(x.exp()),
        "expm1" => Value::Float(x.exp_m1()),
        "log" => Value::Float(x.ln()),
        "log1p" => Value::Float(x.ln_1p()),
        "log2" => Value::Float(x.log2()),
        "log10" => Value::Float(x.log10()),
        "sin" => Value::Float(x.sin()),
        "cos" => Value::Float(x.cos()),
        "tan" => Value::Float(x.tan()),
        "sinh" => Value::Float(x.sinh()),
        "cosh" => Value::Float(x.cosh()),
        "tanh" => Value::Float(x.tanh()),
        "asin" => Value::Float(x.asin()),
        "acos" => Value::Float(x.acos()),
        "atan" => Value::Float(x.atan()),
        "asinh" => Value::Float(x.asinh()),
        "acosh" => Value::Float(x.acosh()),
        "atanh" => Value::Float(x.atanh()),
        "degrees" => Value::Float(x.to_degrees()),
        "radians" => Value::Float(x.to_radians()),
        _ => return None,
    })
}

/// `a op b` of known numbers; None if they are not known.
pub(super) fn known(op: &str, a: &Value, b: &Value) -> Result<Option<Value>> {
    let int = |value: &Value| match value {
        Value::Int(number) => Some(*number),
        Value::Bool(flag) => Some(i64::from(*flag)),
        _ => None,
    };
    let float = |value: &Value| match value {
        Value::Float(number) => Some(*number),
        other => int(other).map(|number| number as f64),
    };
    if let (Value::Bool(a), Value::Bool(b)) = (a, b) {
        match op {
            "__and__" => return Ok(Some(Value::Bool(a & b))),
            "__or__" => return Ok(Some(Value::Bool(a | b))),
            "__xor__" => return Ok(Some(Value::Bool(a ^ b))),
            _ => {}
        }
    }
    if let (Some(a), Some(b)) = (int(a), int(b)) {
        return of_ints(op, a, b);
    }
    if let (Some(a), Some(b)) = (float(a), float(b)) {
        return Ok(of_floats(op, a, b));
    }
    let complex = |value: &Value| match value {
        Value::Complex(re, im) => Some((*re, *im)),
        other => float(other).map(|re| (re, 0.0)),
    };
    Ok(match (complex(a), complex(b)) {
        (Some((a, b)), Some((c, d))) => match op {
            "add" => Some(Value::Complex(a + c, b + d)),
            "sub" => Some(Value::Complex(a - c, b - d)),
            "mul" => Some(Value::Complex(a * c - b * d, a * d + b * c)),
            "eq" => Some(Value::Bool(a == c && b == d)),
            _ => None,
        },
        _ => None,
    })
}

fn of_ints(op: &str, a: i64, b: i64) -> Result<Option<Value>> {
    let zero = || Error::input("an int is divided by zero");
    Ok(Some(match op {
        "add" => Value::Int(a.wrapping_add(b)),
        "sub" => Value::Int(a.wrapping_sub(b)),
        "mul" => Value::Int(a.wrapping_mul(b)),
        "div" | "truediv" if b == 0 => return Err(zero()),
        "div" | "truediv" => Value::Float(a as f64 / b as f64),
        "floordiv" => {
            let quotient = a.checked_div(b).ok_or_else(zero)?;
            Value::Int(quotient - i64::from(a % b != 0 && (a < 0) != (b < 0)))
        }
        "remainder" => {
            let rest = a.checked_rem(b).ok_or_else(zero)?;
            Value::Int(if rest != 0 && (rest < 0) != (b < 0) { rest.wrapping_add(b) } else { rest })
        }
        "fmod" => Value::Float((a as f64) % (b as f64)),
        "pow" if b >= 0 => match u32::try_from(b) {
            Ok(power) if a.checked_pow(power).is_some() => Value::Int(a.wrapping_pow(power)),
            _ => Value::Float((a as f64).powf(b as f64)),
        },
        "pow" => Value::Float((a as f64).powf(b as f64)),
        "min" => Value::Int(a.min(b)),
        "max" => Value::Int(a.max(b)),
        "__and__" => Value::Int(a & b),
        "__or__" => Value::Int(a | b),
        "__xor__" => Value::Int(a ^ b),
        "__lshift__" => Value::Int(u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0)),
        "__rshift__" => {
            Value::Int(u32::try_from(b).ok().and_then(|b| a.checked_shr(b)).unwrap_or(if a < 0 { -1 } else { 0 }))
        }
        "atan2" => Value::Float((a as f64).atan2(b as f64)),
        _ => return Ok(compared(op, a, b)),
    }))
}

fn of_floats(op: &str, a: f64, b: f64) -> Option<Value> {
    Some(match op {
        "add" => Value::Float(a + b),
        "sub" => Value::Float(a - b),
        "mul" => Value::Float(a * b),
        "div" | "truediv" => Value::Float(a / b),
        "floordiv" => Value::Float((a / b).floor()),
        "remainder" => {
            let rest = a % b;
            Value::Float(if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest })
        }
        "fmod" => Value::Float(a % b),
        "pow" => Value::Float(a.powf(b)),
        "min" => Value::Float(a.min(b)),
        "max" => Value::Float(a.max(b)),
        "atan2" => Value::Float(a.atan2(b)),
        "hypot" => Value::Float(a.hypot(b)),
        "copysign" => Value::Float(a.copysign(b)),
        _ => return compared(op, a, b),
    })
}

fn compared<T: PartialOrd>(op: &str, a: T, b: T) -> Option<Value> {
    Some(Value::Bool(match op {
        "lt" => a < b,
        "le" => a <= b,
        "gt" => a > b,
        "ge" => a >= b,
        "eq" => a == b,
        "ne" => a != b,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quotients are rounded down, and remainders have the sign of the divisor.
    #[test]
    fn negative_numbers_are_divided_as_in_python() {
        let cases = [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-6, 2, -3, 0), (0, -5, 0, 0)];
        for (a, b, quotient, rest) in cases {
            for (op, wanted) in [("floordiv", quotient), ("remainder", rest)] {
                let int = of_ints(op, a, b).ok().flatten();
                assert!(matches!(int, Some(Value::Int(found)) if found == wanted), "{a} {op} {b}: {int:?}");
                let float = of_floats(op, a as f64, b as f64);
                assert!(matches!(float, Some(Value::Float(x)) if x == wanted as f64), "{a}. {op} {b}.: {float:?}");
            }
        }
    }
}
