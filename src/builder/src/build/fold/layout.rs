//! Constant folding of operators that move elements: computes the source index of each element of the result.

use super::permutation;
use crate::build::Scalar;
use crate::build::values::encode;
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_onnx::graph::{Attr, Constant};

/// The largest number of elements of a result.
const MAX_ELEMENTS: usize = 1 << 22;

/// The elements at these positions, in order.
fn pick(x: &Constant, positions: impl Iterator<Item = usize>) -> Option<Vec<u8>> {
    let width = usize::try_from(x.dtype.bits() / 8).ok().filter(|w| *w > 0)?;
    let mut bytes = Vec::new();
    for position in positions {
        let start = position.checked_mul(width)?;
        bytes.extend_from_slice(x.bytes().get(start..start.checked_add(width)?)?);
    }
    Some(bytes)
}

fn sizes(x: &Constant) -> Option<Vec<usize>> {
    x.sizes.iter().map(|n| usize::try_from(*n).ok()).collect()
}

/// The product, unless it is too large: a tensor without elements may have any other sizes.
fn product(sizes: &[usize]) -> Option<usize> {
    sizes.iter().try_fold(1usize, |so_far, size| so_far.checked_mul(*size))
}

fn strides(sizes: &[usize]) -> Option<Vec<i64>> {
    let mut strides = vec![1i64; sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = strides[i].checked_mul(i64::try_from(sizes[i].max(1)).ok()?)?;
    }
    Some(strides)
}

/// The positions visited in row-major order over `sizes` with these strides.
fn strided_positions(sizes: &[usize], strides: &[i64], start: i64) -> Option<Vec<usize>> {
    let mut positions = vec![start];
    for (size, stride) in sizes.iter().zip(strides) {
        let count = positions.len().checked_mul(*size).filter(|n| *n <= MAX_ELEMENTS)?;
        let mut next = Vec::with_capacity(count);
        for position in positions {
            for i in 0..*size {
                next.push(position + i as i64 * stride);
            }
        }
        positions = next;
    }
    positions.into_iter().map(|p| usize::try_from(p).ok()).collect()
}

/// For each element of the result, the index of its source in a tensor of sizes `from`.
pub(crate) fn broadcast(from: &[i64], to: &[i64]) -> Option<Vec<usize>> {
    let to: Vec<usize> = to.iter().map(|n| usize::try_from(*n).ok()).collect::<Option<_>>()?;
    let from: Vec<usize> = from.iter().map(|n| usize::try_from(*n).ok()).collect::<Option<_>>()?;
    let added = to.len().checked_sub(from.len())?;
    let mut steps = vec![0i64; added];
    for ((size, stride), wanted) in from.iter().zip(strides(&from)?).zip(to.get(added..)?) {
        steps.push(match size {
            1 => 0,
            n if n == wanted => stride,
            _ => return None,
        });
    }
    strided_positions(&to, &steps, 0)
}

pub(crate) fn expand(x: &Constant, to: &[i64]) -> Option<Vec<u8>> {
    pick(x, broadcast(&x.sizes, to)?.into_iter())
}

pub(crate) fn transpose(x: &Constant, perm: Option<&Attr>) -> Option<Vec<u8>> {
    pick(x, permuted_positions(x, &permutation(perm, x.sizes.len())?)?.into_iter())
}

/// The positions of the elements with the dimensions in another order.
pub(crate) fn permuted_positions(x: &Constant, perm: &[usize]) -> Option<Vec<usize>> {
    let sizes = sizes(x)?;
    let strides = strides(&sizes)?;
    let permuted: Vec<usize> = perm.iter().map(|axis| sizes.get(*axis).copied()).collect::<Option<_>>()?;
    let steps: Vec<i64> = perm.iter().map(|axis| strides.get(*axis).copied()).collect::<Option<_>>()?;
    strided_positions(&permuted, &steps, 0)
}

pub(crate) fn concat(inputs: &[&Constant], axis: i64) -> Option<Vec<u8>> {
    let first = inputs.first()?;
    let axis = counted_from_start(axis, first.sizes.len())?;
    let outer = product(sizes(first)?.get(..axis)?)?;
    let mut bytes = Vec::new();
    if inputs.iter().all(|input| input.bytes().is_empty()) {
        return Some(bytes);
    }
    for row in 0..outer {
        for input in inputs {
            let width = usize::try_from(input.dtype.bits() / 8).ok().filter(|w| *w > 0)?;
            let inner = product(sizes(input)?.get(axis..)?)?.checked_mul(width)?;
            bytes.extend_from_slice(input.bytes().get(row * inner..(row + 1) * inner)?);
        }
    }
    Some(bytes)
}

pub(crate) fn gather(x: &Constant, indices: &Constant, axis: i64) -> Option<Vec<u8>> {
    let sizes = sizes(x)?;
    let axis = counted_from_start(axis, sizes.len())?;
    let indices = encode::decode(indices.dtype, indices.bytes())?;
    let indices: Vec<usize> =
        indices.iter().map(|i| counted_from_start(i.as_int()?, *sizes.get(axis)?)).collect::<Option<_>>()?;
    if x.bytes().is_empty() {
        return Some(Vec::new());
    }
    let outer = product(sizes.get(..axis)?)?;
    let inner = product(sizes.get(axis + 1..)?)?;
    let row = sizes.get(axis)?.checked_mul(inner)?;
    let positions =
        (0..outer).flat_map(|o| indices.iter().flat_map(move |i| (0..inner).map(move |k| o * row + i * inner + k)));
    pick(x, positions)
}

/// `bounds` are starts, ends and optionally axes and steps; `result` is the sizes of the result.
pub(crate) fn slice(x: &Constant, bounds: &[&Constant], result: &[i64]) -> Option<Vec<u8>> {
    let list = |i: usize| -> Option<Option<Vec<i64>>> {
        let Some(constant) = bounds.get(i) else { return Some(None) };
        let numbers = encode::decode(constant.dtype, constant.bytes())?;
        Some(Some(numbers.iter().map(Scalar::as_int).collect::<Option<_>>()?))
    };
    let starts = list(0)??;
    let axes = list(2)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let by = list(3)?.unwrap_or_else(|| vec![1; starts.len()]);
    let sizes = sizes(x)?;
    let mut steps = strides(&sizes)?;
    let mut start = 0i64;
    for ((first, axis), step) in starts.iter().zip(&axes).zip(&by) {
        let axis = counted_from_start(*axis, sizes.len())?;
        let size = *sizes.get(axis)? as i64;
        let last = if *step < 0 { size - 1 } else { size };
        let first = if *first < 0 { first.checked_add(size)? } else { *first }.clamp(0, last.max(0));
        let stride = steps.get_mut(axis)?;
        start = start.checked_add(first.checked_mul(*stride)?)?;
        *stride = stride.checked_mul(*step)?;
    }
    let result: Vec<usize> = result.iter().map(|n| usize::try_from(*n).ok()).collect::<Option<_>>()?;
    if result.contains(&0) {
        return Some(Vec::new());
    }
    pick(x, strided_positions(&result, &steps, start)?.into_iter())
}
