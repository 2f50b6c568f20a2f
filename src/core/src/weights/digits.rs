//! Integers that are taken out of the elements of another weight when they are written: shifted, masked, moved by a constant, and
//! packed in fewer bits. So numbers of 4 or 2 bits that a checkpoint stores in int8 or int32 are written as such, without a copy in
//! memory.

use std::sync::Arc;

use super::payload::{CHUNK, Payload, Sink};
use super::{Storage, Weight};
use crate::dtype::Dtype;
use crate::error::{Error, Result};

/// How integers follow from the elements of a weight: `((element >> shift) & mask) + add`.
#[derive(Debug, Clone)]
pub struct Digits {
    source: Weight,
    /// A shift for each index of an axis of the source, which repeats along the inner axes.
    shifts: Vec<u8>,
    /// The number of consecutive elements with the same shift.
    run: usize,
    mask: Option<u64>,
    add: i64,
    to: Dtype,
}

impl Digits {
    /// The elements of a weight of integers of 8 to 64 bits, or those that another weight takes out of one.
    pub fn of(weight: &Weight) -> Option<Digits> {
        if let Storage::Digits(digits) = &weight.storage {
            return Some((**digits).clone());
        }
        let dtype = weight.dtype;
        let can = dtype.is_int()
            && dtype.bits() >= 8
            && dtype != Dtype::Uint64
            && !matches!(weight.storage, Storage::Scaled(_) | Storage::Narrowed(_));
        can.then(|| Digits { source: weight.clone(), shifts: vec![0], run: 1, mask: None, add: 0, to: dtype })
    }

    /// The weight whose elements are used.
    pub fn source(&self) -> &Weight {
        &self.source
    }

    /// The number of integers.
    pub fn count(&self) -> u64 {
        count(&self.source.sizes).unwrap_or(0) as u64
    }

    /// Adds a number.
    pub fn plus(mut self, number: i64) -> Option<Digits> {
        self.add = self.add.checked_add(number)?;
        Some(self)
    }

    /// Takes `mask.count_ones()` bits of each element at each of these positions: the source must have an axis for the positions, with a
    /// stride of 0.
    pub fn bits_at(mut self, axis: usize, shifts: Vec<u8>, mask: u64) -> Option<Digits> {
        let is_plain = self.mask.is_none() && self.add == 0 && self.shifts == [0];
        let fits = usize::try_from(*self.source.sizes.get(axis)?).ok()? == shifts.len();
        if !is_plain || !fits || shifts.iter().any(|shift| u32::from(*shift) >= self.source.dtype.bits()) {
            return None;
        }
        self.run = count(self.source.sizes.get(axis + 1..)?)?.max(1);
        self.shifts = shifts;
        self.mask = Some(mask);
        Some(self)
    }

    /// The smallest and the largest of these integers, unless one lies outside `limits`: then reading stops. None if there are no
    /// elements.
    pub fn range(&self, limits: (i64, i64)) -> Result<Option<(i64, i64)>> {
        if self.mask.is_none() && self.shifts == [0] {
            // Bounds that are known need no reading, which would compute all.
            let moved = |(least, most): (i64, i64)| Some((least.checked_add(self.add)?, most.checked_add(self.add)?));
            let known = match &self.source.storage {
                Storage::Computed(computed) => computed.range(),
                // These are as wide as they are asked to be.
                Storage::Quantized(part) => {
                    let known = part.range().and_then(moved);
                    return Ok(known.filter(|(least, most)| limits.0 <= *least && *most <= limits.1));
                }
                _ => None,
            };
            let known = known.and_then(moved);
            if let Some((least, most)) = known.filter(|(least, most)| limits.0 <= *least && *most <= limits.1) {
                return Ok(Some((least, most)));
            }
        }
        let mut seen = Seen { digits: self, position: 0, limits, range: None, is_outside: false };
        let read = Payload::new(&self.source)?.write(&mut seen);
        if seen.is_outside { Ok(None) } else { read.map(|()| seen.range) }
    }

    /// A weight of these integers in another dtype, which must hold them, and with these sizes; None if the number of elements differs.
    pub fn weight(mut self, to: Dtype, sizes: &[i64]) -> Option<Weight> {
        if !to.is_int() || count(sizes)? != count(&self.source.sizes)? {
            return None;
        }
        self.to = to;
        let (name, strides) = (self.source.name.clone(), super::row_major(sizes));
        let storage = Storage::Digits(Arc::new(self));
        Some(Weight { name, dtype: to, sizes: sizes.to_vec(), strides, offset: 0, storage })
    }

    /// Bytes of these integers, as many in each as fit, from the lowest bits on. They must be unsigned and fit in so many bits.
    pub fn bytes(mut self, bits: u32, sizes: &[i64]) -> Option<Weight> {
        let to = match bits {
            2 => Dtype::Uint2,
            4 => Dtype::Uint4,
            8 => Dtype::Uint8,
            _ => return None,
        };
        if to.bytes(count(&self.source.sizes)? as u64)? != count(sizes)? as u64 {
            return None;
        }
        self.to = to;
        let (name, strides) = (self.source.name.clone(), super::row_major(sizes));
        let storage = Storage::Digits(Arc::new(self));
        Some(Weight { name, dtype: Dtype::Uint8, sizes: sizes.to_vec(), strides, offset: 0, storage })
    }

    /// The integers of a view of the source, which has these sizes before. None if several come from one element.
    pub fn viewed(mut self, sizes: &[i64], view: impl Fn(&Weight) -> Option<Weight>) -> Option<Digits> {
        let source = if self.source.sizes == sizes { self.source.clone() } else { self.source.reshaped(sizes)? };
        self.source = view(&source)?;
        (self.shifts == [0]).then_some(self)
    }

    /// Whether both take the same integers out of the same elements.
    pub(super) fn is_same(&self, other: &Digits) -> Result<bool> {
        let how = |digits: &Digits| (digits.run, digits.mask, digits.add, digits.to);
        let is_alike = how(self) == how(other) && self.shifts == other.shifts;
        Ok(is_alike && Payload::new(&self.source)?.same_place(&Payload::new(&other.source)?))
    }

    /// An upper bound of the bytes of the result.
    pub(super) fn len(&self) -> u64 {
        self.source.byte_len().unwrap_or(0).saturating_mul(8)
    }

    /// Writes the integers, packed.
    pub(super) fn write(&self, sink: &mut dyn Sink) -> Result<()> {
        let mut packing = Packing { digits: self, position: 0, bytes: Vec::new(), last: 0, filled: 0, sink };
        Payload::new(&self.source)?.write(&mut packing)?;
        packing.finish()
    }

    /// Calls a function with each integer among these elements; `first` is the row-major position of the first one.
    fn each(&self, first: usize, bytes: &[u8], mut f: impl FnMut(i64)) {
        if self.mask.is_none() && self.shifts == [0] {
            return integers(self.source.dtype, bytes, |element| f(element.wrapping_add(self.add)));
        }
        let mut position = first;
        integers(self.source.dtype, bytes, |element: i64| {
            let shift = self.shifts.get(position / self.run % self.shifts.len()).copied().unwrap_or(0);
            position += 1;
            let digit = element >> shift;
            f(self.mask.map_or(digit, |mask| digit & mask as i64).wrapping_add(self.add));
        });
    }

    fn width(&self) -> usize {
        (self.source.dtype.bits() / 8).max(1) as usize
    }
}

/// Calls a function with each integer among these elements.
fn integers(of: Dtype, bytes: &[u8], mut next: impl FnMut(i64)) {
    match of {
        Dtype::Int8 => bytes.iter().for_each(|byte| next(i64::from(*byte as i8))),
        Dtype::Uint8 => bytes.iter().for_each(|byte| next(i64::from(*byte))),
        Dtype::Int16 => bytes.as_chunks().0.iter().for_each(|b| next(i16::from_le_bytes(*b).into())),
        Dtype::Uint16 => bytes.as_chunks().0.iter().for_each(|b| next(u16::from_le_bytes(*b).into())),
        Dtype::Int32 => bytes.as_chunks().0.iter().for_each(|b| next(i32::from_le_bytes(*b).into())),
        Dtype::Uint32 => bytes.as_chunks().0.iter().for_each(|b| next(u32::from_le_bytes(*b).into())),
        _ => bytes.as_chunks().0.iter().for_each(|b| next(i64::from_le_bytes(*b))),
    }
}

fn count(sizes: &[i64]) -> Option<usize> {
    sizes.iter().try_fold(1usize, |n, size| n.checked_mul(usize::try_from(*size).ok()?))
}

/// Keeps the smallest and the largest integer.
struct Seen<'a> {
    digits: &'a Digits,
    position: usize,
    limits: (i64, i64),
    range: Option<(i64, i64)>,
    is_outside: bool,
}

impl Sink for Seen<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for chunk in bytes.chunks(CHUNK / 16) {
            let (mut least, mut most) = self.range.unwrap_or((i64::MAX, i64::MIN));
            self.digits.each(self.position, chunk, |digit| (least, most) = (least.min(digit), most.max(digit)));
            self.position += chunk.len() / self.digits.width();
            if least <= most {
                self.range = Some((least, most));
            }
            if least < self.limits.0 || most > self.limits.1 {
                self.is_outside = true;
                return Err(Error::internal("the rest of the weight is not read"));
            }
        }
        Ok(())
    }
}

/// Packs integers while they are written; it receives whole elements.
struct Packing<'a> {
    digits: &'a Digits,
    position: usize,
    bytes: Vec<u8>,
    /// The bits of an unfinished byte, and their number.
    last: u8,
    filled: u32,
    sink: &'a mut dyn Sink,
}

impl Sink for Packing<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for chunk in bytes.chunks(CHUNK / 8) {
            let (digits, bits) = (self.digits, self.digits.to.bits());
            let (mut last, mut filled) = (self.last, self.filled);
            let out = &mut self.bytes;
            match bits {
                2 | 4 => digits.each(self.position, chunk, |digit| {
                    last |= ((digit as u8) & ((1 << bits) - 1)) << filled;
                    filled += bits;
                    if filled == 8 {
                        out.push(std::mem::take(&mut last));
                        filled = 0;
                    }
                }),
                8 => digits.each(self.position, chunk, |digit| out.push(digit as u8)),
                _ => digits.each(self.position, chunk, |digit| {
                    out.extend(digit.to_le_bytes().iter().take((bits / 8) as usize));
                }),
            }
            (self.last, self.filled) = (last, filled);
            self.position += chunk.len() / digits.width();
            self.sink.put(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

impl Packing<'_> {
    /// Writes the last byte, if it is not full.
    fn finish(self) -> Result<()> {
        if self.filled > 0 { self.sink.put(&[self.last]) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::payload::tests::written;
    use super::*;

    fn weight(dtype: Dtype, sizes: &[i64], strides: &[i64], bytes: Vec<u8>) -> Weight {
        let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
        Weight { name: "w".into(), dtype, sizes, strides, offset: 0, storage: Storage::Owned(bytes.into()) }
    }

    #[test]
    fn integers_are_packed_from_the_lowest_bits_on() {
        let bytes: Vec<u8> = [-8i8, 7, 0, -1, 3].iter().map(|n| *n as u8).collect();
        let source = weight(Dtype::Int8, &[5], &[1], bytes);
        let digits = Digits::of(&source).unwrap();
        assert_eq!(digits.range((-8, 7)).unwrap(), Some((-8, 7)));
        assert_eq!(digits.range((-4, 7)).unwrap(), None);
        let packed = digits.clone().weight(Dtype::Int4, &[5]).unwrap();
        assert_eq!(written(&packed), [0x78, 0xf0, 0x03]);
        assert_eq!(packed.byte_len(), Some(3));
        let moved = digits.plus(8).unwrap().weight(Dtype::Uint4, &[5]).unwrap();
        assert_eq!(written(&moved), [0xf0, 0x78, 0x0b]);
    }

    #[test]
    fn numbers_of_two_bits_are_packed_over_chunks() {
        let n = CHUNK as i64 + 3;
        let source = weight(Dtype::Uint8, &[n], &[1], (0..n).map(|i| (i % 4) as u8).collect());
        let packed = Digits::of(&source).unwrap().weight(Dtype::Uint2, &[n]).unwrap();
        let bytes = written(&packed);
        assert!(bytes[..bytes.len() - 1].iter().all(|byte| *byte == 0b1110_0100));
        assert_eq!(bytes.last(), Some(&0b0010_0100));
    }

    #[test]
    fn bits_are_taken_from_several_places() {
        // Two numbers in each byte, along a new last axis.
        let source = weight(Dtype::Uint8, &[2, 2], &[1, 0], vec![0x21, 0x43]);
        let digits = Digits::of(&source).unwrap().bits_at(1, vec![0, 4], 15).unwrap();
        assert_eq!(written(&digits.clone().weight(Dtype::Uint8, &[4]).unwrap()), [1, 2, 3, 4]);
        assert_eq!(written(&digits.weight(Dtype::Uint4, &[2, 2]).unwrap()), [0x21, 0x43]);
        // Eight numbers in each negative int32, along a new first axis.
        let source = weight(Dtype::Int32, &[8, 1], &[0, 1], 0xfedc_ba98u32.to_le_bytes().to_vec());
        let digits = Digits::of(&source).unwrap().bits_at(0, (0..8).map(|i| 4 * i).collect(), 15).unwrap();
        assert_eq!(
            written(&digits.weight(Dtype::Int16, &[8]).unwrap()),
            [8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15, 0]
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let source = weight(Dtype::Uint8, &[2, 2], &[2, 1], vec![0; 4]);
        let digits = Digits::of(&source).unwrap();
        assert!(digits.clone().weight(Dtype::Uint4, &[3]).is_none());
        assert!(digits.clone().weight(Dtype::Float32, &[4]).is_none());
        assert!(digits.clone().bits_at(1, vec![0, 4, 8], 15).is_none());
        assert!(digits.bits_at(1, vec![0, 8], 15).is_none());
        assert!(Digits::of(&weight(Dtype::Float32, &[1], &[1], vec![0; 4])).is_none());
        assert!(Digits::of(&weight(Dtype::Int4, &[2], &[1], vec![0; 1])).is_none());
    }
}
