//! Whether two weights have the same bytes: by where they are, else by reading both.
//!
//! Bytes in memory or in files are compared in stretches, also if both weights gather them in the same order. Others
//! that are gathered or computed are made by two threads at the same pace. Memory use does not grow with the weights.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rustc_hash::FxHasher;

use super::payload::{Gathered, Part, Payload, Sink};
use super::{Storage, Weight};
use crate::error::{Error, Kind, Result};

/// The places of a weight that its fingerprint reads, and the bytes at each.
const SAMPLES: usize = 8;
const SAMPLE: usize = 64;
/// The most bytes that are compared at once.
const STRETCH: usize = 1 << 20;

impl<'a> Payload<'a> {
    /// A number that is equal for equal bytes; different bytes mostly have different ones. Reads a few pages.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.len().hash(&mut hasher);
        let len = self.len() as usize;
        for at in (0..len).step_by((len / SAMPLES).max(1)) {
            let sample = at..len.min(at + SAMPLE);
            match (self.part(), self.gathered()) {
                (Some(part), _) => part.read(sample.start, sample.len()).ok().hash(&mut hasher),
                (_, Some(gathered)) => gathered.made(sample).as_deref().hash(&mut hasher),
                // What is computed is compared with everything that is computed of this size: it would have to be computed for a
                // fingerprint.
                _ => return hasher.finish(),
            }
        }
        hasher.finish()
    }

    /// Whether two weights have the same bytes.
    ///
    /// # Errors
    /// Bytes that cannot be made.
    pub fn same_bytes(&self, other: &Payload<'_>) -> Result<bool> {
        if self.len() != other.len() {
            return Ok(false);
        }
        if self.same_place(other) {
            return Ok(true);
        }
        match (self.part(), other.part()) {
            (Some(own), Some(others)) => own.same(&others),
            _ if self.same_source(other)? => Ok(true),
            // A slice and elements that are made: a weight in two layouts, which are rarely equal but may be.
            _ => made_alike(self, other),
        }
    }

    /// Whether both are the same elements of the same storage.
    pub fn same_place(&self, other: &Payload<'_>) -> bool {
        if let (Some((file, at)), Some((others, other_at))) = (self.place(), other.place()) {
            return at == other_at && (Arc::ptr_eq(file, others) || file.path == others.path);
        }
        let (own, others): (&Weight, &Weight) = (self.weight(), other.weight());
        if own.storage.is_computed() || others.storage.is_computed() {
            return match (&own.storage, &others.storage) {
                (Storage::Scaled(a), Storage::Scaled(b)) => Arc::ptr_eq(a, b),
                (Storage::Narrowed(a), Storage::Narrowed(b)) => a.is_same(b).unwrap_or(false),
                (Storage::Quantized(a), Storage::Quantized(b)) => {
                    let is_in_order = own.is_contiguous() && others.is_contiguous();
                    a.is_same(b) && (is_in_order || (own.sizes == others.sizes && own.strides == others.strides))
                }
                (Storage::Digits(a), Storage::Digits(b)) => Arc::ptr_eq(a, b) || a.is_same(b).unwrap_or(false),
                (Storage::Computed(a), Storage::Computed(b)) => Arc::ptr_eq(a, b),
                (Storage::Joined(a), Storage::Joined(b)) => Arc::ptr_eq(a, b),
                _ => false,
            };
        }
        // A file that was opened twice is mapped at two places.
        let same_storage = match (&own.storage, &others.storage) {
            (Storage::Mapped { file: a, start: x, len: m }, Storage::Mapped { file: b, start: y, len: n })
                if a.is_on_disk() && b.is_on_disk() =>
            {
                (&a.path, x, m) == (&b.path, y, n)
            }
            (a, b) => (a.bytes().as_ptr(), a.bytes().len()) == (b.bytes().as_ptr(), b.bytes().len()),
        };
        let read = |weight: &Weight| (weight.dtype.bits(), weight.offset);
        same_storage && read(own) == read(others) && own.sizes == others.sizes && own.strides == others.strides
    }

    /// Whether both gather the same elements from equal bytes. They may be equal if this is false.
    fn same_source(&self, other: &Payload<'_>) -> Result<bool> {
        let (Some(own), Some(others)) = (self.gathered(), other.gathered()) else { return Ok(false) };
        Ok(own.axes == others.axes && own.width == others.width && own.part.same(&others.part)?)
    }
}

impl Gathered<'_> {
    /// A range of the bytes as they are written.
    fn made(&self, range: Range<usize>) -> Option<Vec<u8>> {
        let elements = range.start / self.width..range.end.div_ceil(self.width);
        let bytes = elements.clone().map(|index| self.element(index)).collect::<Option<Vec<Cow<'_, [u8]>>>>()?.concat();
        let first = elements.start * self.width;
        bytes.get(range.start - first..range.end - first).map(<[u8]>::to_vec)
    }

    /// The bytes of an element, by its index in row-major order.
    fn element(&self, mut index: usize) -> Option<Cow<'_, [u8]>> {
        let mut at = 0;
        for axis in self.axes.iter().rev() {
            at += index % axis.size * axis.step;
            index /= axis.size;
        }
        self.part.read(at, self.width).ok()
    }
}

impl Part<'_> {
    /// Whether the bytes are equal. Two threads compare long ones.
    fn same(&self, other: &Part<'_>) -> Result<bool> {
        let len = self.bytes.len();
        if len != other.bytes.len() {
            return Ok(false);
        }
        if len < 2 * STRETCH {
            return self.same_stretches(other);
        }
        let ((head, tail), (other_head, other_tail)) = (self.split_at(len / 2), other.split_at(len / 2));
        thread::scope(|scope| {
            let tails = scope.spawn(move || tail.same_stretches(&other_tail));
            let heads = head.same_stretches(&other_head)?;
            let tails = tails.join().unwrap_or_else(|_| Err(Error::internal("a comparison panicked")));
            Ok(heads && tails?)
        })
    }

    fn same_stretches(&self, other: &Part<'_>) -> Result<bool> {
        let len = self.bytes.len();
        for at in (0..len).step_by(STRETCH) {
            let count = STRETCH.min(len - at);
            if self.read(at, count)? != other.read(at, count)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Makes both and compares them as they come.
fn made_alike(own: &Payload<'_>, other: &Payload<'_>) -> Result<bool> {
    let (sender, receiver) = sync_channel(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut sender = Sending(sender);
            // An error reaches the other side as the end of the bytes.
            let _ = own.write(&mut sender);
        });
        let mut comparing = Comparing { receiver, rest: Vec::new(), at: 0, differ: false };
        match other.write(&mut comparing) {
            Ok(()) => Ok(true),
            Err(_) if comparing.differ => Ok(false),
            Err(error) => Err(error),
        }
    })
}

/// Sends what is made to the other thread.
struct Sending(SyncSender<Vec<u8>>);

impl Sink for Sending {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        // No bytes would mean the end.
        if bytes.is_empty() {
            return Ok(());
        }
        self.0.send(bytes.to_vec()).map_err(|_| Error::new(Kind::Stopped, "the bytes differ"))
    }
}

/// Compares what it gets with what comes from the other thread.
struct Comparing {
    receiver: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    at: usize,
    differ: bool,
}

impl Sink for Comparing {
    fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.at == self.rest.len() {
                (self.rest, self.at) = (self.receiver.recv().unwrap_or_default(), 0);
            }
            let there = self.rest.get(self.at..).unwrap_or_default();
            let count = there.len().min(bytes.len());
            let (head, tail) = bytes.split_at(count);
            if count == 0 || there.get(..count) != Some(head) {
                self.differ = true;
                return Err(Error::new(Kind::Stopped, "the bytes differ"));
            }
            self.at += count;
            bytes = tail;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dtype::Dtype;

    fn weight(sizes: [i64; 2], strides: [i64; 2], bytes: &[u8]) -> Weight {
        let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
        let storage = Storage::Owned(bytes.to_vec().into());
        Weight { name: "w".into(), dtype: Dtype::Uint8, sizes, strides, offset: 0, storage }
    }

    fn same(a: &Weight, b: &Weight) -> bool {
        let (a, b) = (Payload::new(a).unwrap(), Payload::new(b).unwrap());
        let same = a.same_bytes(&b).unwrap();
        assert_eq!(same, b.same_bytes(&a).unwrap());
        assert!(!same || a.fingerprint() == b.fingerprint());
        same
    }

    #[test]
    fn a_file_that_is_opened_twice_is_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w");
        std::fs::write(&path, [7u8; 64]).unwrap();
        let of = |strides| {
            let file = crate::weights::MappedFile::open(&path).unwrap();
            Weight { storage: Storage::Mapped { file, start: 0, len: 64 }, ..weight([8, 8], strides, &[0; 64]) }
        };
        let same_place = |a: &Weight, b: &Weight| Payload::new(a).unwrap().same_place(&Payload::new(b).unwrap());
        assert!(same_place(&of([8, 1]), &of([8, 1])));
        assert!(same_place(&of([1, 8]), &of([1, 8])));
        assert!(!same_place(&of([1, 8]), &of([8, 1])));
    }

    #[test]
    fn weights_are_compared_by_what_is_written() {
        let n = 700;
        let bytes: Vec<u8> = (0..n * n).map(|i| (i * 7 / 3) as u8).collect();
        let plain = weight([n, n], [n, 1], &bytes);
        assert!(same(&plain, &plain));
        assert!(same(&plain, &weight([n, n], [n, 1], &bytes)));
        let mut other = bytes.clone();
        *other.last_mut().unwrap() ^= 1;
        assert!(!same(&plain, &weight([n, n], [n, 1], &other)));
        let turned = weight([n, n], [1, n], &bytes);
        assert!(!same(&plain, &turned));
        assert!(same(&turned, &weight([n, n], [1, n], &bytes)));
        // Bytes that neither reads may differ.
        let apart = |gap: u8| -> Vec<u8> { (0..4 * n).map(|i| if i % 4 < 2 { i as u8 } else { gap }).collect() };
        assert!(same(&weight([n, 2], [4, 1], &apart(1)), &weight([n, 2], [4, 1], &apart(2))));
        assert!(!same(&turned, &weight([n, n], [1, n], &other)));
        // Those of one size are told apart without a comparison.
        assert_ne!(Payload::new(&turned).unwrap().fingerprint(), Payload::new(&plain).unwrap().fingerprint());
        let gathered: Vec<u8> = (0..n * n).map(|i| bytes[(i % n * n + i / n) as usize]).collect();
        assert!(same(&turned, &weight([n, n], [n, 1], &gathered)));
    }
}
