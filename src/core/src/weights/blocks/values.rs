//! Floats of weights from their bytes, and back.

use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::error::Result;
use crate::weights::{Payload, Sink, Storage, Weight, narrowed_bytes};

/// Appends the floats of whole elements.
pub(super) fn append(bytes: &[u8], of: Dtype, floats: &mut Vec<f32>) {
    match of {
        Dtype::Float16 => floats.extend(bytes.as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32())),
        Dtype::Bfloat16 => floats.extend(bytes.as_chunks::<2>().0.iter().map(|b| bf16::from_le_bytes(*b).to_f32())),
        _ => floats.extend(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b))),
    }
}

impl Weight {
    /// The largest size of an element: infinite or NaN if one is. None if the elements are no floats of at most 32 bits, or cannot be read.
    pub fn largest(&self) -> Option<f32> {
        let is_float = matches!(self.dtype, Dtype::Float32 | Dtype::Float16 | Dtype::Bfloat16);
        if !is_float || matches!(self.storage, Storage::Absent(_)) {
            return None;
        }
        let mut largest = Largest { of: self.dtype, bits: 0, floats: Vec::new() };
        Payload::new(self).ok()?.write(&mut largest).ok()?;
        Some(f32::from_bits(largest.bits))
    }
}

/// Receives whole elements. The bits of sizes are in the order of the sizes, with infinity and then NaN as the largest.
struct Largest {
    of: Dtype,
    bits: u32,
    floats: Vec<f32>,
}

impl Sink for Largest {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.floats.clear();
        append(bytes, self.of, &mut self.floats);
        let sizes = self.floats.iter().map(|float| float.to_bits() & 0x7fff_ffff);
        self.bits = sizes.fold(self.bits, u32::max);
        Ok(())
    }
}

/// The bytes of floats in a dtype that holds them.
pub(super) fn bytes(floats: &[f32], of: Dtype) -> Vec<u8> {
    let wide: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    if of == Dtype::Float32 { wide } else { narrowed_bytes(&wide, of) }
}
