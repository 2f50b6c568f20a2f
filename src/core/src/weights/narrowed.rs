//! Floats in half precision: elements of a float32 weight that are rounded when they are written, and what their largest size is.

use std::sync::Arc;

use half::{bf16, f16};

use super::payload::{CHUNK, Payload, Sink};
use super::{Storage, Weight, row_major};
use crate::dtype::Dtype;
use crate::error::Result;

/// A float32 weight, and the dtype that its elements are rounded to.
#[derive(Debug)]
pub struct Narrowed {
    source: Weight,
    to: Dtype,
}

impl Narrowed {
    /// The weight in float16 or bfloat16: each element is the nearest one, the even one of two. None if it is not float32, or the dtype is another one.
    pub fn of(source: &Weight, to: Dtype) -> Option<Weight> {
        if source.dtype != Dtype::Float32 || !matches!(to, Dtype::Float16 | Dtype::Bfloat16) {
            return None;
        }
        Some(Weight {
            name: source.name.clone(),
            dtype: to,
            sizes: source.sizes.clone(),
            strides: row_major(&source.sizes),
            offset: 0,
            storage: Storage::Narrowed(Arc::new(Narrowed { source: source.clone(), to })),
        })
    }

    /// The weight that is rounded.
    pub fn source(&self) -> &Weight {
        &self.source
    }

    /// Whether both round the same weight to the same dtype.
    pub(super) fn is_same(&self, other: &Narrowed) -> Result<bool> {
        Ok(self.to == other.to && Payload::new(&self.source)?.same_place(&Payload::new(&other.source)?))
    }

    /// Writes the elements.
    pub(super) fn write(&self, sink: &mut dyn Sink) -> Result<()> {
        Payload::new(&self.source)?.write(&mut Narrowing { to: self.to, buffer: Vec::new(), sink })
    }
}

/// The bytes of float32 elements in float16 or bfloat16.
pub fn narrowed_bytes(bytes: &[u8], to: Dtype) -> Vec<u8> {
    let mut narrow = Vec::with_capacity(bytes.len() / 2);
    narrow_into(bytes, to, &mut narrow);
    narrow
}

fn narrow_into(bytes: &[u8], to: Dtype, narrow: &mut Vec<u8>) {
    let elements = bytes.as_chunks::<4>().0.iter().map(|element| f32::from_le_bytes(*element));
    match to {
        Dtype::Bfloat16 => narrow.extend(elements.flat_map(|element| bf16::from_f32(element).to_le_bytes())),
        _ => narrow.extend(elements.flat_map(|element| f16::from_f32(element).to_le_bytes())),
    }
}

/// Rounds elements while they are written; it receives whole elements.
struct Narrowing<'a> {
    to: Dtype,
    buffer: Vec<u8>,
    sink: &'a mut dyn Sink,
}

impl Sink for Narrowing<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            self.buffer.clear();
            narrow_into(chunk, self.to, &mut self.buffer);
            self.sink.put(&self.buffer)?;
        }
        Ok(())
    }
}

/// The largest size of the finite elements of a float32 tensor, from its bytes.
pub fn largest_finite(bytes: &[u8]) -> f32 {
    let elements = bytes.as_chunks::<4>().0.iter().map(|element| f32::from_le_bytes(*element).abs());
    elements.filter(|element| element.is_finite()).fold(0.0, f32::max)
}

impl Weight {
    /// The largest size of the finite elements, if they are float32 and can be read.
    pub fn largest_finite(&self) -> Option<f32> {
        if self.dtype != Dtype::Float32 || matches!(self.storage, Storage::Absent(_)) {
            return None;
        }
        let mut largest = LargestFinite(0.0);
        Payload::new(self).ok()?.write(&mut largest).ok()?;
        Some(largest.0)
    }
}

struct LargestFinite(f32);

impl Sink for LargestFinite {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.0 = self.0.max(largest_finite(bytes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::payload::tests::written;
    use super::*;

    fn weight(elements: &[f32], sizes: &[i64]) -> Weight {
        let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        let storage = Storage::Owned(bytes.into());
        Weight {
            name: "w".into(),
            dtype: Dtype::Float32,
            sizes: sizes.to_vec(),
            strides: row_major(sizes),
            offset: 0,
            storage,
        }
    }

    #[test]
    fn elements_are_the_nearest_ones_in_the_order_of_the_dimensions() {
        let source = weight(&[1.0, 2.0, 3.0, 65519.0, 65520.0, 1.0 + 1.0 / 2048.0], &[2, 3]).transposed(None).unwrap();
        let half = Narrowed::of(&source, Dtype::Float16).unwrap();
        let elements: Vec<f32> =
            written(&half).as_chunks().0.iter().map(|element| f16::from_le_bytes(*element).to_f32()).collect();
        assert_eq!(elements, [1.0, 65504.0, 2.0, f32::INFINITY, 3.0, 1.0]);
        assert_eq!(half.sizes, [3, 2]);
    }

    #[test]
    fn many_elements_are_rounded_in_chunks() {
        let count = CHUNK / 4 + 5;
        let all: Vec<f32> = (0..count).map(|i| (i % 251) as f32 + 1.0 / 512.0).collect();
        let bytes = written(&Narrowed::of(&weight(&all, &[count as i64]), Dtype::Bfloat16).unwrap());
        let expected: Vec<u8> = all.iter().flat_map(|element| bf16::from_f32(*element).to_le_bytes()).collect();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn infinities_are_no_size() {
        assert_eq!(weight(&[f32::NEG_INFINITY, -3.0, f32::NAN, 2.0], &[4]).largest_finite(), Some(3.0));
        assert_eq!(weight(&[], &[0]).largest_finite(), Some(0.0));
    }

    #[test]
    fn other_dtypes_are_not_rounded() {
        let source = Weight { dtype: Dtype::Int32, ..weight(&[1.0], &[1]) };
        assert!(Narrowed::of(&source, Dtype::Float16).is_none());
        assert!(Narrowed::of(&weight(&[1.0], &[1]), Dtype::Float64).is_none());
    }
}
