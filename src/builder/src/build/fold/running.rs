//! Constant folding of running sums.

use super::{layout, numbers};
use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::Constant;

/// CumSum of integers, and of floats that are whole numbers, which no order of additions rounds.
pub(crate) fn sums(x: &Constant, axis: &Constant, exclusive: bool, reverse: bool) -> Option<Vec<u8>> {
    let elements = encode::decode(x.dtype, x.bytes())?;
    let [Scalar::Int(axis)] = encode::decode(axis.dtype, axis.bytes())?[..] else { return None };
    let axis = counted_from_start(axis, x.sizes.len())?;
    // The positions of one line after the other.
    let mut order: Vec<usize> = (0..x.sizes.len()).filter(|dim| *dim != axis).collect();
    order.push(axis);
    let positions = layout::permuted_positions(x, &order)?;
    let mut results: Vec<Option<Scalar>> = vec![None; elements.len()];
    for line in positions.chunks(usize::try_from(*x.sizes.get(axis)?).ok()?.max(1)) {
        let mut line = line.to_vec();
        if reverse {
            line.reverse();
        }
        let mut sum = if x.dtype.is_float() { Scalar::Float(0.0) } else { Scalar::Int(0) };
        for place in line {
            let after = added(&sum, elements.get(place)?, x.dtype)?;
            *results.get_mut(place)? = Some(if exclusive { sum } else { after.clone() });
            sum = after;
        }
    }
    numbers::encoded(results, x.dtype)
}

/// None on overflow, for fractions, and for sums that a float of the dtype does not hold.
fn added(a: &Scalar, b: &Scalar, dtype: Dtype) -> Option<Scalar> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(Scalar::Int(a.checked_add(*b)?)),
        (Scalar::Float(a), Scalar::Float(b)) => {
            let exact = match dtype {
                Dtype::Float64 => 2f64.powi(53),
                Dtype::Float32 => 2f64.powi(24),
                Dtype::Float16 => 2f64.powi(11),
                _ => return None,
            };
            let sum = a + b;
            let is_whole = b.fract() == 0.0 && !(*b == 0.0 && b.is_sign_negative());
            (is_whole && sum.abs() <= exact && b.abs() <= exact).then_some(Scalar::Float(sum))
        }
        _ => None,
    }
}
