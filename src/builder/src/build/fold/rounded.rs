//! Constant folding of functions that runtimes round in their own ways: they are computed in float64.

use super::{layout, numbers};
use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_onnx::graph::{Constant, Type};
use aten2onnx_onnx::schema::{self, Function, Shape};

/// The largest number of multiplications of a product.
const MOST: usize = 1 << 26;

/// The result of an operator. None if it is not one of these, or if it is NaN.
pub(crate) fn evaluate(op: &str, inputs: &[Constant], ty: &Type) -> Option<Constant> {
    let facts = schema::facts(op);
    match (facts.computes, inputs) {
        (Some(Function::Pow), [a, b]) => power(a, b, ty),
        (Some(function), [x]) => of_each(function, x),
        (None, [a, b]) if facts.shape == Shape::MatMul => product(a, b, ty),
        _ => None,
    }
}

/// A function of each element.
fn of_each(function: Function, x: &Constant) -> Option<Constant> {
    let f: fn(f64) -> f64 = match function {
        Function::Cos => f64::cos,
        Function::Sin => f64::sin,
        Function::Exp => f64::exp,
        Function::Log => f64::ln,
        Function::Tanh => f64::tanh,
        Function::Sigmoid => |v| 1.0 / (1.0 + (-v).exp()),
        // NaN stays NaN.
        Function::Relu => |v| if v < 0.0 { 0.0 } else { v },
        _ => return None,
    };
    let results = floats(x)?.into_iter().map(|v| Some(f(v)).filter(|y| !y.is_nan()).map(Scalar::Float)).collect();
    Some(Constant::new(x.dtype, x.sizes.clone(), numbers::encoded(results, x.dtype)?))
}

fn power(a: &Constant, b: &Constant, ty: &Type) -> Option<Constant> {
    let sizes = ty.known_sizes()?;
    let (xs, ys) = (floats(a)?, floats(b)?);
    let (i, j) = (layout::broadcast(&a.sizes, &sizes)?, layout::broadcast(&b.sizes, &sizes)?);
    let power = |(i, j): (usize, usize)| Some(xs.get(i)?.powf(*ys.get(j)?)).filter(|power| power.is_finite());
    let powers = i.into_iter().zip(j).map(|places| power(places).map(Scalar::Float)).collect();
    Some(Constant::new(ty.dtype(), sizes, numbers::encoded(powers, ty.dtype())?))
}

/// Floats in the dtype and the sizes of a type, if all are finite.
pub(crate) fn encoded_floats(results: &[f64], ty: &Type) -> Option<Constant> {
    let numbers = results.iter().map(|result| Some(*result).filter(|result| result.is_finite()).map(Scalar::Float));
    let constant = Constant::new(ty.dtype(), ty.known_sizes()?, numbers::encoded(numbers.collect(), ty.dtype())?);
    constant.is_consistent().then_some(constant)
}

/// The product of stacks of matrices, or of vectors.
pub(crate) fn product(a: &Constant, b: &Constant, ty: &Type) -> Option<Constant> {
    let sizes = ty.known_sizes()?;
    // A vector is a row on the left and a column on the right.
    let (left, right) = (as_matrix(&a.sizes, [1, -1])?, as_matrix(&b.sizes, [-1, 1])?);
    let ([stack_a @ .., rows, depth], [stack_b @ .., _, columns]) = (&left[..], &right[..]) else { return None };
    let matrices = if a.sizes.len() == 1 || b.sizes.len() == 1 { 0 } else { 2 };
    let lone =
        usize::from(a.sizes.len() == 1 && b.sizes.len() > 1) + usize::from(b.sizes.len() == 1 && a.sizes.len() > 1);
    let stack = sizes.get(..sizes.len().checked_sub(matrices + lone)?)?;
    let [rows, depth, columns] = [rows, depth, columns].map(|n| usize::try_from(*n).ok().filter(|n| *n > 0));
    let (rows, depth, columns) = (rows?, depth?, columns?);
    let (xs, ys) = (floats(a)?, floats(b)?);
    let (i, j) = (layout::broadcast(stack_a, stack)?, layout::broadcast(stack_b, stack)?);
    let work = [rows, depth, columns].into_iter().try_fold(i.len(), usize::checked_mul)?;
    if work > MOST {
        return None;
    }
    let mut results = Vec::new();
    for (i, j) in i.into_iter().zip(j) {
        let x = xs.chunks_exact(rows * depth).nth(i)?;
        let y = ys.chunks_exact(depth * columns).nth(j)?;
        for row in x.chunks_exact(depth) {
            let mut sums = vec![0.0; columns];
            for (factor, line) in row.iter().zip(y.chunks_exact(columns)) {
                sums.iter_mut().zip(line).for_each(|(sum, element)| *sum += factor * element);
            }
            results.extend(sums.into_iter().map(|sum| Some(sum).filter(|sum| sum.is_finite()).map(Scalar::Float)));
        }
    }
    Some(Constant::new(ty.dtype(), sizes, numbers::encoded(results, ty.dtype())?))
}

/// The sizes of a matrix; those of a vector with a size of 1 where `[1, -1]` or `[-1, 1]` has it.
fn as_matrix(sizes: &[i64], vector: [i64; 2]) -> Option<Vec<i64>> {
    match sizes {
        [] => None,
        [size] => Some(vector.map(|n| if n == 1 { 1 } else { *size }).to_vec()),
        _ => Some(sizes.to_vec()),
    }
}

/// The elements of a tensor of floats.
fn floats(x: &Constant) -> Option<Vec<f64>> {
    let elements = encode::decode(x.dtype, x.bytes())?;
    elements.into_iter().map(|element| if let Scalar::Float(v) = element { Some(v) } else { None }).collect()
}
