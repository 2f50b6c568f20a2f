//! Locates the bytes of a model's tensors. Only small tensors are read.
//!
//! Raw data and the elements in `float_data` and `double_data` stay in the mapped file; files of external data are mapped once. The
//! integers of other typed fields are decoded.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Demand, Links, MappedFile, Memory, Storage, Weight};
use aten2onnx_onnx::graph::{Constant, Data};
use aten2onnx_onnx::proto::{SparseTensorProto, TensorProto, tensor_proto::DataLocation};
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::unpacked;
use prost::bytes::Bytes;

/// Larger tensors are weights, whose contents are not read.
const MAX_CONSTANT: usize = 1024;
/// The largest size in bytes of a sparse tensor that is converted to a dense one.
const MAX_DENSE: u64 = 1 << 28;

/// A tensor of the model.
#[derive(Debug, Clone)]
pub enum Tensor {
    /// A small tensor, or one of strings.
    Constant(Constant),
    /// A tensor whose bytes are not read.
    Weight(Arc<Weight>),
}

/// Reads the tensors of a model.
#[derive(Debug)]
pub struct Tensors<'a> {
    source: &'a Source,
    /// Which files the external data may be in.
    links: Links,
    demand: Demand,
    /// Files of external data, by location.
    files: HashMap<String, Arc<MappedFile>>,
    /// Whether any tensor had external data.
    pub external: bool,
}

impl<'a> Tensors<'a> {
    /// A reader for the tensors of a model.
    pub fn new(source: &'a Source, links: Links) -> Tensors<'a> {
        let mut demand = Demand::copied();
        demand.add_source(source.file.bytes().as_ptr() as usize, source.file.bytes().len() as u64);
        Tensors { source, links, demand, files: HashMap::new(), external: false }
    }

    /// The tensor.
    pub fn read(&mut self, proto: &TensorProto) -> Result<Tensor> {
        let (dtype, sizes, count) = layout(proto)?;
        if dtype == Dtype::String {
            return strings(proto, sizes, count).map(Tensor::Constant);
        }
        let storage = self.storage(proto, dtype, count)?;
        let needed = dtype.bytes(count as u64).unwrap_or(u64::MAX);
        if storage.bytes().len() as u64 != needed {
            let given = storage.bytes().len();
            return Err(Error::input(format!("{dtype}{sizes:?} takes {needed} bytes, but has {given}")));
        }
        if count <= MAX_CONSTANT {
            return Ok(Tensor::Constant(Constant::new(dtype, sizes, &*storage.read()?)));
        }
        let strides = strides(&sizes);
        let weight = Weight { name: proto.name().to_owned(), dtype, sizes, strides, offset: 0, storage };
        weight.check()?;
        Ok(Tensor::Weight(Arc::new(weight)))
    }

    /// Counts bytes that are copied into the result, of tensors that may be the same ones.
    fn want(&mut self, len: usize) -> Result<()> {
        self.demand.want(len as u64)
    }

    /// Puts the elements of external data inside a tensor.
    pub fn embed(&mut self, proto: &mut TensorProto) -> Result<()> {
        let storage = self.external(proto)?;
        self.want(storage.bytes().len())?;
        proto.raw_data = Some(storage.read()?.into_owned().into());
        proto.external_data.clear();
        proto.data_location = None;
        Ok(())
    }

    /// Gives a tensor that is not external its own bytes.
    pub fn own(&self, proto: &mut TensorProto) -> Result<()> {
        self.source.own(proto)
    }

    fn storage(&mut self, proto: &TensorProto, dtype: Dtype, count: usize) -> Result<Storage> {
        if proto.data_location() == DataLocation::External {
            return self.external(proto);
        }
        if let Some(raw) = &proto.raw_data {
            return Ok(self.stored(raw));
        }
        let (field, parts, width) = typed_field(proto, dtype);
        match (parts, width) {
            ([], _) if count > 0 => Err(Error::input("it has no data")),
            // Fixed-width elements are in the file as in raw data.
            ([one], None) => Ok(self.stored(one)),
            (parts, None) => Ok(Storage::Owned(self.all_owned(parts)?.concat().into())),
            (parts, Some(width)) => {
                let bytes = decoded(&self.all_owned(parts)?, width)
                    .ok_or_else(|| Error::input(format!("its `{field}` is damaged")))?;
                Ok(Storage::Lent(Arc::new(Decoded(bytes))))
            }
        }
    }

    fn all_owned(&self, parts: &[Bytes]) -> Result<Vec<Bytes>> {
        parts.iter().map(|bytes| self.source.owned(bytes)).collect()
    }

    fn stored(&self, bytes: &Bytes) -> Storage {
        // The bytes of a copied message are not in the mapped file.
        match self.source.position(bytes) {
            Some(start) => Storage::Mapped { file: Arc::clone(&self.source.file), start, len: bytes.len() },
            None => Storage::Owned(bytes.as_ref().into()),
        }
    }

    fn external(&mut self, proto: &TensorProto) -> Result<Storage> {
        self.external = true;
        let entry = |key: &str| proto.external_data.iter().find(|e| e.key() == key).map(|e| e.value());
        let number = |key: &str| -> Result<Option<usize>> {
            let wrong = || Error::input(format!("its external data has an invalid `{key}`"));
            entry(key).map(|text| text.parse().map_err(|_| wrong())).transpose()
        };
        let location = entry("location").ok_or_else(|| Error::input("its external data has no `location`"))?;
        let file = self.file(location)?;
        let start = number("offset")?.unwrap_or(0);
        let present = file.bytes().len();
        let len = match number("length")? {
            Some(len) => len,
            None => present.saturating_sub(start),
        };
        if start.checked_add(len).is_none_or(|end| end > present) {
            let message = format!("its {len} bytes at offset {start} exceed the {present} bytes of `{location}`");
            return Err(Error::input(message).help("check that the file is complete and belongs to this model"));
        }
        Ok(Storage::Mapped { file, start, len })
    }

    /// Only files in the model's folder are allowed.
    fn file(&mut self, location: &str) -> Result<Arc<MappedFile>> {
        if let Some(file) = self.files.get(location) {
            return Ok(Arc::clone(file));
        }
        let folder = self.source.file.path.parent().unwrap_or(Path::new(""));
        let file = MappedFile::open_below(folder, location, self.links).map_err(|error| match error.help {
            None => error.help("external data must be at the location given in the model, relative to the model"),
            Some(_) => error,
        })?;
        self.demand.add_source(file.bytes().as_ptr() as usize, file.bytes().len() as u64);
        self.files.insert(location.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    /// Converts a sparse tensor to a dense one.
    pub fn dense(&mut self, proto: &SparseTensorProto) -> Result<Tensor> {
        let values = proto.values.as_ref().ok_or_else(|| Error::input("a sparse tensor has no values"))?;
        let (dtype, _, count) = layout(values)?;
        let (total, len) = dense_size(proto, dtype)?;
        let width = match dtype.bits() {
            bits @ 8.. => (bits / 8) as usize,
            _ => return Err(Error::unsupported(format!("sparse tensors of {dtype} are not supported"))),
        };
        self.want(len)?;
        let values = self.storage(values, dtype, count)?;
        let values = values.read()?;
        let values = values.chunks_exact(width);
        let mut bytes = vec![0u8; len];
        let places = self.places(proto, values.len())?;
        for (place, value) in places.into_iter().zip(values) {
            let start = usize::try_from(place).ok().filter(|place| *place < total).map(|place| place * width);
            let element = start.and_then(|start| bytes.get_mut(start..start + width));
            element
                .ok_or_else(|| {
                    Error::input(format!("index {place} of a sparse tensor is out of range for {total} elements"))
                })?
                .copy_from_slice(value);
        }
        if total <= MAX_CONSTANT {
            return Ok(Tensor::Constant(Constant::new(dtype, proto.dims.clone(), bytes)));
        }
        let name = proto.values.as_ref().map(|v| v.name().to_owned()).unwrap_or_default();
        let (sizes, strides) = (proto.dims.clone(), strides(&proto.dims));
        Ok(Tensor::Weight(Arc::new(Weight {
            name,
            dtype,
            sizes,
            strides,
            offset: 0,
            storage: Storage::Owned(bytes.into()),
        })))
    }

    /// The row-major positions of a sparse tensor's values.
    fn places(&mut self, proto: &SparseTensorProto, count: usize) -> Result<Vec<i64>> {
        let indices = proto.indices.as_ref().ok_or_else(|| Error::input("a sparse tensor has no indices"))?;
        let (dtype, sizes, total) = layout(indices)?;
        let rank = proto.dims.len();
        let per_value = match sizes.as_slice() {
            [_] => 1,
            [_, columns] if usize::try_from(*columns) == Ok(rank) => rank,
            _ => return Err(Error::input(format!("the indices of a sparse tensor have invalid sizes {sizes:?}"))),
        };
        if dtype != Dtype::Int64 || Some(total) != count.checked_mul(per_value) {
            return Err(Error::input("the numbers of indices and values of a sparse tensor differ"));
        }
        let storage = self.storage(indices, dtype, total)?;
        let indices: Vec<i64> = storage.read()?.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect();
        if sizes.len() == 1 {
            return Ok(indices);
        }
        let strides = strides(&proto.dims);
        let place = |row: &[i64]| {
            let mut sum = 0i64;
            for ((index, size), stride) in row.iter().zip(&proto.dims).zip(&strides) {
                let inside = (0..*size).contains(index);
                sum = sum.checked_add(index.checked_mul(*stride)?).filter(|_| inside)?;
            }
            Some(sum)
        };
        let places: Option<Vec<i64>> = indices.chunks_exact(rank.max(1)).map(place).collect();
        places.ok_or_else(|| Error::input("an index of a sparse tensor is out of range"))
    }
}

/// The number of elements and bytes of the dense tensor.
fn dense_size(proto: &SparseTensorProto, dtype: Dtype) -> Result<(usize, usize)> {
    let count = elements(&proto.dims)?;
    let len = dtype.bytes(count as u64).filter(|len| *len <= MAX_DENSE);
    let len =
        len.ok_or_else(|| Error::unsupported(format!("a sparse tensor with the sizes {:?} is too large", proto.dims)))?;
    Ok((count, usize::try_from(len).unwrap_or(0)))
}

/// Element type, sizes and the number of elements.
fn layout(proto: &TensorProto) -> Result<(Dtype, Vec<i64>, usize)> {
    let number = proto.data_type();
    let dtype = Dtype::from_onnx(number).ok_or_else(|| Error::input(format!("unknown element type {number}")))?;
    if proto.segment.is_some() {
        return Err(Error::unsupported("tensors in segments are not supported"));
    }
    Ok((dtype, proto.dims.clone(), elements(&proto.dims)?))
}

fn elements(sizes: &[i64]) -> Result<usize> {
    let count = sizes.iter().try_fold(1usize, |count, size| count.checked_mul(usize::try_from(*size).ok()?));
    count.ok_or_else(|| Error::input(format!("invalid sizes {sizes:?}")))
}

/// Strides of elements in row-major order.
fn strides(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; sizes.len()];
    for i in (1..strides.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(sizes[i]);
    }
    strides
}

fn strings(proto: &TensorProto, sizes: Vec<i64>, count: usize) -> Result<Constant> {
    if proto.string_data.len() != count {
        let message = format!("expected {count} strings, found {}", proto.string_data.len());
        return Err(Error::input(message));
    }
    let text = |bytes: &prost::bytes::Bytes| String::from_utf8(bytes.to_vec());
    let texts: std::result::Result<Vec<String>, _> = proto.string_data.iter().map(text).collect();
    let texts = texts.map_err(|_| Error::unsupported("strings that are not UTF-8 are not supported"))?;
    Ok(Constant { dtype: Dtype::String, sizes, data: Data::Strings(texts.into()) })
}

/// Elements that were decoded from numbers of variable length.
#[derive(Debug)]
struct Decoded(Vec<u8>);

impl Memory for Decoded {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The field with the elements of a dtype, and the width of each if they are numbers of variable length.
fn typed_field(proto: &TensorProto, dtype: Dtype) -> (&'static str, &[Bytes], Option<usize>) {
    use Dtype::*;
    match dtype {
        Float32 | Complex64 => ("float_data", &proto.float_data, None),
        Float64 | Complex128 => ("double_data", &proto.double_data, None),
        Int64 => ("int64_data", &proto.int64_data, Some(8)),
        Uint64 => ("uint64_data", &proto.uint64_data, Some(8)),
        Uint32 => ("uint64_data", &proto.uint64_data, Some(4)),
        Int32 => ("int32_data", &proto.int32_data, Some(4)),
        Int16 | Uint16 | Float16 | Bfloat16 => ("int32_data", &proto.int32_data, Some(2)),
        // Elements of less than 8 bits are packed in bytes, each of which is a number.
        _ => ("int32_data", &proto.int32_data, Some(1)),
    }
}

/// The elements of a tensor that is in its message, as raw data has them; None if they are damaged, or elsewhere.
pub fn elements_of(proto: &TensorProto) -> Option<Vec<u8>> {
    if let Some(raw) = &proto.raw_data {
        return Some(raw.to_vec());
    }
    let dtype = Dtype::from_onnx(proto.data_type()).filter(|_| proto.data_location() != DataLocation::External)?;
    match typed_field(proto, dtype) {
        (_, parts, None) => Some(parts.concat()),
        (_, parts, Some(width)) => decoded(parts, width),
    }
}

/// Decodes numbers of variable length to `width` bytes each.
fn decoded(parts: &[Bytes], width: usize) -> Option<Vec<u8>> {
    let count: usize = parts.iter().map(|part| part.iter().filter(|byte| **byte < 0x80).count()).sum();
    let mut bytes = Vec::with_capacity(count.checked_mul(width)?);
    for part in parts {
        let mut rest = part.as_ref();
        while !rest.is_empty() {
            let number = unpacked::varint(&mut rest)?.to_le_bytes();
            bytes.extend_from_slice(number.get(..width)?);
        }
    }
    Some(bytes)
}
