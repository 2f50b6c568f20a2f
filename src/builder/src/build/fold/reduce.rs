//! Constant folding of reductions whose results do not depend on the order.

use super::{layout, numbers};
use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_onnx::graph::{Attr, Constant};
use aten2onnx_onnx::schema::Function;

/// ReduceMax or ReduceMin, or ReduceSum of integers. `axes` are an input or an attribute.
pub(crate) fn reduce(
    function: Function,
    x: &Constant,
    axes: Option<&Constant>,
    attr: Option<&Attr>,
    all: bool,
) -> Option<Vec<u8>> {
    let axes = match (axes, attr) {
        (Some(axes), _) => {
            encode::decode(axes.dtype, axes.bytes())?.iter().map(Scalar::as_int).collect::<Option<_>>()?
        }
        (None, Some(Attr::Ints(axes))) => axes.clone(),
        _ => Vec::new(),
    };
    let mut kept = x.sizes.clone();
    if axes.is_empty() && all {
        kept.fill(1);
    }
    for axis in &axes {
        *kept.get_mut(counted_from_start(*axis, x.sizes.len())?)? = 1;
    }
    let places = layout::broadcast(&kept, &x.sizes)?;
    let count = kept.iter().try_fold(1i64, |count, size| count.checked_mul(*size))?;
    let mut results: Vec<Option<Scalar>> = vec![None; usize::try_from(count).ok()?];
    for (number, place) in encode::decode(x.dtype, x.bytes())?.into_iter().zip(places) {
        let slot = results.get_mut(place)?;
        *slot = Some(match slot.take() {
            Some(before) => joined(function, &before, &number)?,
            None => number,
        });
    }
    numbers::encoded(results, x.dtype)
}

/// None for NaN, for zeros of both signs and on overflow, which runtimes handle differently.
fn joined(function: Function, a: &Scalar, b: &Scalar) -> Option<Scalar> {
    match (function, a, b) {
        (Function::Max, Scalar::Int(a), Scalar::Int(b)) => Some(Scalar::Int(*a.max(b))),
        (Function::Min, Scalar::Int(a), Scalar::Int(b)) => Some(Scalar::Int(*a.min(b))),
        (Function::Add, Scalar::Int(a), Scalar::Int(b)) => Some(Scalar::Int(a.checked_add(*b)?)),
        (Function::Max | Function::Min, Scalar::Float(a), Scalar::Float(b)) => {
            let order = a.partial_cmp(b)?;
            if order.is_eq() && a.is_sign_negative() != b.is_sign_negative() {
                return None;
            }
            let first = if function == Function::Max { order.is_ge() } else { order.is_le() };
            Some(Scalar::Float(if first { *a } else { *b }))
        }
        _ => None,
    }
}
