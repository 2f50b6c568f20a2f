//! The bytes of a weight as ONNX lays them out: row-major, packed, little-endian.
//!
//! A contiguous weight is a slice of the mapped archive and is never copied. Others are gathered through a buffer of
//! bounded size. Nothing is read before [`Payload::write`].

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::weights::{Storage, Weight};

/// The most that a sink gets at once.
pub const CHUNK: usize = 4 << 20;

/// A weight whose extent has been checked against its storage.
#[derive(Debug)]
pub struct Payload<'a> {
    storage: &'a Storage,
    bytes: &'a [u8],
    layout: Layout,
    len: u64,
}

#[derive(Debug)]
enum Layout {
    /// One slice of the storage.
    Slice { start: usize, len: usize },
    /// Elements of `width` bytes, found by steps of bytes; the last axis varies fastest.
    Strided { start: usize, width: usize, axes: Vec<Axis> },
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    size: usize,
    step: usize,
}

impl<'a> Payload<'a> {
    /// Checks a weight against its storage.
    pub fn new(weight: &'a Weight) -> Result<Payload<'a>> {
        Self::checked(weight).map_err(|error| error.at(format!("weight `{}`", weight.name)))
    }

    fn checked(weight: &'a Weight) -> Result<Payload<'a>> {
        let count = count(&weight.sizes)?;
        let len = weight.dtype.bytes(count).ok_or_else(too_large)?;
        let bytes = weight.storage.bytes();
        let layout = if count == 0 {
            Layout::Slice { start: 0, len: 0 }
        } else if weight.dtype.bits() < 8 {
            packed(weight, len)?
        } else {
            strided(weight, len)?
        };
        let payload = Payload { storage: &weight.storage, bytes, layout, len };
        if payload.extent() > bytes.len() {
            let (needs, has) = (payload.extent(), bytes.len());
            return Err(Error::input(format!("its elements reach to byte {needs} of a storage of {has} bytes")));
        }
        Ok(payload)
    }

    /// The number of bytes that [`Payload::write`] gives.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Has it no bytes?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes where they lie, if they lie in order.
    pub fn slice(&self) -> Option<&'a [u8]> {
        match self.layout {
            Layout::Slice { start, len } => self.bytes.get(start..start + len),
            Layout::Strided { .. } => None,
        }
    }

    /// One past the last byte of the storage that it reads.
    fn extent(&self) -> usize {
        match &self.layout {
            Layout::Slice { start, len } => start.saturating_add(*len),
            Layout::Strided { start, width, axes } => axes
                .iter()
                .fold(*start, |end, axis| end.saturating_add((axis.size - 1).saturating_mul(axis.step)))
                .saturating_add(*width),
        }
    }

    /// Gives all bytes in order, at most [`CHUNK`] at once.
    pub fn write(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match &self.layout {
            Layout::Slice { start, len } => self.write_slice(*start, *len, sink),
            Layout::Strided { start, width, axes } => {
                let mut gather = Gather { bytes: self.bytes, width: *width, buffer: Vec::new(), sink };
                gather.axes(*start, axes)?;
                gather.flush()?;
                release(self.storage, 0, self.bytes.len());
                Ok(())
            }
        }
    }

    fn write_slice(&self, start: usize, len: usize, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let bytes = self.bytes.get(start..start + len).ok_or_else(outside)?;
        let mut at = start;
        for chunk in bytes.chunks(CHUNK) {
            sink(chunk)?;
            release(self.storage, at, chunk.len());
            at += chunk.len();
        }
        Ok(())
    }
}

/// Gathers strided elements.
struct Gather<'a> {
    bytes: &'a [u8],
    width: usize,
    buffer: Vec<u8>,
    sink: &'a mut dyn FnMut(&[u8]) -> Result<()>,
}

impl Gather<'_> {
    fn axes(&mut self, start: usize, axes: &[Axis]) -> Result<()> {
        match axes {
            [] => self.run(start, self.width),
            [last] if last.step == self.width => self.run(start, last.size * self.width),
            [last] => self.row(start, *last),
            [first, rest @ ..] => (0..first.size).try_for_each(|i| self.axes(start + i * first.step, rest)),
        }
    }

    /// Bytes that lie together.
    fn run(&mut self, start: usize, len: usize) -> Result<()> {
        let run = self.bytes.get(start..start + len).ok_or_else(outside)?;
        for chunk in run.chunks(CHUNK) {
            if self.buffer.len() + chunk.len() > CHUNK {
                self.flush()?;
            }
            self.buffer.extend_from_slice(chunk);
        }
        Ok(())
    }

    /// Elements a step apart.
    fn row(&mut self, start: usize, axis: Axis) -> Result<()> {
        match self.width {
            1 => self.elements::<1>(start, axis),
            2 => self.elements::<2>(start, axis),
            4 => self.elements::<4>(start, axis),
            8 => self.elements::<8>(start, axis),
            16 => self.elements::<16>(start, axis),
            width => (0..axis.size).try_for_each(|i| self.run(start + i * axis.step, width)),
        }
    }

    fn elements<const WIDTH: usize>(&mut self, start: usize, axis: Axis) -> Result<()> {
        let mut done = 0;
        while done < axis.size {
            if self.buffer.len() + WIDTH > CHUNK {
                self.flush()?;
            }
            let fit = ((CHUNK - self.buffer.len()) / WIDTH).min(axis.size - done);
            for i in done..done + fit {
                let element = self.bytes.get(start + i * axis.step..).and_then(|rest| rest.first_chunk::<WIDTH>());
                self.buffer.extend_from_slice(element.ok_or_else(outside)?);
            }
            done += fit;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        (self.sink)(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Elements of less than a byte: only ever whole and in order.
fn packed(weight: &Weight, len: u64) -> Result<Layout> {
    if len > weight.storage.bytes().len() as u64 {
        return Err(Error::input(format!("it needs {len} bytes and its storage has fewer")));
    }
    if weight.offset != 0 || !weight.is_contiguous() {
        return Err(Error::unsupported(format!("{} elements are packed and cannot be strided", weight.dtype)));
    }
    Ok(Layout::Slice { start: 0, len: usize::try_from(len).map_err(|_| too_large())? })
}

fn strided(weight: &Weight, len: u64) -> Result<Layout> {
    let width = match weight.dtype {
        Dtype::String => return Err(Error::unsupported("a weight of strings")),
        dtype => (dtype.bits() / 8) as usize,
    };
    if weight.strides.len() != weight.sizes.len() {
        return Err(Error::input(format!("{} strides for {} sizes", weight.strides.len(), weight.sizes.len())));
    }
    let start = to_bytes(weight.offset, width)?;
    let mut axes: Vec<Axis> = Vec::new();
    for (size, stride) in weight.sizes.iter().zip(&weight.strides) {
        let axis = Axis { size: usize::try_from(*size).map_err(|_| too_large())?, step: to_bytes(*stride, width)? };
        match axes.last_mut() {
            _ if axis.size == 1 => {}
            // One step of the outer axis is all of this one: together they are one axis.
            Some(outer) if Some(outer.step) == axis.size.checked_mul(axis.step) => {
                *outer = Axis { size: outer.size.checked_mul(axis.size).ok_or_else(too_large)?, step: axis.step };
            }
            _ => axes.push(axis),
        }
    }
    Ok(match axes.as_slice() {
        [] => Layout::Slice { start, len: width },
        [axis] if axis.step == width => Layout::Slice { start, len: usize::try_from(len).map_err(|_| too_large())? },
        _ => Layout::Strided { start, width, axes },
    })
}

/// Tells the system that these bytes are not needed again soon.
fn release(storage: &Storage, at: usize, len: usize) {
    if let Storage::Mapped { file, start, .. } = storage {
        file.release(start + at, len);
    }
}

fn count(sizes: &[i64]) -> Result<u64> {
    let sizes = sizes.iter().map(|size| u64::try_from(*size));
    let sizes = sizes.collect::<Result<Vec<_>, _>>().map_err(|_| Error::input("a size is negative"))?;
    if sizes.contains(&0) {
        return Ok(0);
    }
    sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size)).ok_or_else(too_large)
}

fn to_bytes(elements: i64, width: usize) -> Result<usize> {
    let elements = usize::try_from(elements).map_err(|_| Error::input("a stride or offset is negative"))?;
    elements.checked_mul(width).ok_or_else(too_large)
}

fn too_large() -> Error {
    Error::input("it is larger than this machine can address")
}

fn outside() -> Error {
    Error::internal("a weight was read outside its storage")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn weight(dtype: Dtype, sizes: &[i64], strides: &[i64], offset: i64, bytes: Vec<u8>) -> Weight {
        let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
        Weight { name: "w".into(), dtype, sizes, strides, offset, storage: Storage::Owned(bytes.into()) }
    }

    fn written(weight: &Weight) -> Vec<u8> {
        let payload = Payload::new(weight).unwrap();
        let mut all = Vec::new();
        payload
            .write(&mut |chunk| {
                assert!(chunk.len() <= CHUNK);
                all.extend_from_slice(chunk);
                Ok(())
            })
            .unwrap();
        assert_eq!(payload.len(), all.len() as u64);
        all
    }

    #[test]
    fn contiguous_weights_are_slices() {
        let w = weight(Dtype::Int16, &[2, 1, 2], &[2, 7, 1], 1, (0..10).collect());
        assert_eq!(Payload::new(&w).unwrap().slice().unwrap(), &[2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(written(&w), [2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(written(&weight(Dtype::Bool, &[], &[], 2, vec![0, 0, 1])), [1]);
    }

    #[test]
    fn strided_weights_are_gathered() {
        let transposed = weight(Dtype::Uint8, &[3, 2], &[1, 3], 0, (0..6).collect());
        assert_eq!(written(&transposed), [0, 3, 1, 4, 2, 5]);
        let expanded = weight(Dtype::Uint8, &[2, 3], &[0, 0], 1, vec![9, 7]);
        assert_eq!(written(&expanded), [7; 6]);
        let every_second = weight(Dtype::Int16, &[2], &[2], 0, (0..6).collect());
        assert_eq!(written(&every_second), [0, 1, 4, 5]);
        let rows = weight(Dtype::Uint8, &[2, 2], &[3, 1], 1, (0..6).collect());
        assert_eq!(written(&rows), [1, 2, 4, 5]);
        let channels_last = weight(Dtype::Uint8, &[1, 2, 2, 2], &[8, 1, 4, 2], 0, (0..8).collect());
        assert_eq!(written(&channels_last), [0, 2, 4, 6, 1, 3, 5, 7]);
    }

    #[test]
    fn long_rows_are_cut() {
        let n = CHUNK as i64 + 3;
        let w = weight(Dtype::Uint16, &[n], &[0], 0, vec![1, 2]);
        assert_eq!(written(&w).len(), 2 * n as usize);
    }

    #[test]
    fn empty_weights_have_no_bytes() {
        assert!(written(&weight(Dtype::Float32, &[0, 3], &[3, 1], 5, vec![])).is_empty());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |w: &Weight| Payload::new(w).unwrap_err().to_string();
        let w = weight(Dtype::Float32, &[2, 2], &[2, 1], 0, vec![0; 15]);
        assert_eq!(refused(&w), "weight `w`: its elements reach to byte 16 of a storage of 15 bytes");
        let w = weight(Dtype::Float32, &[2], &[-1], 0, vec![0; 15]);
        assert_eq!(refused(&w), "weight `w`: a stride or offset is negative");
        let w = weight(Dtype::Float32, &[i64::MAX, i64::MAX], &[0, 0], 0, vec![0; 15]);
        assert_eq!(refused(&w), "weight `w`: it is larger than this machine can address");
        let w = weight(Dtype::Float32, &[2, 2], &[i64::MAX / 4, 1], 0, vec![0; 15]);
        assert!(refused(&w).contains("its elements reach to byte"));
        let w = weight(Dtype::Float32, &[2], &[1, 1], 0, vec![0; 15]);
        assert_eq!(refused(&w), "weight `w`: 2 strides for 1 sizes");
    }
}
