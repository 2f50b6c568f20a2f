//! Weights: where their bytes lie and how they are to be read. Nothing but the writer touches the bytes.

use std::sync::Arc;

use crate::dtype::Dtype;

/// A tensor of a state dict or a constant.
#[derive(Debug, Clone)]
pub struct Weight {
    /// The state dict's own name: `layer1.0.conv1.weight`.
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
    /// Bytes made here.
    Owned(Arc<[u8]>),
}

/// A file in memory by mapping.
#[derive(Debug)]
pub struct MappedFile {
    /// Its path as given.
    pub path: std::path::PathBuf,
    /// The pages.
    pub map: memmap2::Mmap,
}

impl Storage {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Storage::Mapped { file, start, len } => &file.map[*start..*start + *len],
            Storage::Owned(bytes) => bytes,
        }
    }
}

impl Weight {
    /// Are its elements one after another in row-major order?
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for (size, stride) in self.sizes.iter().zip(&self.strides).rev() {
            if *size == 0 {
                return true;
            }
            if *size != 1 && *stride != expected {
                return false;
            }
            expected *= size;
        }
        true
    }
}
