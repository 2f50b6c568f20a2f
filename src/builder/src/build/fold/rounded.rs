//! Constant folding of functions that runtimes round in their own ways: they are computed in float64.

use super::{layout, numbers};
use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_onnx::graph::{Constant, Type};

/// The largest number of multiplications of a product.
const MOST: usize = 1 << 26;

/// The result of an operator. None if it is not one of these, or if it is NaN.
pub(super) fn evaluate(op: &str, inputs: &[Constant], ty: &Type) -> Option<Constant> {
    match (op, inputs) {
        ("Pow", [a, b]) => power(a, b, ty),
        ("MatMul", [a, b]) => product(a, b, ty),
        (_, [x]) => function(op, x),
        _ => None,
    }
}

/// A function of each element.
fn function(op: &str, x: &Constant) -> Option<Constant> {
    let f: fn(f64) -> f64 = match op {
        "Cos" => f64::cos,
        "Sin" => f64::sin,
        "Exp" => f64::exp,
        "Log" => f64::ln,
        "Tanh" => f64::tanh,
        "Sigmoid" => |v| 1.0 / (1.0 + (-v).exp()),
        // NaN stays NaN.
        "Relu" => |v| if v < 0.0 { 0.0 } else { v },
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

/// The product of stacks of matrices.
fn product(a: &Constant, b: &Constant, ty: &Type) -> Option<Constant> {
    let sizes = ty.known_sizes()?;
    let ([stack_a @ .., rows, depth], [stack_b @ .., _, columns]) = (&a.sizes[..], &b.sizes[..]) else { return None };
    let (stack, _) = sizes.split_last_chunk::<2>()?;
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

/// The elements of a tensor of floats.
fn floats(x: &Constant) -> Option<Vec<f64>> {
    let elements = encode::decode(x.dtype, x.bytes())?;
    elements.into_iter().map(|element| if let Scalar::Float(v) = element { Some(v) } else { None }).collect()
}
