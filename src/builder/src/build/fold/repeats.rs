//! What is stored several times over: constants that were expanded.

use aten2onnx_onnx::graph::{Constant, Value};

use crate::build::Builder;

impl Builder {
    /// A stored value with 1 in place of each dimension along which it repeats. It broadcasts to the value. Others are as they are.
    pub fn without_repeats(&mut self, value: Value) -> Value {
        let Some(stored) = self.stored(value) else { return value };
        let axes = 0..stored.sizes.len();
        let narrow = axes.fold(stored.clone(), |constant, axis| without(&constant, axis).unwrap_or(constant));
        if narrow == stored {
            return value;
        }
        let follows_weight = self.follows_weight(value);
        let narrow = self.intern(narrow);
        if follows_weight {
            self.mark_of_weight(narrow);
        }
        narrow
    }
}

/// The first slice of a dimension, if all are equal to it.
fn without(x: &Constant, axis: usize) -> Option<Constant> {
    let count = usize::try_from(*x.sizes.get(axis)?).ok().filter(|count| *count > 1)?;
    let width = usize::try_from(x.dtype.bits() / 8).ok()?;
    let inner =
        x.sizes.get(axis + 1..)?.iter().try_fold(width, |n, size| n.checked_mul(usize::try_from(*size).ok()?))?;
    let rows = x.bytes().chunks_exact(inner.checked_mul(count).filter(|row| *row > 0)?);
    let mut bytes = Vec::with_capacity(x.bytes().len() / count);
    for row in rows {
        let first = row.get(..inner)?;
        if row.chunks_exact(inner).any(|slice| slice != first) {
            return None;
        }
        bytes.extend_from_slice(first);
    }
    let mut sizes = x.sizes.clone();
    *sizes.get_mut(axis)? = 1;
    Some(Constant::new(x.dtype, sizes, bytes)).filter(Constant::is_consistent)
}
