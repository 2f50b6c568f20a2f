//! The bytes of a weight in ONNX's layout: row-major, packed, little-endian.
//!
//! A contiguous weight is a slice of the archive and is copied directly, by the system if both ends are files. Other
//! elements are gathered or computed through a small buffer. Nothing is read before [`Payload::write`].

use std::borrow::Cow;
use std::sync::Arc;

use super::gather::Axis;
use super::windows;
use crate::error::{Error, Result};
use crate::weights::{MappedFile, Scaled, Storage, Weight};

/// The most bytes that are gathered or computed at once.
pub(crate) const CHUNK: usize = 256 << 10;

/// The most bytes that are copied at once, which stay in the caches of a processor.
const STRETCH: usize = 1 << 20;

/// A destination for the bytes of a payload.
pub trait Sink {
    /// Writes bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<()>;

    /// Copies a range of a file.
    fn pass(&mut self, file: &MappedFile, start: usize, len: usize) -> Result<()> {
        pages(file, start, len, &mut |stretch| self.put(stretch))
    }
}

/// Collects small payloads in memory.
impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// A weight that has been checked against its storage.
#[derive(Debug)]
pub struct Payload<'a> {
    weight: &'a Weight,
    layout: Layout,
    len: u64,
}

#[derive(Debug)]
enum Layout {
    /// A slice of the storage.
    Slice { start: usize, len: usize },
    /// Elements of `width` bytes with strides in bytes; the last axis varies fastest.
    Strided { start: usize, width: usize, axes: Vec<Axis> },
    /// Elements that are computed from those of another weight.
    Computed,
}

/// A part of a storage, and where it is in a file.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// The bytes, for their place and number: `read` gives what they are.
    pub bytes: &'a [u8],
    file: Option<(&'a MappedFile, usize)>,
}

impl<'a> Part<'a> {
    fn of(storage: &'a Storage, start: usize, len: usize) -> Option<Part<'a>> {
        let bytes = storage.bytes().get(start..start + len)?;
        let file = match storage {
            Storage::Mapped { file, start: first, .. } => Some((&**file, first + start)),
            _ => None,
        };
        Some(Part { bytes, file })
    }

    /// Both sides of a position in it.
    pub fn split_at(self, at: usize) -> (Part<'a>, Part<'a>) {
        let (head, tail) = self.bytes.split_at(at);
        (Part { bytes: head, ..self }, Part { bytes: tail, file: self.file.map(|(file, start)| (file, start + at)) })
    }

    /// All bytes of a storage.
    pub fn whole(storage: &'a Storage) -> Part<'a> {
        let file = match storage {
            Storage::Mapped { file, start, .. } => Some((&**file, *start)),
            _ => None,
        };
        Part { bytes: storage.bytes(), file }
    }

    /// The bytes, if they are in memory and not in a file.
    pub fn in_memory(&self) -> Option<&'a [u8]> {
        match self.file {
            Some((file, _)) if file.is_on_disk() => None,
            _ => Some(self.bytes),
        }
    }

    /// A range of the bytes.
    pub fn read(&self, at: usize, len: usize) -> Result<Cow<'a, [u8]>> {
        match self.file {
            Some((file, start)) => file.read(start + at, len),
            None => self.bytes.get(at..at + len).map(Cow::Borrowed).ok_or_else(outside),
        }
    }

    /// Fills a buffer with a range of the bytes.
    pub fn read_into(&self, at: usize, buffer: &mut [u8]) -> Result<()> {
        match self.file {
            Some((file, start)) => file.read_into(start + at, buffer),
            None => {
                buffer.copy_from_slice(self.bytes.get(at..at + buffer.len()).ok_or_else(outside)?);
                Ok(())
            }
        }
    }
}

/// The elements that a payload gathers: the bytes from the first to the last, and how to go through them.
pub(super) struct Gathered<'a> {
    pub part: Part<'a>,
    pub width: usize,
    pub axes: &'a [Axis],
}

impl<'a> Payload<'a> {
    /// Checks a weight against its storage.
    pub fn new(weight: &'a Weight) -> Result<Payload<'a>> {
        let named = |error: Error| error.at(format!("weight `{}`", weight.name));
        weight.check().map_err(named)?;
        let layout = layout(weight).map_err(named)?;
        Ok(Payload { weight, layout, len: weight.byte_len().ok_or_else(too_large)? })
    }

    /// The number of bytes that [`Payload::write`] writes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The weight.
    pub(super) fn weight(&self) -> &'a Weight {
        self.weight
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether its bytes are gathered or computed.
    pub fn is_made(&self) -> bool {
        !matches!(self.layout, Layout::Slice { .. })
    }

    /// The bytes, if they are contiguous, for their place and number.
    pub fn slice(&self) -> Option<&'a [u8]> {
        match self.layout {
            Layout::Slice { start, len } => self.weight.storage.bytes().get(start..start + len),
            Layout::Strided { .. } | Layout::Computed => None,
        }
    }

    /// The position in a file on disk, if the bytes are contiguous there.
    pub fn place(&self) -> Option<(&'a Arc<MappedFile>, u64)> {
        match (&self.layout, &self.weight.storage) {
            (Layout::Slice { start, .. }, Storage::Mapped { file, start: first, .. }) if file.is_on_disk() => {
                Some((file, (first + start) as u64))
            }
            _ => None,
        }
    }

    /// The bytes of a slice.
    pub(super) fn part(&self) -> Option<Part<'_>> {
        let Layout::Slice { start, len } = self.layout else { return None };
        Part::of(&self.weight.storage, start, len)
    }

    /// What is gathered, if the elements are.
    pub(super) fn gathered(&self) -> Option<Gathered<'_>> {
        let Layout::Strided { start, width, axes } = &self.layout else { return None };
        let last: usize = axes.iter().map(|axis| (axis.size - 1) * axis.step).sum();
        let part = Part::of(&self.weight.storage, *start, last + width)?;
        Some(Gathered { part, width: *width, axes })
    }

    /// Writes all bytes in order, in chunks.
    pub fn write(&self, sink: &mut dyn Sink) -> Result<()> {
        match (&self.layout, &self.weight.storage) {
            (Layout::Slice { start, len }, Storage::Mapped { file, start: first, .. }) => {
                sink.pass(file, first + start, *len)
            }
            (Layout::Slice { .. }, _) => {
                self.slice().ok_or_else(outside)?.chunks(CHUNK).try_for_each(|chunk| sink.put(chunk))
            }
            (Layout::Strided { .. }, _) => {
                let Gathered { part, width, axes } = self.gathered().ok_or_else(outside)?;
                windows::gather(part, width, axes, sink)
            }
            (Layout::Computed, Storage::Narrowed(narrowed)) => narrowed.write(sink),
            (Layout::Computed, Storage::Quantized(part)) => part.write(self.weight, sink),
            (Layout::Computed, Storage::Digits(digits)) => digits.write(sink),
            (Layout::Computed, Storage::Computed(computed)) => computed.write(self.len, sink),
            (Layout::Computed, Storage::Joined(joined)) => joined.write(sink),
            (Layout::Computed, Storage::Scaled(scaled)) => {
                let source = Payload::new(scaled.source())?;
                source.write(&mut Scaling { scaled, position: 0, buffer: Vec::new(), sink })
            }
            (Layout::Computed, _) => Err(outside()),
        }
    }
}

/// Passes the bytes of a file in stretches.
pub fn pages(file: &MappedFile, start: usize, len: usize, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut buffer = vec![0; len.min(STRETCH)];
    let mut done = 0;
    while done < len {
        let stretch = buffer.get_mut(..STRETCH.min(len - done)).ok_or_else(outside)?;
        file.read_into(start + done, stretch)?;
        put(stretch)?;
        done += stretch.len();
    }
    Ok(())
}

/// Scales elements while they are written; it receives whole elements.
struct Scaling<'a> {
    scaled: &'a Scaled,
    /// The index of the next element.
    position: usize,
    buffer: Vec<u8>,
    sink: &'a mut dyn Sink,
}

impl Sink for Scaling<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            self.buffer.clear();
            self.buffer.extend_from_slice(chunk);
            self.scaled.apply(self.position, &mut self.buffer);
            self.position += chunk.len() / (self.scaled.source().dtype.bits() / 8).max(1) as usize;
            self.sink.put(&self.buffer)?;
        }
        Ok(())
    }
}

fn layout(weight: &Weight) -> Result<Layout> {
    let len = usize::try_from(weight.byte_len().ok_or_else(too_large)?).map_err(|_| too_large())?;
    if len == 0 {
        return Ok(Layout::Slice { start: 0, len: 0 });
    }
    if weight.storage.is_computed() {
        return Ok(Layout::Computed);
    }
    match weight.dtype.bits() {
        0 => Err(Error::unsupported("a weight of strings")),
        1..8 if weight.offset == 0 && weight.is_contiguous() => Ok(Layout::Slice { start: 0, len }),
        1..8 => Err(Error::unsupported(format!("{} elements are packed and cannot be strided", weight.dtype))),
        bits => strided(weight, len, (bits / 8) as usize),
    }
}

fn strided(weight: &Weight, len: usize, width: usize) -> Result<Layout> {
    let to_bytes = |elements: i64| usize::try_from(elements).ok()?.checked_mul(width);
    let start = to_bytes(weight.offset).ok_or_else(too_large)?;
    let mut axes: Vec<Axis> = Vec::new();
    for (size, stride) in weight.sizes.iter().zip(&weight.strides).filter(|(size, _)| **size != 1) {
        let size = usize::try_from(*size).map_err(|_| too_large())?;
        let step = to_bytes(*stride).ok_or_else(too_large)?;
        match axes.last_mut() {
            // A step along the outer axis covers this axis exactly, so both become one axis.
            Some(outer) if Some(outer.step) == size.checked_mul(step) => {
                *outer = Axis { size: outer.size.checked_mul(size).ok_or_else(too_large)?, step };
            }
            _ => axes.push(Axis { size, step }),
        }
    }
    Ok(match axes.as_slice() {
        [] => Layout::Slice { start, len },
        [axis] if axis.step == width => Layout::Slice { start, len },
        _ => Layout::Strided { start, width, axes },
    })
}

fn too_large() -> Error {
    Error::input("it is larger than this machine can address")
}

pub(super) fn outside() -> Error {
    Error::internal("a weight was read outside its storage")
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dtype::Dtype;

    fn weight(dtype: Dtype, sizes: &[i64], strides: &[i64], offset: i64, bytes: Vec<u8>) -> Weight {
        let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
        Weight { name: "w".into(), dtype, sizes, strides, offset, storage: Storage::Owned(bytes.into()) }
    }

    /// The bytes of a weight as the writer gives them.
    pub(in crate::weights) fn written(weight: &Weight) -> Vec<u8> {
        let payload = Payload::new(weight).unwrap();
        let mut all = Vec::new();
        payload.write(&mut all).unwrap();
        assert_eq!(payload.len(), all.len() as u64);
        all
    }

    #[test]
    fn scaled_weights_are_computed_over_chunks() {
        let n = CHUNK as i64 / 4 + 5;
        let bytes = (0..3 * n).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let source = Arc::new(weight(Dtype::Float32, &[3, n], &[n, 1], 0, bytes));
        let scaled = Scaled::of(&source, 0, Arc::new([1.0, 2.0, 0.5])).unwrap();
        let wanted = (0..3 * n).flat_map(|i| (i as f32 * [1.0, 2.0, 0.5][(i / n) as usize]).to_le_bytes());
        assert!(written(&scaled) == wanted.collect::<Vec<u8>>());
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
    fn matrices_are_transposed_in_panels() {
        for (rows, columns) in [(1, 1), (5, 40), (33, 17), (3, 70_000), (300, 500)] {
            let elements: Vec<u16> = (0..rows * columns).map(|i| i as u16).collect();
            let bytes = elements.iter().flat_map(|x| x.to_le_bytes()).collect();
            let w = weight(Dtype::Uint16, &[rows, columns], &[1, rows], 0, bytes);
            let wanted = (0..rows).flat_map(|r| (0..columns).map(move |c| (c * rows + r) as u16));
            assert!(written(&w) == wanted.flat_map(u16::to_le_bytes).collect::<Vec<u8>>(), "{rows} x {columns}");
        }
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
        let w = weight(Dtype::Float32, &[2, 2], &[2, 1], 0, vec![0; 15]);
        let error = Payload::new(&w).unwrap_err().to_string();
        assert!(error.starts_with("weight `w`: "), "{error}");
        let w = weight(Dtype::Int4, &[2, 2], &[1, 2], 0, vec![0; 2]);
        assert!(Payload::new(&w).is_err());
    }
}
