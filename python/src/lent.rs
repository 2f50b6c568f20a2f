//! The memory of a Python tensor, lent to the library for as long as it needs it.

use std::collections::HashMap;
use std::sync::Arc;

use aten2onnx::Dtype;
use aten2onnx::error::{Error, Result};
use aten2onnx::weights::{Memory, Storage, Weight};
use pyo3::prelude::*;

/// A tensor as Python describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Tensor {
    /// PyTorch's name of the element type: `float32`.
    dtype: String,
    sizes: Vec<i64>,
    /// In elements, as the offset.
    strides: Vec<i64>,
    offset: i64,
    /// Where the storage starts, and its bytes.
    address: usize,
    bytes: usize,
    /// Whether it is on the meta device or a fake tensor; the address only tells storages apart then.
    absent: bool,
    /// What keeps the storage alive.
    owner: Py<PyAny>,
}

/// Memory that a Python object keeps.
#[derive(Debug)]
struct Lent {
    address: usize,
    bytes: usize,
    owner: Py<PyAny>,
}

impl Memory for Lent {
    fn bytes(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: Python gives the address and size of a tensor's storage on the CPU, which lives as long as its owner; that the
        // storage was not resized since is checked there before each use.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }

    /// PyTorch counts what is written to a tensor and its views, unless it was made in inference mode.
    fn version(&self) -> Option<i64> {
        Python::attach(|py| self.owner.bind(py).getattr("_version").ok()?.extract().ok())
    }
}

/// Tensors as weights; nothing is copied.
pub fn weights(tensors: HashMap<String, Tensor>) -> Result<HashMap<String, Weight>> {
    tensors.into_iter().map(|(name, tensor)| Ok((name.clone(), weight(name, tensor)?))).collect()
}

fn weight(name: String, tensor: Tensor) -> Result<Weight> {
    let Tensor { dtype, sizes, strides, offset, address, bytes, absent, owner } = tensor;
    let unknown =
        || Error::unsupported(format!("the element type `{dtype}` is not known")).at(format!("weight `{name}`"));
    let dtype = Dtype::from_torch_name(&dtype).ok_or_else(unknown)?;
    let storage = match absent {
        true => Storage::Absent(address as u64),
        false => Storage::Lent(Arc::new(Lent { address, bytes, owner })),
    };
    Ok(Weight { name, dtype, sizes, strides, offset, storage })
}
