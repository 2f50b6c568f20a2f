//! The memory layout of a tensor, derived from the recorded sizes and strides as far as they are certain.

use aten2onnx_core::sym::SymInt;
use aten2onnx_program::TensorMeta;

/// Whether the elements are contiguous in row-major order. None if unknown.
pub fn is_contiguous(meta: &TensorMeta) -> Option<bool> {
    if meta.sizes.len() != meta.strides.len() {
        return None;
    }
    if meta.sizes.iter().any(|size| *size == 0) {
        return Some(true);
    }
    // PyTorch computes strides as if a size of 0 were 1: both are the same unless there are no elements.
    let (mut expected, mut without_empty) = (SymInt::from(1), SymInt::from(1));
    let mut certain = true;
    for (size, stride) in meta.sizes.iter().zip(&meta.strides).rev() {
        if *size != 1 && *stride != expected && *stride != without_empty {
            // The stride of a dimension of size 1 does not matter.
            if certainly_differ(size, &SymInt::from(1)) && certainly_differ(stride, &expected) {
                return Some(false);
            }
            certain = false;
        }
        expected = expected.mul(size);
        without_empty = without_empty.mul(&size.max(&SymInt::from(1)));
    }
    certain.then_some(true)
}

/// The order of axes in which the elements are contiguous; None if they are not, or if unknown.
pub fn memory_order(meta: &TensorMeta) -> Option<Vec<usize>> {
    if is_contiguous(meta) == Some(true) {
        return Some((0..meta.sizes.len()).collect());
    }
    let order = by_strides(meta)?;
    let permuted = permuted(meta, &order)?;
    (is_contiguous(&permuted) == Some(true)).then_some(order)
}

/// The axes in the order of memory, if each stride is the product of the sizes of the axes inside.
fn by_strides(meta: &TensorMeta) -> Option<Vec<usize>> {
    let (mut expected, mut without_empty) = (SymInt::from(1), SymInt::from(1));
    let mut left: Vec<usize> = (0..meta.sizes.len()).collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_next = |axis: &usize| {
            let (size, stride) = (meta.sizes.get(*axis), meta.strides.get(*axis));
            size.is_some_and(|size| *size == 1)
                || stride.is_some_and(|stride| *stride == expected || *stride == without_empty)
        };
        let axis = left.remove(left.iter().rposition(is_next)?);
        let size = meta.sizes.get(axis)?;
        expected = expected.mul(size);
        without_empty = without_empty.mul(&size.max(&SymInt::from(1)));
        order.insert(0, axis);
    }
    Some(order)
}

/// The same with permuted axes.
pub fn permuted(meta: &TensorMeta, order: &[usize]) -> Option<TensorMeta> {
    let pick = |numbers: &[SymInt]| order.iter().map(|axis| numbers.get(*axis).cloned()).collect::<Option<Vec<_>>>();
    Some(TensorMeta { sizes: pick(&meta.sizes)?, strides: pick(&meta.strides)?, ..meta.clone() })
}

/// Whether all elements certainly have distinct addresses.
pub fn is_injective(meta: &TensorMeta) -> bool {
    if meta.sizes.len() != meta.strides.len() {
        return false; // the strides are unknown
    }
    let numbers = meta.sizes.iter().zip(&meta.strides).map(|(size, stride)| Some((size.known()?, stride.known()?)));
    let Some(mut axes) = numbers.collect::<Option<Vec<(i64, i64)>>>() else {
        return is_contiguous(meta) == Some(true);
    };
    if axes.iter().any(|(size, _)| *size == 0) {
        return true;
    }
    axes.retain(|(size, _)| *size != 1);
    axes.sort_by_key(|(_, stride)| *stride);
    let mut reach = 0_i64;
    for (size, stride) in axes {
        if stride <= reach {
            return false;
        }
        reach = reach.saturating_add(stride.saturating_mul(size - 1));
    }
    true
}

/// Whether a reshape is a view. Torch returns a view if the strides allow it, otherwise a contiguous copy. None if
/// unknown.
pub fn reshape_is_view(from: &TensorMeta, to: &TensorMeta) -> Option<bool> {
    match (is_contiguous(from), is_contiguous(to)) {
        (Some(true), _) | (_, Some(false)) => Some(true),
        // A view of noncontiguous memory would not be contiguous either.
        (Some(false), Some(true)) => Some(false),
        _ => None,
    }
}

/// Whether two sizes or strides certainly differ. A symbol that does not depend on data is at least 2, because torch
/// specializes on 0 and 1.
pub fn certainly_differ(a: &SymInt, b: &SymInt) -> bool {
    let least = |symbol: &str| if symbol.starts_with('s') { 2 } else { 0 };
    let difference = (a - b).substitute_with(&|symbol| Some(SymInt::symbol(symbol) + least(symbol)));
    let is_positive = |n: SymInt| (n - 1).is_nonnegative(&|_| true);
    is_positive(difference.clone()) || is_positive(difference.neg())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aten2onnx_core::dtype::Dtype;

    fn tensor(sizes: &[SymInt], strides: &[SymInt]) -> TensorMeta {
        TensorMeta {
            dtype: Dtype::Float32,
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            storage_offset: SymInt::from(0),
        }
    }

    #[test]
    fn layouts_are_told_where_they_are_certain() {
        let n = |number: i64| SymInt::from(number);
        let s = SymInt::symbol("s0");
        let (u, noise) = (SymInt::symbol("u0"), SymInt::symbol("s0").max(&n(3)));
        assert_eq!(is_contiguous(&tensor(&[n(2), n(3)], &[n(3), n(1)])), Some(true));
        assert_eq!(is_contiguous(&tensor(&[n(2), n(3)], &[n(1), n(2)])), Some(false));
        assert_eq!(is_contiguous(&tensor(&[n(0), n(3)], &[n(1), n(2)])), Some(true));
        assert_eq!(is_contiguous(&tensor(&[n(1), n(3)], &[n(7), n(1)])), Some(true));
        assert_eq!(is_contiguous(&tensor(&[n(4), s.clone()], &[s.clone(), n(1)])), Some(true));
        assert_eq!(is_contiguous(&tensor(&[s.clone(), n(4)], &[n(1), s.clone()])), Some(false));
        assert_eq!(is_contiguous(&tensor(&[u.clone(), n(4)], &[n(1), u.clone()])), None);
        assert_eq!(is_contiguous(&tensor(&[n(4), s.clone()], &[noise, n(1)])), None);
        let half = u.floor_div(&n(2));
        assert_eq!(is_contiguous(&tensor(&[n(4), half.clone()], &[half.max(&n(1)), n(1)])), Some(true));
        let transposed = tensor(&[s.clone(), n(4)], &[n(1), s.clone()]);
        let flat = tensor(&[s.mul(&n(4))], &[n(1)]);
        assert_eq!(reshape_is_view(&transposed, &flat), Some(false));
        assert_eq!(memory_order(&tensor(&[n(2), n(3)], &[n(1), n(2)])), Some(vec![1, 0]));
        assert_eq!(memory_order(&tensor(&[n(2), n(3)], &[n(1), n(4)])), None);
        assert_eq!(memory_order(&transposed), Some(vec![1, 0]));
        assert_eq!(memory_order(&tensor(&[n(3), s.clone(), n(4)], &[n(4), n(12), n(1)])), Some(vec![1, 0, 2]));
        assert_eq!(memory_order(&tensor(&[n(3), s.clone(), n(4)], &[n(4), n(16), n(1)])), None);
        assert!(is_injective(&tensor(&[n(2), n(3)], &[n(1), n(4)])));
        assert!(!is_injective(&tensor(&[n(2), n(3)], &[n(1), n(1)])));
        assert!(!is_injective(&tensor(&[n(2)], &[n(0)])));
        assert!(!is_injective(&tensor(&[n(2), n(3)], &[])));
    }
}
