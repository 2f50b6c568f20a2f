//! Views of a weight's elements with other sizes and strides.

use std::sync::Arc;

use super::{Storage, View, Weight, row_major};

impl Weight {
    /// The same elements in another shape; None if they are not contiguous.
    pub fn reshaped(&self, sizes: &[i64]) -> Option<Weight> {
        if self.sizes == sizes {
            return Some(self.clone());
        }
        let count = |sizes: &[i64]| sizes.iter().try_fold(1i64, |n, size| n.checked_mul(*size));
        if !self.is_contiguous() || count(sizes)? != count(&self.sizes)? {
            return None;
        }
        let strides = row_major(sizes);
        Some(Weight { sizes: sizes.to_vec(), strides, ..self.clone() })
    }

    /// The elements from `start` on along an axis; None if there are not as many, or if elements have no strides.
    pub fn part(&self, axis: usize, start: i64, len: i64) -> Option<Weight> {
        let (size, stride) = (*self.sizes.get(axis)?, *self.strides.get(axis)?);
        let is_inside = start >= 0 && len >= 0 && start.checked_add(len)? <= size;
        if !is_inside || self.dtype.bits() < 8 || self.storage.is_computed() {
            return None;
        }
        let mut part = self.clone();
        *part.sizes.get_mut(axis)? = len;
        part.offset = self.offset.checked_add(start.checked_mul(stride)?)?;
        Some(part)
    }

    /// The dimensions in another order; reversed if none is given.
    pub fn transposed(&self, perm: Option<&[i64]>) -> Option<Weight> {
        let reversed: Vec<i64> = (0..self.sizes.len() as i64).rev().collect();
        // Elements smaller than a byte have no strides, and computed elements come in order.
        let is_fixed = self.storage.is_computed() && !matches!(self.storage, Storage::Quantized(_));
        let can = self.dtype.bits() >= 8 && !is_fixed;
        let perm = perm.unwrap_or(&reversed);
        let moved = |list: &[i64]| -> Option<Vec<i64>> {
            perm.iter().map(|axis| list.get(usize::try_from(*axis).ok()?).copied()).collect()
        };
        let (sizes, strides) = (moved(&self.sizes)?, moved(&self.strides)?);
        if let Storage::Scaled(scaled) = &self.storage
            && scaled.source().sizes == self.sizes
        {
            return scaled.transposed(perm);
        }
        if let Storage::Computed(computed) = &self.storage {
            let view = View { sizes: sizes.clone(), strides, offset: 0 };
            let (strides, storage) = (row_major(&sizes), Storage::Computed(Arc::new(computed.viewed(view))));
            return Some(Weight { sizes, strides, storage, ..self.clone() });
        }
        can.then(|| Weight { sizes, strides, ..self.clone() })
    }
}
