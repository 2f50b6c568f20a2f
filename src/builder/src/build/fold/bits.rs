//! Evaluates operators on integers that wrap around on overflow, as PyTorch's do. Constant folding leaves overflow to the runtime; tables of
//! few bits need it, because a model computes numbers for all of them and then chooses.

use super::{evaluate, layout};
use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Constant, Type};
use aten2onnx_onnx::schema::{self, Function, Shape};

/// The result of an operator on constants, with integers that wrap around.
pub(crate) fn evaluate_wrapping(
    op: &str,
    attrs: &[(&'static str, Attr)],
    inputs: &[&Constant],
    ty: &Type,
) -> Option<Constant> {
    let sizes: Vec<i64> = ty.known_sizes()?;
    let to = ty.dtype();
    let facts = schema::facts(op);
    let bytes = match (facts.shape, inputs) {
        (Shape::BitCast, [x]) if x.dtype.bits() == to.bits() => x.bytes().to_vec(),
        (Shape::Cast, [x]) if x.dtype.is_int() && to.is_int() => {
            let numbers = integers(x)?;
            numbers.into_iter().map(|n| wrapped(n.into(), to)).collect::<Option<Vec<_>>>()?.concat()
        }
        (_, [a, b]) if a.dtype.is_int() && a.dtype == b.dtype && to == a.dtype => {
            let (xs, ys) = (integers(a)?, integers(b)?);
            let (i, j) = (layout::broadcast(&a.sizes, &sizes)?, layout::broadcast(&b.sizes, &sizes)?);
            let is_left = attrs.iter().any(|(_, attr)| matches!(attr, Attr::Str(direction) if direction == "LEFT"));
            let function = facts.computes?;
            let number = |(i, j): (usize, usize)| binary(function, *xs.get(i)?, *ys.get(j)?, is_left);
            i.into_iter().zip(j).map(|at| wrapped(number(at)?, to)).collect::<Option<Vec<_>>>()?.concat()
        }
        _ => return evaluate(op, attrs, inputs, ty),
    };
    Some(Constant::new(to, sizes, bytes)).filter(Constant::is_consistent)
}

fn integers(constant: &Constant) -> Option<Vec<i64>> {
    encode::decode(constant.dtype, constant.bytes())?.iter().map(Scalar::as_int).collect()
}

/// The lowest bits of a number.
fn wrapped(n: i128, to: Dtype) -> Option<Vec<u8>> {
    let width = usize::try_from(to.bits() / 8).ok().filter(|width| *width > 0)?;
    n.to_le_bytes().get(..width).map(<[u8]>::to_vec)
}

/// Quotients of negative numbers are only made where nothing is rounded. Remainders have the sign of the divisor, unless they are those of C,
/// which `fmod` asks for and floats only need.
fn binary(function: Function, x: i64, y: i64, is_left: bool) -> Option<i128> {
    let (x, y) = (i128::from(x), i128::from(y));
    Some(match function {
        Function::Add => x + y,
        Function::Sub => x - y,
        Function::Mul => x * y,
        Function::Div if y > 0 && (x >= 0 || x % y == 0) => x / y,
        Function::Mod if y > 0 => x.rem_euclid(y),
        Function::BitAnd => x & y,
        Function::BitOr => x | y,
        Function::BitXor => x ^ y,
        Function::Shift if (0..64).contains(&y) && x >= 0 => {
            if is_left {
                x << y
            } else {
                x >> y
            }
        }
        _ => return None,
    })
}
