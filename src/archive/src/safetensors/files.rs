//! Finds safetensors files, reads their headers and checks them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype as FileDtype, Metadata, TensorInfo};
use serde::Deserialize;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::{MappedFile, Storage, Weight, open_regular, row_major};

/// The part of an index that says where tensors are.
#[derive(Deserialize)]
struct Index {
    /// The file of each tensor.
    weight_map: BTreeMap<String, String>,
}

/// The length of the number before a header.
const LENGTH: usize = 8;
/// The longest header of the format.
const MOST_HEADER: usize = 100_000_000;

/// The tensors of a file, an index or a folder.
pub fn read_all(path: &Path) -> Result<FxHashMap<String, Arc<Weight>>> {
    let mut tensors = FxHashMap::default();
    read(path, &mut tensors).map_err(|error| error.at(path.display().to_string()))?;
    Ok(tensors)
}

/// Adds the tensors of a file, of the shards of an index, or of a folder.
pub fn read(path: &Path, tensors: &mut FxHashMap<String, Arc<Weight>>) -> Result<()> {
    if path.is_dir() {
        return folder(path, tensors);
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        return shards(path, tensors);
    }
    file(path, tensors)
}

/// A folder: its index if it has one, else all its files.
fn folder(path: &Path, tensors: &mut FxHashMap<String, Arc<Weight>>) -> Result<()> {
    let mut names = Vec::new();
    for entry in path.read_dir()? {
        names.push(entry?.path());
    }
    names.sort();
    let named = |end: &str| -> Vec<PathBuf> {
        let ends = |name: &&PathBuf| name.file_name().is_some_and(|name| name.to_string_lossy().ends_with(end));
        names.iter().filter(ends).cloned().collect()
    };
    let in_file = |path: &Path, error: Error| error.at(path.file_name().unwrap_or_default().to_string_lossy());
    match named(".safetensors.index.json").as_slice() {
        [] => {}
        [index] => return shards(index, tensors).map_err(|error| in_file(index, error)),
        _ => {
            return Err(Error::input("the folder has several indexes (*.safetensors.index.json)")
                .help("give the one that is meant"));
        }
    }
    let found = named(".safetensors");
    if found.is_empty() {
        return Err(Error::new(Kind::Io, "the folder has no .safetensors file"));
    }
    found.iter().try_for_each(|name| file(name, tensors).map_err(|error| in_file(name, error)))
}

/// The shards that an index lists. A file may have more tensors than the index says.
fn shards(path: &Path, tensors: &mut FxHashMap<String, Arc<Weight>>) -> Result<()> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    let index: Index = serde_json::from_slice(&bytes).map_err(|error| {
        Error::input(format!("it is not an index of safetensors files: {error}"))
            .help("give a .safetensors file, its index, or the folder")
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut files: Vec<&str> = index.weight_map.values().map(String::as_str).collect();
    files.sort_unstable();
    files.dedup();
    let mut found = FxHashMap::default();
    for name in files {
        // An index may come from anywhere: it names files beside it, and no others.
        if Path::new(name).file_name().and_then(|only| only.to_str()) != Some(name) {
            return Err(Error::input(format!("it names the file `{name}`, which is not in its folder")));
        }
        file(&folder.join(name), &mut found).map_err(|error| error.at(name.to_owned()))?;
    }
    if let Some((tensor, name)) = index.weight_map.iter().find(|(tensor, _)| !found.contains_key(*tensor)) {
        return Err(Error::input(format!("it says that `{tensor}` is in `{name}`, which does not have it")));
    }
    found.into_iter().try_for_each(|(name, tensor)| add(name, tensor, tensors))
}

fn file(path: &Path, tensors: &mut FxHashMap<String, Arc<Weight>>) -> Result<()> {
    let file = MappedFile::open(path).map_err(Error::without_place)?;
    let (header, metadata) = header(&file)?;
    for (name, info) in metadata.tensors() {
        let weight =
            weight(&file, &name, info, LENGTH + header).map_err(|error| error.at(format!("tensor `{name}`")))?;
        add(name, Arc::new(weight), tensors)?;
    }
    Ok(())
}

/// The length of the header and what it says. It is read once: the file may change.
fn header(file: &MappedFile) -> Result<(usize, Metadata)> {
    let damaged = |error: SafeTensorError| {
        Error::input(format!("it is not a safetensors file, or it is damaged: {error}"))
            .help("download or copy the file again")
    };
    let length = file.read(0, LENGTH.min(file.size()))?;
    let length = length.first_chunk().ok_or_else(|| damaged(SafeTensorError::HeaderTooSmall))?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MOST_HEADER {
        return Err(damaged(SafeTensorError::HeaderTooLarge));
    }
    if LENGTH + length > file.size() {
        return Err(damaged(SafeTensorError::InvalidHeaderLength));
    }
    let text = file.read(LENGTH, length)?;
    let metadata: Metadata =
        serde_json::from_slice(&text).map_err(|error| damaged(SafeTensorError::InvalidHeaderDeserialization(error)))?;
    match LENGTH + length + metadata.data_len() == file.size() {
        true => Ok((length, metadata)),
        false => Err(damaged(SafeTensorError::MetadataIncompleteBuffer)),
    }
}

fn add(name: String, tensor: Arc<Weight>, tensors: &mut FxHashMap<String, Arc<Weight>>) -> Result<()> {
    match tensors.contains_key(&name) {
        true => Err(Error::input(format!("another file has the tensor `{name}` as well"))),
        false => {
            tensors.insert(name, tensor);
            Ok(())
        }
    }
}

/// A tensor at offsets from `start`.
fn weight(file: &Arc<MappedFile>, name: &str, info: &TensorInfo, start: usize) -> Result<Weight> {
    let (first, end) = info.data_offsets;
    let sizes = info.shape.iter().map(|size| i64::try_from(*size));
    let sizes: Vec<i64> = sizes.collect::<Result<_, _>>().map_err(|_| Error::input("a size is too large"))?;
    let storage = Storage::Mapped { file: Arc::clone(file), start: start + first, len: end - first };
    let strides = row_major(&sizes);
    Ok(Weight { name: name.to_owned(), dtype: dtype(info.dtype)?, sizes, strides, offset: 0, storage })
}

fn dtype(dtype: FileDtype) -> Result<Dtype> {
    Ok(match dtype {
        FileDtype::BOOL => Dtype::Bool,
        FileDtype::U8 => Dtype::Uint8,
        FileDtype::I8 => Dtype::Int8,
        FileDtype::U16 => Dtype::Uint16,
        FileDtype::I16 => Dtype::Int16,
        FileDtype::U32 => Dtype::Uint32,
        FileDtype::I32 => Dtype::Int32,
        FileDtype::U64 => Dtype::Uint64,
        FileDtype::I64 => Dtype::Int64,
        FileDtype::F16 => Dtype::Float16,
        FileDtype::BF16 => Dtype::Bfloat16,
        FileDtype::F32 => Dtype::Float32,
        FileDtype::F64 => Dtype::Float64,
        FileDtype::C64 => Dtype::Complex64,
        FileDtype::F4 => Dtype::Float4E2M1,
        FileDtype::F8_E4M3 => Dtype::Float8E4M3FN,
        FileDtype::F8_E5M2 => Dtype::Float8E5M2,
        FileDtype::F8_E8M0 => Dtype::Float8E8M0,
        FileDtype::F8_E4M3FNUZ => Dtype::Float8E4M3FNUZ,
        FileDtype::F8_E5M2FNUZ => Dtype::Float8E5M2FNUZ,
        other => return Err(Error::unsupported(format!("ONNX has no element type for {other:?}"))),
    })
}
