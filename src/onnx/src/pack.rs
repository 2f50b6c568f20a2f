//! Makes models self-contained: finds, checks and maps external data so that it can be written again.

use std::path::Path;
use std::sync::Arc;

use prost::bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::model::{Initializer, Model};
use crate::proto::{GraphProto, NodeProto, SparseTensorProto, TensorProto, tensor_proto::DataLocation};
use crate::read;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Demand, Links, MappedFile, Storage, Weight, row_major};

/// Reads a model; its external data is not read before writing.
///
/// # Errors
/// A file that is not a model, or external data that is missing, truncated, or outside the model's folder, also by a symbolic link unless
/// links are followed.
pub fn open(path: &Path, links: Links) -> Result<Model> {
    let mut proto = read::read_file(path)?;
    let mut packer = Packer {
        folder: path.parent().unwrap_or(Path::new("")),
        links,
        files: FxHashMap::default(),
        demand: Demand::copied(),
    };
    let mut weights = Vec::new();
    let taken = (|| {
        if let Some(graph) = &mut proto.graph {
            let (external, inside) = std::mem::take(&mut graph.initializer).into_iter().partition(is_external);
            graph.initializer = inside;
            weights = external.iter().map(|tensor| packer.initializer(tensor)).collect::<Result<_>>()?;
            packer.graph(graph)?;
        }
        proto.functions.iter_mut().flat_map(|function| &mut function.node).try_for_each(|node| packer.node(node))
    })();
    taken.map_err(|error: Error| error.at(path.display().to_string()))?;
    Ok(Model { proto, weights })
}

fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location() == DataLocation::External
}

struct Packer<'a> {
    /// The folder that locations are relative to.
    folder: &'a Path,
    links: Links,
    files: FxHashMap<String, Arc<MappedFile>>,
    /// What is moved into the message.
    demand: Demand,
}

impl Packer<'_> {
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
        }
        Ok(())
    }

    fn initializer(&mut self, tensor: &TensorProto) -> Result<Initializer> {
        let name = tensor.name().to_owned();
        self.weight(tensor).map_err(|error| error.at(format!("tensor `{name}`"))).map(|weight| Initializer {
            name: name.clone(),
            dtype: weight.dtype,
            weight: Arc::new(weight),
        })
    }

    fn weight(&mut self, tensor: &TensorProto) -> Result<Weight> {
        let entry = |key: &str| tensor.external_data.iter().find(|entry| entry.key() == key).map(|entry| entry.value());
        let number = |key: &str| -> Result<Option<usize>> {
            let wrong = |text: &str| Error::input(format!("`{key}` of its external data is `{text}`, not a number"));
            entry(key).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
        };
        let location = entry("location").ok_or_else(|| Error::input("its external data has no location"))?;
        let dtype = Dtype::from_onnx(tensor.data_type()).filter(|dtype| dtype.bits() > 0);
        let dtype = dtype.ok_or_else(|| Error::input("its element type cannot be stored in external data"))?;
        let sizes = tensor.dims.clone();
        let weight = |storage| {
            let strides = row_major(&sizes);
            Weight { name: tensor.name().to_owned(), dtype, sizes: sizes.clone(), strides, offset: 0, storage }
        };
        let overflow = || Error::input(format!("its sizes {sizes:?} overflow"));
        let len = weight(Storage::Owned(Arc::new([]))).byte_len().and_then(|len| usize::try_from(len).ok());
        let len = len.ok_or_else(overflow)?;
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
        Ok(weight(Storage::Mapped { file, start, len }))
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
