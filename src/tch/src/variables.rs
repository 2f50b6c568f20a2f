//! Weights of a model: named tensors, whose memory is lent to the program.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use tch::nn::VarStore;
use tch::{Device, Kind, Tensor};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Memory, Storage, Weight};

/// What has the weights of a model.
pub trait Variables {
    /// The tensors by their names, in a fixed order. The tensors are those that the layers hold, not copies.
    fn variables(&self) -> Vec<(String, Tensor)>;
}

impl Variables for VarStore {
    fn variables(&self) -> Vec<(String, Tensor)> {
        let mut found: Vec<(String, Tensor)> = VarStore::variables(self).into_iter().collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }
}

/// Several stores. A name that an earlier one has gets a number.
impl Variables for [&VarStore] {
    fn variables(&self) -> Vec<(String, Tensor)> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        let all = self.iter().flat_map(|store| Variables::variables(*store));
        all.map(|(name, tensor)| {
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            let name = if *count == 1 { name } else { format!("{name}_{count}") };
            (name, tensor)
        })
        .collect()
    }
}

impl<const N: usize> Variables for [&VarStore; N] {
    fn variables(&self) -> Vec<(String, Tensor)> {
        self.as_slice().variables()
    }
}

impl Variables for [(String, Tensor)] {
    fn variables(&self) -> Vec<(String, Tensor)> {
        self.iter().map(|(name, tensor)| (name.clone(), tensor.shallow_clone())).collect()
    }
}

impl Variables for Vec<(String, Tensor)> {
    fn variables(&self) -> Vec<(String, Tensor)> {
        self.as_slice().variables()
    }
}

/// A model without weights.
impl Variables for () {
    fn variables(&self) -> Vec<(String, Tensor)> {
        Vec::new()
    }
}

/// The dtype of a tensor.
pub(super) fn dtype(tensor: &Tensor) -> Result<Dtype> {
    Ok(match tensor.kind() {
        Kind::Uint8 => Dtype::Uint8,
        Kind::Int8 => Dtype::Int8,
        Kind::Int16 => Dtype::Int16,
        Kind::Int => Dtype::Int32,
        Kind::Int64 => Dtype::Int64,
        Kind::Half => Dtype::Float16,
        Kind::Float => Dtype::Float32,
        Kind::Double => Dtype::Float64,
        Kind::ComplexHalf => Dtype::Complex32,
        Kind::ComplexFloat => Dtype::Complex64,
        Kind::ComplexDouble => Dtype::Complex128,
        Kind::Bool => Dtype::Bool,
        Kind::BFloat16 => Dtype::Bfloat16,
        kind => return Err(Error::unsupported(format!("tensors of kind {kind:?} cannot be exported"))),
    })
}

/// A tensor as a weight that reads the tensor's memory. One on another device is copied to the host.
pub(super) fn weight(name: &str, tensor: &Tensor) -> Result<Weight> {
    let located = |error: Error| error.at(format!("weight `{name}`"));
    let dtype = dtype(tensor).map_err(located)?;
    if tensor.is_sparse() || tensor.is_mkldnn() {
        return Err(located(Error::unsupported("it is not a dense tensor")));
    }
    let tensor = match tensor.device() {
        Device::Cpu => tensor.shallow_clone(),
        _ => tensor.to_device(Device::Cpu),
    };
    let (sizes, strides) = (tensor.size(), tensor.stride());
    let memory = Lent::new(tensor, &sizes, &strides, dtype);
    let storage = Storage::Lent(Arc::new(memory));
    Ok(Weight { name: name.to_owned(), dtype, sizes, strides, offset: 0, storage })
}

/// The memory of a tensor, which lives as long as this.
#[derive(Debug)]
struct Lent {
    address: usize,
    bytes: usize,
    _owner: Mutex<Tensor>,
}

impl Lent {
    fn new(tensor: Tensor, sizes: &[i64], strides: &[i64], dtype: Dtype) -> Lent {
        let address: *mut c_void = tensor.data_ptr();
        let elements: i64 = match sizes.contains(&0) {
            true => 0,
            false => 1 + sizes.iter().zip(strides).map(|(size, stride)| (size - 1) * stride).sum::<i64>(),
        };
        let bytes = u64::try_from(elements).ok().and_then(|elements| dtype.bytes(elements));
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        Lent { address: address as usize, bytes, _owner: Mutex::new(tensor) }
    }
}

impl Memory for Lent {
    fn bytes(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: libtorch gives the address of the first element of a tensor on the CPU, which `_owner` keeps; the number of bytes
        // follows from its sizes and strides.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }
}
