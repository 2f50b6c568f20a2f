//! Weights: where their bytes are stored and how they are read. Only the writer reads the bytes.
//!
//! A weight is a byte range with sizes and strides: in a mapped file, in memory of the caller, or in owned memory.

mod blocks;
mod computed;
mod cursor;
mod demand;
mod digits;
mod equal;
mod gather;
mod joined;
mod narrowed;
mod open;
mod payload;
mod reduced;
mod scaled;
mod steady;
mod views;
mod windows;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use blocks::{CodeFormat, QuantizedBlocks, QuantizedPart, ScaleSearch};
pub use computed::{Computed, Operation, Program, Step, View};
pub use cursor::Cursor;
pub use demand::{Demand, most_written};
pub use digits::Digits;
pub use joined::Joined;
pub use narrowed::{Narrowed, largest_finite, narrowed_bytes};
pub use open::{Links, open_regular};
pub use payload::{Payload, Sink, pages};
pub use reduced::Reduction;
pub use scaled::Scaled;

use crate::dtype::Dtype;
use crate::error::{Error, Kind, Result};

/// What is wrong with a weight of the meta device.
const NO_DATA: &str = "it has no data: it was on the meta device or a fake tensor";

/// A tensor of a state dict or a constant.
#[derive(Debug, Clone)]
pub struct Weight {
    /// The name in the state dict: `layer1.0.conv1.weight`.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Sizes.
    pub sizes: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
    /// Offset of the first element, in elements.
    pub offset: i64,
    /// The bytes.
    pub storage: Storage,
}

/// Bytes, little-endian.
#[derive(Debug, Clone)]
pub enum Storage {
    /// A range of a mapped file.
    Mapped {
        /// The map.
        file: Arc<MappedFile>,
        /// First byte.
        start: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Memory of the caller, such as a tensor of a live module.
    Lent(Arc<dyn Memory>),
    /// Owned bytes.
    Owned(Arc<[u8]>),
    /// No bytes: of a tensor on the meta device or a fake tensor. Equal numbers are the same memory.
    Absent(u64),
    /// Elements that are multiplied when they are written.
    Scaled(Arc<Scaled>),
    /// Elements that are rounded to half precision when they are written.
    Narrowed(Arc<Narrowed>),
    /// Floats that are quantized when they are written: integers, scales or zero points.
    Quantized(Arc<QuantizedPart>),
    /// Integers that are taken out of other elements when they are written.
    Digits(Arc<Digits>),
    /// Integers that follow from packed weights by several steps when they are written.
    Computed(Arc<Computed>),
    /// Other weights one after the other.
    Joined(Arc<Joined>),
}

/// Borrowed memory, which must not move or change while this exists.
pub trait Memory: fmt::Debug + Send + Sync {
    /// The bytes, the same in every call.
    fn bytes(&self) -> &[u8];

    /// A number that changes when somebody writes to the memory, if its owner counts that.
    fn version(&self) -> Option<i64> {
        None
    }
}

/// A mapped file, or bytes in memory that are treated like one.
#[derive(Debug)]
pub struct MappedFile {
    /// Its path as given.
    pub path: PathBuf,
    pages: Pages,
    /// What it was when it was opened, if it is on disk.
    stamp: Option<steady::Stamp>,
}

#[derive(Debug)]
enum Pages {
    Map(memmap2::Mmap, std::fs::File),
    Owned(Vec<u8>),
}

impl MappedFile {
    /// Maps a regular file.
    pub fn open(path: &Path) -> Result<Arc<MappedFile>> {
        open::open_regular(path)
            .and_then(|file| MappedFile::of(path.to_path_buf(), file))
            .map_err(|error| error.at(path.display().to_string()))
    }

    /// Maps a file that a model in this folder names by a relative path.
    pub fn open_below(folder: &Path, location: &str, links: Links) -> Result<Arc<MappedFile>> {
        let path = folder.join(location);
        let place = path.display().to_string();
        open::open_below(folder, location, links)
            .and_then(|file| MappedFile::of(path, file))
            .map_err(|error| error.at(place))
    }

    fn of(path: PathBuf, file: std::fs::File) -> Result<Arc<MappedFile>> {
        let io_error = |error: std::io::Error| Error::new(Kind::Io, error.to_string());
        let stamp = Some(steady::Stamp::of(&file).map_err(io_error)?);
        // SAFETY: the map gives weights their addresses, which tell them apart, and nothing reads it (`steady`): the file may change.
        let map = unsafe { memmap2::Mmap::map(&file) };
        let map = map.map_err(io_error)?;
        Ok(Arc::new(MappedFile { path, pages: Pages::Map(map, file), stamp }))
    }

    /// Treats bytes as a file with that name.
    pub fn from_bytes(path: impl Into<PathBuf>, bytes: Vec<u8>) -> Arc<MappedFile> {
        Arc::new(MappedFile { path: path.into(), pages: Pages::Owned(bytes), stamp: None })
    }

    /// The number of bytes.
    pub fn size(&self) -> usize {
        self.bytes().len()
    }

    /// All the bytes, for their place and number: [`MappedFile::read`] gives what they are, also while the file changes.
    pub fn bytes(&self) -> &[u8] {
        match &self.pages {
            Pages::Map(map, _) => map,
            Pages::Owned(bytes) => bytes,
        }
    }

    /// Whether it is a file on disk, which links can refer to and the system can copy from.
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(self.pages, Pages::Map(..))
    }

    /// Lets the system copy up to `len` bytes from `start` to a position of `out`, without this process reading them.
    /// Returns the number of bytes; 0 if the system cannot, so that the caller has to copy.
    pub fn copy_to(&self, start: usize, len: usize, out: &std::fs::File, at: u64) -> usize {
        #[cfg(target_os = "linux")]
        if let Pages::Map(_, file) = &self.pages {
            let (mut from, mut to) = (start as u64, at);
            return rustix::fs::copy_file_range(file, Some(&mut from), out, Some(&mut to), len).unwrap_or(0);
        }
        let _ = (start, len, out, at);
        0
    }
}

impl Storage {
    /// The bytes, for their place and number; empty for those that are computed. [`Storage::read`] gives what they are.
    pub fn bytes(&self) -> &[u8] {
        match self {
            // The range was checked before; one out of bounds is empty instead of a panic.
            Storage::Mapped { file, start, len } => {
                let end = start.saturating_add(*len);
                file.bytes().get(*start..end).unwrap_or_default()
            }
            Storage::Lent(memory) => memory.bytes(),
            Storage::Owned(bytes) => bytes,
            Storage::Absent(_)
            | Storage::Scaled(_)
            | Storage::Narrowed(_)
            | Storage::Quantized(_)
            | Storage::Digits(_)
            | Storage::Computed(_)
            | Storage::Joined(_) => &[],
        }
    }

    /// Where the bytes are, or what computes them: equal for the same bytes.
    pub fn address(&self) -> usize {
        match self {
            Storage::Scaled(scaled) => Arc::as_ptr(scaled) as usize,
            Storage::Narrowed(narrowed) => Arc::as_ptr(narrowed) as usize,
            Storage::Quantized(part) => Arc::as_ptr(part) as usize,
            Storage::Digits(digits) => Arc::as_ptr(digits) as usize,
            Storage::Computed(computed) => Arc::as_ptr(computed) as usize,
            Storage::Joined(joined) => Arc::as_ptr(joined) as usize,
            Storage::Absent(number) => *number as usize,
            Storage::Mapped { .. } | Storage::Lent(_) | Storage::Owned(_) => self.bytes().as_ptr() as usize,
        }
    }

    /// Whether the elements are computed when they are written.
    pub fn is_computed(&self) -> bool {
        !matches!(self, Storage::Mapped { .. } | Storage::Lent(_) | Storage::Owned(_) | Storage::Absent(_))
    }

    /// The number of bytes; an upper bound for those that are computed.
    fn len(&self) -> u64 {
        match self {
            Storage::Scaled(scaled) => scaled.source().byte_len().unwrap_or(0),
            Storage::Narrowed(narrowed) => narrowed.source().byte_len().unwrap_or(0),
            Storage::Quantized(part) => part.len(),
            Storage::Digits(digits) => digits.len(),
            Storage::Computed(_) => u64::MAX,
            Storage::Joined(joined) => joined.len(),
            Storage::Absent(_) => 0,
            Storage::Mapped { .. } | Storage::Lent(_) | Storage::Owned(_) => self.bytes().len() as u64,
        }
    }
}

impl Weight {
    /// Whether the elements are contiguous in row-major order.
    pub fn is_contiguous(&self) -> bool {
        if self.sizes.contains(&0) {
            return true;
        }
        let mut expected = 1_i64;
        for (size, stride) in self.sizes.iter().zip(&self.strides).rev() {
            if *size != 1 && *stride != expected {
                return false;
            }
            expected = expected.wrapping_mul(*size);
        }
        true
    }

    /// Checks that sizes, strides and offset stay within the bytes; everything that makes a weight must call this.
    ///
    /// Afterwards, every element is inside [`Storage::bytes`].
    pub fn check(&self) -> Result<()> {
        if self.sizes.len() != self.strides.len() {
            let message = format!("it has {} sizes but {} strides", self.sizes.len(), self.strides.len());
            return Err(Error::input(message));
        }
        if let Some(size) = self.sizes.iter().find(|size| **size < 0) {
            return Err(Error::input(format!("its size {size} is negative")));
        }
        if self.offset < 0 {
            return Err(Error::input(format!("its offset {} is negative", self.offset)));
        }
        if let Some(stride) = self.strides.iter().find(|stride| **stride < 0) {
            return Err(Error::input(format!("its stride {stride} is negative")));
        }
        let overflow = || Error::input(format!("its sizes {:?} with strides {:?} overflow", self.sizes, self.strides));
        let total = self.byte_len().ok_or_else(overflow)?;
        if self.sizes.contains(&0) {
            return Ok(());
        }
        let last = self.last_element().ok_or_else(overflow)?;
        let needed = u64::try_from(last).ok().and_then(|last| self.dtype.bytes(last.checked_add(1)?));
        let needed = needed.ok_or_else(overflow)?;
        let present = self.storage.len();
        if present == 0 {
            return Err(Error::input(NO_DATA).help(
                "export the model with its weights loaded on a real device, or name the safetensors files that have them: \
                 `--weights DIR`",
            ));
        }
        if needed > present {
            let message = format!(
                "sizes {:?}, strides {:?} and offset {} need {needed} bytes of {}, but there are only {present}",
                self.sizes, self.strides, self.offset, self.dtype
            );
            return Err(Error::input(message));
        }
        // An expanded weight (stride 0) is written in full.
        let most = most_written(present);
        if total > most {
            let (sizes, strides) = (&self.sizes, &self.strides);
            let message = format!(
                "sizes {sizes:?} with strides {strides:?} expand to {total} bytes from the {present} that are there; at most {most} are written"
            );
            return Err(Error::input(message).help("expand the tensor in `forward` instead, which takes one node"));
        }
        Ok(())
    }

    /// Whether it has elements but no data.
    pub fn is_absent(&self) -> bool {
        self.storage.len() == 0 && !self.sizes.contains(&0)
    }

    /// The number of bytes of its elements when written contiguously.
    pub fn byte_len(&self) -> Option<u64> {
        let mut count = 1_u64;
        for size in &self.sizes {
            count = count.checked_mul(u64::try_from(*size).ok()?)?;
        }
        self.dtype.bytes(count)
    }

    /// The largest index in elements that sizes, strides and offset reach.
    fn last_element(&self) -> Option<i64> {
        let mut last = self.offset;
        for (size, stride) in self.sizes.iter().zip(&self.strides) {
            last = last.checked_add(size.checked_sub(1)?.checked_mul(*stride)?)?;
        }
        Some(last)
    }
}

/// The strides of contiguous elements; the last axis varies fastest.
pub fn row_major(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(sizes[i]);
    }
    strides
}
