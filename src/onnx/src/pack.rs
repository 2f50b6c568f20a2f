//! Makes models self-contained: finds, checks and maps external data so that it can be written again.

use std::path::Path;
use std::sync::Arc;

use prost::bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::model::{Initializer, Model};
use crate::proto::{GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, tensor_proto::DataLocation};
use crate::read::{self, Source};
use crate::write::SMALLEST;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Demand, Links, MappedFile, Storage, Weight, row_major};

/// Reads a model; its external data is not read before writing.
///
/// # Errors
/// A file that is not a model, or external data that is missing, truncated, or outside the model's folder, also by a symbolic link unless
/// links are followed.
pub fn open(path: &Path, links: Links) -> Result<Model> {
    let proto = read::read_file(path)?;
    let packed = Packer::new(path, links, None).model(proto);
    packed.map_err(|error| error.at(path.display().to_string()))
}

/// A model whose weights stay where they are, in its own file or beside it, until it is written. Nothing else refers to its file.
///
/// # Errors
/// External data that is missing, truncated, or outside the model's folder, also by a symbolic link unless links are followed.
pub fn streamed(source: &Source) -> Result<Model> {
    let path = &source.file.path;
    let streamed = Packer::new(path, source.links, Some(source)).model(source.proto.clone());
    streamed.map_err(|error| error.at(path.display().to_string()))
}

fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location() == DataLocation::External
}

struct Packer<'a> {
    /// The file of the model, if its large tensors stay there.
    source: Option<&'a Source>,
    /// The folder that locations are relative to.
    folder: &'a Path,
    links: Links,
    files: FxHashMap<String, Arc<MappedFile>>,
    /// What is moved into the message.
    demand: Demand,
}

impl<'a> Packer<'a> {
    fn new(path: &'a Path, links: Links, source: Option<&'a Source>) -> Packer<'a> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Packer { source, folder, links, files: FxHashMap::default(), demand: Demand::copied() }
    }

    fn model(&mut self, mut proto: ModelProto) -> Result<Model> {
        let weights = self.weights(&mut proto)?;
        Ok(Model { proto, weights })
    }

    /// Takes the weights out of a model, and moves other external data into it.
    fn weights(&mut self, proto: &mut ModelProto) -> Result<Vec<Initializer>> {
        let mut weights = Vec::new();
        if let Some(graph) = &mut proto.graph {
            let mut inside = Vec::new();
            for tensor in std::mem::take(&mut graph.initializer) {
                match self.stored(&tensor)? {
                    Some(weight) => weights.push(weight),
                    None if is_external(&tensor) => weights.push(self.initializer(&tensor)?),
                    None => inside.push(tensor),
                }
            }
            graph.initializer = inside;
            self.graph(graph)?;
        }
        proto.functions.iter_mut().flat_map(|function| &mut function.node).try_for_each(|node| self.node(node))?;
        Ok(weights)
    }

    /// A large tensor that stays in the file of the model.
    fn stored(&self, tensor: &TensorProto) -> Result<Option<Initializer>> {
        let (Some(source), Some(raw)) = (self.source, &tensor.raw_data) else { return Ok(None) };
        let Some(start) = source.position(raw).filter(|_| raw.len() as u64 >= SMALLEST) else { return Ok(None) };
        let file = Arc::clone(&source.file);
        let placed = |error: Error| error.at(format!("tensor `{}`", tensor.name()));
        let weight = weight_of(tensor, |len| match len == raw.len() {
            true => Ok(Storage::Mapped { file, start, len }),
            false => Err(Error::input(format!("its type takes {len} bytes, but it has {}", raw.len()))),
        });
        weight.map(Some).map_err(placed)
    }

    /// Tensors outside of the main graph's initializers are small and are moved into the message.
    fn graph(&mut self, graph: &mut GraphProto) -> Result<()> {
        graph.initializer.iter_mut().try_for_each(|tensor| self.tensor(tensor))?;
        graph.sparse_initializer.iter_mut().try_for_each(|tensor| self.sparse(tensor))?;
        graph.node.iter_mut().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &mut NodeProto) -> Result<()> {
        for attribute in &mut node.attribute {
            attribute.t.iter_mut().chain(&mut attribute.tensors).try_for_each(|tensor| self.tensor(tensor))?;
            let sparse = attribute.sparse_tensor.iter_mut().chain(&mut attribute.sparse_tensors);
            sparse.into_iter().try_for_each(|tensor| self.sparse(tensor))?;
            attribute.g.iter_mut().chain(&mut attribute.graphs).try_for_each(|graph| self.graph(graph))?;
        }
        Ok(())
    }

    fn sparse(&mut self, tensor: &mut SparseTensorProto) -> Result<()> {
        tensor.values.iter_mut().chain(&mut tensor.indices).try_for_each(|tensor| self.tensor(tensor))
    }

    fn tensor(&mut self, tensor: &mut TensorProto) -> Result<()> {
        if is_external(tensor) {
            let initializer = self.initializer(tensor)?;
            self.demand.add_source_of(&initializer.weight);
            let len = initializer.weight.storage.bytes().len();
            self.demand.want(len as u64).map_err(|error| error.at(format!("tensor `{}`", tensor.name())))?;
            tensor.raw_data = Some(Bytes::from(initializer.weight.storage.read()?.into_owned()));
            tensor.data_location = None;
            tensor.external_data.clear();
            return Ok(());
        }
        self.source.map_or(Ok(()), |source| source.own(tensor))
    }

    fn initializer(&mut self, tensor: &TensorProto) -> Result<Initializer> {
        self.external(tensor).map_err(|error| error.at(format!("tensor `{}`", tensor.name())))
    }

    fn external(&mut self, tensor: &TensorProto) -> Result<Initializer> {
        let entry = |key: &str| tensor.external_data.iter().find(|entry| entry.key() == key).map(|entry| entry.value());
        let number = |key: &str| -> Result<Option<usize>> {
            let wrong = |text: &str| Error::input(format!("`{key}` of its external data is `{text}`, not a number"));
            entry(key).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
        };
        let location = entry("location").ok_or_else(|| Error::input("its external data has no location"))?;
        weight_of(tensor, |len| {
            if number("length")?.is_some_and(|given| given != len) {
                let given = entry("length").unwrap_or_default();
                return Err(Error::input(format!("its type takes {len} bytes, but its external data has {given}")));
            }
            let file = self.file(location)?;
            let start = number("offset")?.unwrap_or(0);
            if start.checked_add(len).is_none_or(|end| end > file.bytes().len()) {
                let there = file.bytes().len();
                return Err(Error::input(format!(
                    "its {len} bytes at offset {start} exceed the {there} bytes of `{location}`"
                )));
            }
            Ok(Storage::Mapped { file, start, len })
        })
    }

    /// A file in the model's folder or below. Other locations may be an attack.
    fn file(&mut self, location: &str) -> Result<Arc<MappedFile>> {
        if let Some(file) = self.files.get(location) {
            return Ok(Arc::clone(file));
        }
        let file = MappedFile::open_below(self.folder, location, self.links).map_err(|error| match error.help {
            None => error.help("keep all files of a model in one folder"),
            Some(_) => error,
        })?;
        self.files.insert(location.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}

/// A tensor as a weight, whose storage is found by the number of its bytes.
fn weight_of(tensor: &TensorProto, storage: impl FnOnce(usize) -> Result<Storage>) -> Result<Initializer> {
    let dtype = Dtype::from_onnx(tensor.data_type()).filter(|dtype| dtype.bits() > 0);
    let dtype = dtype.ok_or_else(|| Error::input("its element type cannot be stored in external data"))?;
    let (name, sizes) = (tensor.name().to_owned(), tensor.dims.clone());
    let strides = row_major(&sizes);
    let empty = Storage::Owned(Arc::new([]));
    let mut weight = Weight { name: name.clone(), dtype, sizes, strides, offset: 0, storage: empty };
    let len = weight.byte_len().and_then(|len| usize::try_from(len).ok());
    let len = len.ok_or_else(|| Error::input(format!("its sizes {:?} overflow", weight.sizes)))?;
    weight.storage = storage(len)?;
    Ok(Initializer { name, dtype, weight: Arc::new(weight) })
}
