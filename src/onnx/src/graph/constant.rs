//! Constants: small tensors in memory. Weights are not constants; their bytes stay in the source.

use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Storage, Weight, row_major};

/// A tensor in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Constant {
    /// Element type.
    pub dtype: Dtype,
    /// Sizes.
    pub sizes: Vec<i64>,
    /// The elements.
    pub data: Data,
}

/// Elements in row-major order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Data {
    /// Little-endian, packed as in ONNX's `raw_data`.
    Bytes(Arc<[u8]>),
    /// The elements of a string tensor.
    Strings(Arc<[String]>),
}

impl Constant {
    /// A tensor with these bytes.
    pub fn new(dtype: Dtype, sizes: Vec<i64>, bytes: impl Into<Arc<[u8]>>) -> Constant {
        Constant { dtype, sizes, data: Data::Bytes(bytes.into()) }
    }

    /// The bytes; empty for strings.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Bytes(bytes) => bytes,
            Data::Strings(_) => &[],
        }
    }

    /// A weight with the same bytes; None for strings.
    pub fn to_weight(&self, name: &str) -> Option<Weight> {
        let Data::Bytes(bytes) = &self.data else { return None };
        Some(Weight {
            name: name.to_owned(),
            dtype: self.dtype,
            sizes: self.sizes.clone(),
            strides: row_major(&self.sizes),
            offset: 0,
            storage: Storage::Owned(Arc::clone(bytes)),
        })
    }

    /// The number of elements; 0 if it overflows.
    pub fn len(&self) -> usize {
        let count = self.sizes.iter().try_fold(1usize, |n, size| n.checked_mul(usize::try_from(*size).ok()?));
        count.unwrap_or(0)
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the number of bytes matches dtype and sizes.
    pub fn is_consistent(&self) -> bool {
        match &self.data {
            Data::Bytes(bytes) => {
                self.dtype != Dtype::String && self.dtype.bytes(self.len() as u64) == Some(bytes.len() as u64)
            }
            Data::Strings(strings) => self.dtype == Dtype::String && strings.len() == self.len(),
        }
    }
}
