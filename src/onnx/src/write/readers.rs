//! Other models that read their weights from a file of data which is about to be replaced.

use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::stage::Staged;
use crate::proto::{GraphProto, NodeProto, SparseTensorProto, TensorProto};
use crate::read::Source;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::open_regular;

/// The most bytes that are compared at once.
const CHUNK: usize = 1 << 20;

/// Checks that no other model in the folder reads the data that is replaced, unless it stays the same.
///
/// # Errors
/// Such a model, which would have the weights of another one.
pub fn keep_others(data: &mut Staged, models: &[&Path]) -> Result<()> {
    let place = data.destination().to_path_buf();
    let Some(location) = place.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
    if !place.is_file() {
        return Ok(());
    }
    let Some(other) = others(&place, models).into_iter().find(|other| reads(other, location)) else { return Ok(()) };
    if same_bytes(&place, data.file()).unwrap_or(false) {
        return Ok(());
    }
    let (other, place) = (other.display(), place.display());
    Err(Error::new(Kind::Io, format!("cannot write `{place}`: another model, `{other}`, reads its weights from it"))
        .help(format!(
            "write to another folder or name; or make that model self-contained first: `aten2onnx pack {other}`"
        )))
}

/// The models in the folder of the data that are not written now.
fn others(data: &Path, models: &[&Path]) -> Vec<PathBuf> {
    let folder = data.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let written = |name: &std::ffi::OsStr| models.iter().any(|model| model.file_name() == Some(name));
    let names = entries.filter_map(|entry| entry.ok()).map(|entry| entry.file_name());
    let is_model = |name: &std::ffi::OsString| Path::new(name).extension().is_some_and(|end| end == "onnx");
    let mut others: Vec<PathBuf> =
        names.filter(|name| is_model(name) && !written(name)).map(|name| data.with_file_name(name)).collect();
    others.sort();
    others
}

/// Whether a file is a model with weights at this location. A file that is none reads nothing.
fn reads(path: &Path, location: &str) -> bool {
    Source::open(path).is_ok_and(|Source { proto: model, .. }| {
        model.graph.iter().any(|graph| graph_reads(graph, location))
            || model.functions.iter().any(|function| nodes_read(&function.node, location))
    })
}

fn graph_reads(graph: &GraphProto, location: &str) -> bool {
    graph.initializer.iter().any(|tensor| tensor_reads(tensor, location))
        || graph.sparse_initializer.iter().any(|tensor| sparse_reads(tensor, location))
        || nodes_read(&graph.node, location)
}

fn nodes_read(nodes: &[NodeProto], location: &str) -> bool {
    nodes.iter().flat_map(|node| &node.attribute).any(|attribute| {
        attribute.t.iter().chain(&attribute.tensors).any(|tensor| tensor_reads(tensor, location))
            || attribute
                .sparse_tensor
                .iter()
                .chain(&attribute.sparse_tensors)
                .any(|tensor| sparse_reads(tensor, location))
            || attribute.g.iter().chain(&attribute.graphs).any(|graph| graph_reads(graph, location))
    })
}

fn sparse_reads(tensor: &SparseTensorProto, location: &str) -> bool {
    tensor.values.iter().chain(&tensor.indices).any(|tensor| tensor_reads(tensor, location))
}

fn tensor_reads(tensor: &TensorProto, location: &str) -> bool {
    let locations = tensor.external_data.iter().filter(|entry| entry.key() == "location");
    locations
        .into_iter()
        .any(|entry| Path::new(entry.value()) == Path::new(location) || entry.value() == format!("./{location}"))
}

/// Whether the file has the bytes of the new one.
fn same_bytes(path: &Path, new: &mut fs::File) -> io::Result<bool> {
    let mut old = open_regular(path).map_err(|error| io::Error::other(error.message.clone()))?;
    if old.metadata()?.len() != new.metadata()?.len() {
        return Ok(false);
    }
    new.rewind()?;
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let len = old.read(&mut left)?;
        let (Some(old), Some(new_bytes)) = (left.get(..len), right.get_mut(..len)) else { return Ok(false) };
        if len == 0 {
            return Ok(true);
        }
        new.read_exact(new_bytes)?;
        if old != new_bytes {
            return Ok(false);
        }
    }
}
