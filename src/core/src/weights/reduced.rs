//! Sums and norms of the elements of a weight over some axes, in double precision. The elements are read in chunks: memory use does not grow
//! with the weight.

use super::payload::{Payload, Sink};
use super::{Storage, Weight};
use crate::dtype::Dtype;
use crate::error::Result;

/// What is computed of the elements over some axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The sum of the sizes.
    SumOfSizes,
    /// The sum of the squares.
    SumOfSquares,
    /// The largest element.
    Most,
    /// The smallest element.
    Least,
}

impl Weight {
    /// The results over these axes, in the order of the other axes. None if the elements are not floats, or cannot be read.
    pub fn reduced(&self, axes: &[usize], reduction: Reduction) -> Option<Vec<f64>> {
        if !matches!(self.dtype, Dtype::Float32 | Dtype::Float64) || matches!(self.storage, Storage::Absent(_)) {
            return None;
        }
        let sizes: Vec<usize> = self.sizes.iter().map(|size| usize::try_from(*size).ok()).collect::<Option<_>>()?;
        let mut steps = vec![0; sizes.len()];
        let mut count = 1usize;
        for (i, size) in sizes.iter().enumerate().rev().filter(|(i, _)| !axes.contains(i)) {
            *steps.get_mut(i)? = count;
            count = count.checked_mul(*size)?;
        }
        let start = match reduction {
            Reduction::Most => f64::NEG_INFINITY,
            Reduction::Least => f64::INFINITY,
            _ => 0.0,
        };
        let mut sink = Reducing {
            places: vec![0; sizes.len()],
            sizes,
            steps,
            at: 0,
            results: vec![start; count],
            reduction,
            of: self.dtype,
        };
        Payload::new(self).ok()?.write(&mut sink).ok()?;
        Some(sink.results)
    }
}

/// Receives whole elements in row-major order.
struct Reducing {
    sizes: Vec<usize>,
    /// How far a step along each axis moves in the results.
    steps: Vec<usize>,
    /// The place of the next element.
    places: Vec<usize>,
    /// The result that the next element goes into.
    at: usize,
    results: Vec<f64>,
    reduction: Reduction,
    of: Dtype,
}

impl Reducing {
    fn take(&mut self, element: f64) {
        if let Some(result) = self.results.get_mut(self.at) {
            *result = match self.reduction {
                Reduction::Sum => *result + element,
                Reduction::SumOfSizes => *result + element.abs(),
                Reduction::SumOfSquares => element.mul_add(element, *result),
                Reduction::Most if element.is_nan() || element > *result => element,
                Reduction::Least if element.is_nan() || element < *result => element,
                Reduction::Most | Reduction::Least => *result,
            };
        }
        for ((place, size), step) in self.places.iter_mut().zip(&self.sizes).zip(&self.steps).rev() {
            *place += 1;
            self.at += step;
            if *place < *size {
                return;
            }
            *place = 0;
            self.at -= step * size;
        }
    }
}

impl Sink for Reducing {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        match self.of {
            Dtype::Float64 => {
                bytes.as_chunks::<8>().0.iter().for_each(|element| self.take(f64::from_le_bytes(*element)))
            }
            _ => bytes.as_chunks::<4>().0.iter().for_each(|element| self.take(f32::from_le_bytes(*element).into())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn weight(sizes: &[i64], strides: &[i64]) -> Weight {
        let count: i64 = sizes.iter().product();
        let bytes: Vec<u8> = (0..count).flat_map(|i| (i as f32 - 2.0).to_le_bytes()).collect();
        let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
        Weight {
            name: "w".into(),
            dtype: Dtype::Float32,
            sizes,
            strides,
            offset: 0,
            storage: Storage::Owned(bytes.into()),
        }
    }

    #[test]
    fn each_kind_over_each_axis() {
        // [[-2, -1, 0], [1, 2, 3]]
        let w = weight(&[2, 3], &[3, 1]);
        assert_eq!(w.reduced(&[1], Reduction::Sum).unwrap(), [-3.0, 6.0]);
        assert_eq!(w.reduced(&[0], Reduction::SumOfSquares).unwrap(), [5.0, 5.0, 9.0]);
        assert_eq!(w.reduced(&[0, 1], Reduction::SumOfSizes).unwrap(), [9.0]);
        assert_eq!(w.reduced(&[0], Reduction::Most).unwrap(), [1.0, 2.0, 3.0]);
        assert_eq!(w.reduced(&[1], Reduction::Least).unwrap(), [-2.0, 1.0]);
        assert_eq!(w.reduced(&[], Reduction::Sum).unwrap().len(), 6);
        // [[-2, 0, 2], [-1, 1, 3]]
        assert_eq!(weight(&[2, 3], &[1, 2]).reduced(&[1], Reduction::Sum).unwrap(), [0.0, 3.0]);
    }

    #[test]
    fn elements_over_several_chunks_are_counted_once() {
        let n = 200_000;
        let w = weight(&[3, n], &[n, 1]);
        let wanted: Vec<f64> = (0..3).map(|r| (0..n).map(|c| ((r * n + c) as f32 - 2.0) as f64).sum()).collect();
        assert_eq!(w.reduced(&[1], Reduction::Sum).unwrap(), wanted);
    }

    #[test]
    fn what_is_not_a_float_is_not_reduced() {
        let mut w = weight(&[2, 3], &[3, 1]);
        w.dtype = Dtype::Int32;
        assert!(w.reduced(&[1], Reduction::Sum).is_none());
    }
}
