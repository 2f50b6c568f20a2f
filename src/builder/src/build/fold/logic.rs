//! Constant folding of comparisons, logic and Where.

use super::layout;
use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::Constant;
use aten2onnx_onnx::schema::Function;

pub(crate) fn not(x: &Constant) -> Option<Vec<u8>> {
    (x.dtype == Dtype::Bool).then(|| x.bytes().iter().map(|b| u8::from(*b == 0)).collect())
}

/// Whether elements are infinite, of either sign.
pub(crate) fn infinite(x: &Constant) -> Option<Vec<u8>> {
    let is_infinite = |number: Scalar| match number {
        Scalar::Float(v) => Some(u8::from(v.is_infinite())),
        _ => None,
    };
    encode::decode(x.dtype, x.bytes())?.into_iter().map(is_infinite).collect()
}

/// A comparison, or And, Or, Xor, with broadcasting to `sizes`.
pub(crate) fn binary(function: Function, a: &Constant, b: &Constant, sizes: &[i64]) -> Option<Vec<u8>> {
    if a.dtype != b.dtype {
        return None;
    }
    let (xs, ys) = (encode::decode(a.dtype, a.bytes())?, encode::decode(b.dtype, b.bytes())?);
    let (i, j) = (layout::broadcast(&a.sizes, sizes)?, layout::broadcast(&b.sizes, sizes)?);
    let pairs = i.into_iter().zip(j).map(|(i, j)| Some((xs.get(i)?, ys.get(j)?)));
    pairs.map(|pair| pair.and_then(|(x, y)| holds(function, x, y)).map(u8::from)).collect()
}

fn holds(function: Function, x: &Scalar, y: &Scalar) -> Option<bool> {
    match (x, y) {
        (Scalar::Int(x), Scalar::Int(y)) => compared(function, x, y),
        (Scalar::Float(x), Scalar::Float(y)) => compared(function, x, y),
        (Scalar::Bool(x), Scalar::Bool(y)) => Some(match function {
            Function::And => *x && *y,
            Function::Or => *x || *y,
            Function::Xor => x != y,
            Function::Equal => x == y,
            _ => return None,
        }),
        _ => None,
    }
}

fn compared<T: PartialOrd>(function: Function, x: &T, y: &T) -> Option<bool> {
    Some(match function {
        Function::Equal => x == y,
        Function::Greater => x > y,
        Function::GreaterOrEqual => x >= y,
        Function::Less => x < y,
        Function::LessOrEqual => x <= y,
        _ => return None,
    })
}

/// Where, with broadcasting to `sizes`.
pub(crate) fn choose(condition: &Constant, a: &Constant, b: &Constant, sizes: &[i64]) -> Option<Vec<u8>> {
    let width = usize::try_from(a.dtype.bits() / 8).ok().filter(|w| *w > 0 && a.dtype == b.dtype)?;
    let places = |x: &Constant| layout::broadcast(&x.sizes, sizes);
    let mut bytes = Vec::new();
    for ((c, i), j) in places(condition)?.into_iter().zip(places(a)?).zip(places(b)?) {
        let (from, at) = if *condition.bytes().get(c)? != 0 { (a, i) } else { (b, j) };
        bytes.extend_from_slice(from.bytes().get(at * width..(at + 1) * width)?);
    }
    Some(bytes)
}
