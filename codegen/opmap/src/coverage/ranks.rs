//! The ranks of results of ONNX operators, as far as a rank follows from those of the inputs.

use super::call::AbstractCall;
use super::values::{Abs, Ranks};
use aten2onnx_operators::Shape;

/// The ranks of the first result.
pub(super) fn output_ranks(call: &AbstractCall<'_>, shape: Shape) -> Ranks {
    let rank = |i: usize| call.tensor(i).map_or(Ranks::ALL, |tensor| tensor.ranks);
    match shape {
        Shape::Broadcast if !call.inputs.is_empty() => {
            let all = (0..call.inputs.len()).map(rank);
            all.reduce(Ranks::broadcast).unwrap_or(Ranks::ALL)
        }
        // Without an axis the result is a vector.
        Shape::Compress => match call.attr("axis") {
            None => Ranks::one(1),
            Some(Abs::Optional(axis)) if axis.absent => rank(0).or(Ranks::one(1)),
            Some(_) => rank(0),
        },
        shape if shape.keeps_rank() => rank(0),
        Shape::Second => rank(1),
        Shape::OfShape | Shape::Range => Ranks::one(1),
        Shape::Size | Shape::Single => Ranks::one(0),
        Shape::NonZero | Shape::Flatten => Ranks::one(2),
        Shape::Unsqueeze => match length_of(call, 1) {
            Some((low, high)) => rank(0).plus(low, high),
            None => Ranks::ALL,
        },
        Shape::Squeeze => match length_of(call, 1) {
            Some((low, high)) => rank(0).plus(-high, -low),
            None => Ranks::ALL,
        },
        Shape::Reshape => length_of(call, 1).map_or(Ranks::ALL, |(low, high)| Ranks::between(low, high)),
        Shape::Expand => {
            length_of(call, 1).map_or(Ranks::ALL, |(low, high)| rank(0).broadcast(Ranks::between(low, high)))
        }
        Shape::ConstantOfShape => length_of(call, 0).map_or(Ranks::ALL, |(low, high)| Ranks::between(low, high)),
        _ => Ranks::ALL,
    }
}

/// The bounds of the length of a list that is given for an input.
fn length_of(call: &AbstractCall<'_>, i: usize) -> Option<(i64, i64)> {
    match call.tensor(i)?.elements.as_deref()? {
        Abs::List(list) => Some((i64::from(list.least), i64::from(list.most))),
        _ => None,
    }
}
