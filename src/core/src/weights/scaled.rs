//! A weight multiplied by a factor per index of one axis when it is written: the result of folding a normalization into
//! the previous operator.

use std::sync::Arc;

use super::{Storage, Weight};
use crate::dtype::Dtype;

/// A weight and its factors.
#[derive(Debug)]
pub struct Scaled {
    source: Arc<Weight>,
    factors: Arc<[f64]>,
    axis: usize,
    /// The number of consecutive elements that share a factor.
    run: usize,
}

impl Scaled {
    /// Scales a float weight with a factor per index of `axis`; None if these do not match.
    pub fn of(source: &Arc<Weight>, axis: usize, factors: Arc<[f64]>) -> Option<Weight> {
        if !matches!(source.dtype, Dtype::Float32 | Dtype::Float64) || factors.is_empty() {
            return None;
        }
        let size = usize::try_from(*source.sizes.get(axis)?).ok()?;
        let inner = source.sizes.get(axis + 1..)?;
        let run = inner.iter().try_fold(1usize, |n, size| n.checked_mul(usize::try_from(*size).ok()?))?;
        if size != factors.len() || run == 0 {
            return None;
        }
        let scaled = Scaled { source: Arc::clone(source), factors, axis, run };
        Some(Weight {
            name: source.name.clone(),
            dtype: source.dtype,
            sizes: source.sizes.clone(),
            strides: super::row_major(&source.sizes),
            offset: 0,
            storage: Storage::Scaled(Arc::new(scaled)),
        })
    }

    /// The scaled weight with its dimensions in another order.
    pub(super) fn transposed(&self, perm: &[i64]) -> Option<Weight> {
        let axis = perm.iter().position(|axis| usize::try_from(*axis) == Ok(self.axis))?;
        Scaled::of(&Arc::new(self.source.transposed(Some(perm))?), axis, Arc::clone(&self.factors))
    }

    /// The weight that is scaled.
    pub fn source(&self) -> &Weight {
        &self.source
    }

    /// Scales elements in place; `first` is the row-major position of the first one.
    pub fn apply(&self, first: usize, bytes: &mut [u8]) {
        let width = if self.source.dtype == Dtype::Float64 { 8 } else { 4 };
        let mut position = first;
        let mut rest = bytes;
        while !rest.is_empty() {
            let row = position / self.run;
            let factor = self.factors.get(row % self.factors.len()).copied().unwrap_or(1.0);
            let count = ((row + 1) * self.run - position) * width;
            let (now, later) = rest.split_at_mut(count.min(rest.len()));
            match width {
                8 => scale::<8>(now, |bytes| (f64::from_le_bytes(bytes) * factor).to_le_bytes()),
                _ => scale::<4>(now, |bytes| ((f64::from(f32::from_le_bytes(bytes)) * factor) as f32).to_le_bytes()),
            }
            position += now.len() / width;
            rest = later;
            if position / self.run == row {
                return; // less than an element is left
            }
        }
    }
}

fn scale<const WIDTH: usize>(bytes: &mut [u8], f: impl Fn([u8; WIDTH]) -> [u8; WIDTH]) {
    for element in bytes.as_chunks_mut::<WIDTH>().0 {
        *element = f(*element);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn weight(sizes: &[i64]) -> Arc<Weight> {
        let count: i64 = sizes.iter().product();
        let bytes: Vec<u8> = (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let (sizes, strides) = (sizes.to_vec(), super::super::row_major(sizes));
        let storage = Storage::Owned(bytes.into());
        Arc::new(Weight { name: "w".into(), dtype: Dtype::Float32, sizes, strides, offset: 0, storage })
    }

    #[test]
    fn each_index_of_the_axis_has_its_factor() {
        let weight = weight(&[2, 3, 2]);
        let scaled = Scaled::of(&weight, 1, Arc::new([10.0, 0.5, -1.0])).unwrap();
        let Storage::Scaled(scaled) = &scaled.storage else { unreachable!() };
        let mut bytes = weight.storage.bytes()[3 * 4..].to_vec();
        scaled.apply(3, &mut bytes);
        let floats: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!(floats, [1.5, -4.0, -5.0, 60.0, 70.0, 4.0, 4.5, -10.0, -11.0]);
    }

    #[test]
    fn a_scaled_weight_is_transposed() {
        let scaled = Scaled::of(&weight(&[2, 3]), 0, Arc::new([10.0, -1.0])).unwrap();
        let turned = scaled.transposed(Some(&[1, 0])).unwrap();
        let bytes = super::super::payload::tests::written(&turned);
        let floats: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!((turned.sizes.as_slice(), floats), (&[3, 2][..], vec![0.0, -3.0, 10.0, -4.0, 20.0, -5.0]));
    }

    #[test]
    fn factors_that_do_not_fit_are_refused() {
        assert!(Scaled::of(&weight(&[2, 3]), 0, Arc::new([1.0; 3])).is_none());
        assert!(Scaled::of(&weight(&[2, 3]), 2, Arc::new([1.0; 3])).is_none());
        assert!(Scaled::of(&weight(&[2, 0]), 0, Arc::new([1.0; 2])).is_none());
    }
}
