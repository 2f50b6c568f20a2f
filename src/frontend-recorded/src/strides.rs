//! Strides of tensors with symbolic sizes, where they follow from the order of the axes in memory.

use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;
use aten2onnx_program::TensorMeta;

/// The type of a weight.
pub fn of_weight(weight: &Weight) -> TensorMeta {
    let sizes = |sizes: &[i64]| sizes.iter().copied().map(SymInt::from).collect();
    TensorMeta {
        dtype: weight.dtype,
        sizes: sizes(&weight.sizes),
        strides: sizes(&weight.strides),
        storage_offset: SymInt::from(weight.offset),
    }
}

/// The strides and the offset of a tensor that had a recorded type and gets these sizes: those of the run if the sizes are those of the run, and products of
/// sizes if the elements are dense in memory. Otherwise none are known.
pub fn of_sizes(recorded: &TensorMeta, sizes: &[SymInt]) -> (Vec<SymInt>, SymInt) {
    if recorded.sizes == sizes {
        return (recorded.strides.clone(), recorded.storage_offset.clone());
    }
    let is_first = recorded.storage_offset == 0;
    dense(recorded, sizes).filter(|_| is_first).map_or_else(Default::default, |strides| (strides, SymInt::from(0)))
}

fn dense(recorded: &TensorMeta, sizes: &[SymInt]) -> Option<Vec<SymInt>> {
    let known = |numbers: &[SymInt]| numbers.iter().map(SymInt::known).collect::<Option<Vec<i64>>>();
    let (known_sizes, known_strides) = (known(&recorded.sizes)?, known(&recorded.strides)?);
    if known_strides.len() != sizes.len() || known_sizes.len() != sizes.len() {
        return None;
    }
    // The innermost axis first; among equal strides the last axis, so that axes of size 1 stay where they are.
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|axis| (known_strides.get(*axis).copied(), std::cmp::Reverse(*axis)));
    let mut strides = vec![SymInt::from(1); sizes.len()];
    let (mut next, mut expected) = (SymInt::from(1), 1_i64);
    for axis in order {
        let (size, stride) = (*known_sizes.get(axis)?, *known_strides.get(axis)?);
        if size != 1 && stride != expected {
            return None;
        }
        *strides.get_mut(axis)? = next.clone();
        expected = expected.checked_mul(size.max(1))?;
        next = next.mul(&sizes.get(axis)?.max(&SymInt::from(1)));
    }
    Some(strides)
}
