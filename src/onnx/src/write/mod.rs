//! Writes a model: the message from memory, the weights from their sources.
//!
//! Protobuf stores the length of a message before its content, so all lengths are computed first; then the position of
//! every byte is known, in streams and in files (`fill`). The graph is the last field of the model and the initializers
//! the last fields of the graph: protobuf allows any order.

mod apart;
mod commit;
mod external;
mod fill;
mod link;
mod readers;
mod shared;
mod sources;
mod stage;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::model::{Initializer, Model, number};
use crate::pieces;
use crate::proto::{ModelProto, TensorProto, tensor_proto::DataLocation};
use crate::read::LIMIT;
pub use apart::{Listed, write_apart};
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::{Demand, Payload};
use external::DataPlace;
pub use external::ExternalData;
pub(crate) use external::SMALLEST;
pub use fill::Progress;
use fill::{Content, Meter, Piece};
pub use shared::{Equal, write_files};
use sources::{Sources, archive};
pub use stage::Staged;
pub use stage::discard_all;
pub use stage::io_failed;

/// The sizes of the written files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The size of the .onnx file.
    pub model: u64,
    /// The external data file and its size.
    pub data: Option<(PathBuf, u64)>,
    /// The bytes of weights that stay in the archive.
    pub linked: u64,
    /// The bytes of all weights.
    pub weights: u64,
    /// Pieces of an earlier save of these files that was interrupted.
    pub left_behind: Vec<PathBuf>,
}

impl Written {
    /// What to tell of an earlier save that was interrupted.
    pub fn advice(&self) -> Option<String> {
        pieces::advice(&self.left_behind)
    }
}

const MODEL_GRAPH: u32 = 7;
const GRAPH_INITIALIZER: u32 = 5;
const TENSOR_RAW_DATA: u32 = 9;

/// Writes to a file, which appears when it is complete, and to `<name>.data` next to it if needed. An existing path
/// that is not a regular file (a device, a pipe) is written to directly.
///
/// `sources` are files that must not be overwritten, in addition to those that the weights are mapped from.
pub fn write_file(
    model: &Model,
    path: &Path,
    external: ExternalData,
    sources: &[PathBuf],
    progress: &mut Progress<'_>,
) -> Result<Written> {
    let plan = Plan::new(model, external, Some(path))?;
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let sources = Sources::of([model]);
        let written = write_special(&plan, path, progress)?;
        return sources.check().map(|()| written);
    }
    let data_path = plan.data_path(path)?;
    for destination in [Some(path), data_path.as_deref()].into_iter().flatten() {
        keep_sources(destination, model, sources)?;
    }
    let sources_before = Sources::of([model]);
    let mut meter = Meter::new(plan.model + plan.data.unwrap_or(0), progress);
    let mut staged = Staged::create(path)?;
    let left_behind = [Some(path), data_path.as_deref()].into_iter().flatten().flat_map(pieces::left_behind).collect();
    let mut staged_data = data_path.as_deref().map(Staged::of_data).transpose()?;
    if let (Some(staged), Some(path)) = (&mut staged_data, &data_path) {
        fill::file(staged.file(), path, &plan.data_pieces(), &mut meter)?;
    }
    fill::file(staged.file(), path, &plan.model_pieces(), &mut meter)?;
    if let Some(staged) = &mut staged_data {
        readers::keep_others(staged, &[path])?;
    }
    sources_before.check()?;
    commit::commit(vec![staged], staged_data)?;
    Ok(Written { left_behind, ..plan.written(data_path) })
}

/// Writes to a stream, including the weights.
pub fn write_to(model: &Model, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Written> {
    let plan = Plan::new(model, ExternalData::Never, None)?;
    let sources = Sources::of([model]);
    let mut meter = Meter::new(plan.model, progress);
    fill::stream(out, &plan.model_pieces(), &mut meter, &Error::from)?;
    sources.check()?;
    Ok(plan.written(None))
}

/// The same, unless the weights are to be beside the model.
///
/// # Errors
/// External data that was asked for, besides those of [`write_to`].
pub fn write_stream(
    model: &Model,
    external: ExternalData,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> Result<Written> {
    let asked = match external {
        ExternalData::Always => "always",
        ExternalData::Link => "link",
        ExternalData::Auto | ExternalData::Never => return write_to(model, out, progress),
    };
    let error = Error::unsupported("a stream cannot have external data");
    Err(error.help(format!("omit `--external-data {asked}`, or write to a file")))
}

fn write_special(plan: &Plan<'_>, path: &Path, progress: &mut Progress<'_>) -> Result<Written> {
    if plan.data.is_some() {
        let error =
            Error::unsupported(format!("`{}` is not a regular file and cannot have external data", path.display()));
        return Err(error.help("use a file, or `--external-data never`"));
    }
    let mut file = File::options().write(true).open(path).map_err(|error| io_failed(path, &error))?;
    let mut meter = Meter::new(plan.model, progress);
    fill::stream(&mut file, &plan.model_pieces(), &mut meter, &|error| io_failed(path, &error))?;
    Ok(plan.written(None))
}

/// Everything that is written, with all lengths.
struct Plan<'a> {
    /// The model without its graph, followed by the key and length of the graph.
    head: Vec<u8>,
    /// The graph without the tensors.
    graph: Vec<u8>,
    tensors: Vec<Tensor<'a>>,
    /// The size of the .onnx file.
    model: u64,
    /// The size of the external data.
    data: Option<u64>,
}

struct Tensor<'a> {
    /// The field of the graph without raw data.
    lead: Vec<u8>,
    payload: Payload<'a>,
    place: DataPlace,
}

impl<'a> Plan<'a> {
    /// Lays out a model for a file, or for a stream if there is no path.
    fn new(model: &'a Model, external: ExternalData, path: Option<&Path>) -> Result<Plan<'a>> {
        let payloads = || model.weights.iter().map(|w| Payload::new(&w.weight)).collect::<Result<Vec<_>>>();
        let location = path.map(location).transpose()?.unwrap_or_default();
        if matches!(external, ExternalData::Auto | ExternalData::Never) || path.is_none() {
            let payloads = payloads()?;
            let inside = vec![DataPlace::Inside; payloads.len()];
            let plan = Plan::of(model, payloads, &inside, "")?;
            if plan.model <= LIMIT {
                return Ok(plan);
            }
            if external == ExternalData::Never || path.is_none() {
                return Err(beyond_limit(plan.model, path.is_some()));
            }
        }
        let payloads = payloads()?;
        let places = match (external, path) {
            (ExternalData::Link, Some(path)) => {
                external::place_linked(&payloads, path.parent().unwrap_or(Path::new(".")))?
            }
            _ => external::place_external(&payloads)?,
        };
        Plan::of(model, payloads, &places, &location)?.checked()
    }

    /// Checks that the model without external data stays within protobuf's limit.
    fn checked(self) -> Result<Plan<'a>> {
        self.within(LIMIT)
    }

    fn within(self, limit: u64) -> Result<Plan<'a>> {
        if self.model <= limit {
            return Ok(self);
        }
        let weights: u64 = self.tensors.iter().filter_map(Tensor::field_len).sum();
        let message = format!(
            "the model takes {} bytes without external data, but protobuf's limit is 2 GiB: {} of its nodes, types and small constants, {} of \
             its functions, {weights} of what it says of its weights",
            self.model,
            self.graph.len(),
            self.head.len(),
        );
        let help = "write layers once with `--functions repeated`, or short names with `--provenance none`";
        Err(Error::unsupported(message).help(help))
    }

    fn of(model: &'a Model, payloads: Vec<Payload<'a>>, places: &[DataPlace], location: &str) -> Result<Plan<'a>> {
        check_demand(model, &payloads)?;
        let graph = model.proto.graph.as_ref().map(Message::encode_to_vec).unwrap_or_default();
        let mut tensors = Vec::with_capacity(payloads.len());
        for ((initializer, payload), place) in model.weights.iter().zip(payloads).zip(places) {
            let header = header(initializer, payload.len(), place, location)?.encode_to_vec();
            let tensor = Tensor::new(&header, payload, place.clone());
            tensors.push(tensor.ok_or_else(too_large)?);
        }
        let graph_len = tensors.iter().try_fold(graph.len() as u64, |sum, tensor| sum.checked_add(tensor.field_len()?));
        let graph_len = graph_len.ok_or_else(too_large)?;
        let mut head = head(&model.proto).encode_to_vec();
        head.extend(prefix(MODEL_GRAPH, graph_len));
        let model = (head.len() as u64).checked_add(graph_len).ok_or_else(too_large)?;
        let end = |tensor: &Tensor<'_>| match tensor.place {
            DataPlace::Beside(offset) => Some(offset + tensor.payload.len()),
            DataPlace::Inside | DataPlace::Linked(_) => None,
        };
        let data = tensors.iter().filter_map(end).max();
        Ok(Plan { head, graph, tensors, model, data })
    }

    /// The external data file, if there is one.
    fn data_path(&self, path: &Path) -> Result<Option<PathBuf>> {
        self.data.map(|_| Ok(path.with_file_name(location(path)?))).transpose()
    }

    /// The .onnx file in order.
    fn model_pieces(&self) -> Vec<Piece<'_>> {
        let mut contents = vec![Content::Bytes(&self.head), Content::Bytes(&self.graph)];
        for tensor in &self.tensors {
            contents.push(Content::Bytes(&tensor.lead));
            if tensor.place == DataPlace::Inside {
                contents.push(Content::Payload(&tensor.payload));
            }
        }
        let mut end = 0;
        let placed = contents.into_iter().map(|content| {
            let piece = Piece { at: end, content };
            end += piece.len();
            piece
        });
        placed.collect()
    }

    /// The external data file in order.
    fn data_pieces(&self) -> Vec<Piece<'_>> {
        self.data_pieces_from(0)
    }

    /// The same of a file that other models have written to up to `end`.
    fn data_pieces_from(&self, mut end: u64) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        for tensor in &self.tensors {
            let DataPlace::Beside(at) = tensor.place else { continue };
            // Offsets ascend, except for tensors that share the bytes of an earlier one.
            if at >= end {
                pieces.push(Piece { at, content: Content::Payload(&tensor.payload) });
                end = at + tensor.payload.len();
            }
        }
        pieces
    }

    fn written(&self, data_path: Option<PathBuf>) -> Written {
        let bytes = |tensors: &mut dyn Iterator<Item = &Tensor<'_>>| tensors.map(|tensor| tensor.payload.len()).sum();
        let linked = bytes(&mut self.tensors.iter().filter(|tensor| matches!(tensor.place, DataPlace::Linked(_))));
        let weights = bytes(&mut self.tensors.iter());
        Written { model: self.model, data: data_path.zip(self.data), linked, weights, left_behind: Vec::new() }
    }
}

impl<'a> Tensor<'a> {
    /// A tensor; None if it is larger than any file.
    fn new(header: &[u8], payload: Payload<'a>, place: DataPlace) -> Option<Tensor<'a>> {
        let raw = match place {
            DataPlace::Beside(_) | DataPlace::Linked(_) => Vec::new(),
            DataPlace::Inside => prefix(TENSOR_RAW_DATA, payload.len()),
        };
        let inside = if place == DataPlace::Inside { payload.len() } else { 0 };
        let len = (header.len() as u64 + raw.len() as u64).checked_add(inside)?;
        let lead = [&prefix(GRAPH_INITIALIZER, len), header, &raw].concat();
        Some(Tensor { lead, payload, place })
    }

    /// The size of its field in the graph.
    fn field_len(&self) -> Option<u64> {
        let inside = if self.place == DataPlace::Inside { self.payload.len() } else { 0 };
        (self.lead.len() as u64).checked_add(inside)
    }
}

/// The model without its graph.
fn head(model: &ModelProto) -> ModelProto {
    let ModelProto {
        graph: _,
        ir_version,
        opset_import,
        producer_name,
        producer_version,
        domain,
        model_version,
        doc_string,
        metadata_props,
        training_info,
        functions,
        configuration,
    } = model;
    ModelProto {
        ir_version: *ir_version,
        opset_import: opset_import.clone(),
        producer_name: producer_name.clone(),
        producer_version: producer_version.clone(),
        domain: domain.clone(),
        model_version: *model_version,
        doc_string: doc_string.clone(),
        graph: None,
        metadata_props: metadata_props.clone(),
        training_info: training_info.clone(),
        functions: functions.clone(),
        configuration: configuration.clone(),
    }
}

fn header(initializer: &Initializer, len: u64, place: &DataPlace, location: &str) -> Result<TensorProto> {
    let external = match place {
        DataPlace::Inside => None,
        DataPlace::Beside(offset) => Some(external::entries(location, *offset, len)),
        DataPlace::Linked(linked) => Some(external::entries(&linked.location, linked.offset, len)),
    };
    Ok(TensorProto {
        dims: initializer.weight.sizes.clone(),
        data_type: Some(number(initializer.dtype)?),
        name: Some(initializer.name.clone()),
        data_location: external.as_ref().map(|_| DataLocation::External.into()),
        external_data: external.unwrap_or_default(),
        ..TensorProto::default()
    })
}

/// The key and length of a length-delimited field.
fn prefix(field: u32, len: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(12);
    encode_key(field, WireType::LengthDelimited, &mut bytes);
    encode_varint(len, &mut bytes);
    bytes
}

/// The name of the external data file for this model.
fn location(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name =
        name.ok_or_else(|| Error::new(Kind::Io, format!("cannot write `{}`: not the name of a file", path.display())))?;
    Ok(format!("{name}.data"))
}

fn keep_sources(destination: &Path, model: &Model, sources: &[PathBuf]) -> Result<()> {
    let mapped = model.weights.iter().filter_map(|weight| archive(&weight.weight)).map(|file| &file.path);
    let Ok(destination_is) = destination.canonicalize() else { return Ok(()) };
    let mut last: Option<&PathBuf> = None;
    for source in sources.iter().chain(mapped) {
        if last.replace(source) == Some(source) {
            continue;
        }
        if source.canonicalize().is_ok_and(|source| source == destination_is) {
            let text = format!("cannot write `{}`: the model is read from it", destination.display());
            return Err(Error::new(Kind::Io, text).help("choose another name with `-o`"));
        }
    }
    Ok(())
}

/// Checks that the weights are not much more than their sources.
fn check_demand(model: &Model, payloads: &[Payload<'_>]) -> Result<()> {
    let mut demand = Demand::written();
    model.weights.iter().for_each(|weight| demand.add_source_of(&weight.weight));
    payloads.iter().try_for_each(|payload| demand.want(payload.len()))
}

fn too_large() -> Error {
    Error::unsupported("the weights are larger than any file")
}

fn beyond_limit(len: u64, is_file: bool) -> Error {
    let error = Error::unsupported(format!("the model takes {len} bytes, but protobuf's limit is 2 GiB"));
    error.help(if is_file { "omit `--external-data never`" } else { "write to a file: `-o model.onnx`" })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::proto::{FunctionProto, GraphProto};

    #[test]
    fn a_graph_beyond_the_limit_says_what_takes_the_bytes() {
        let graph = GraphProto { name: Some("g".repeat(500)), ..GraphProto::default() };
        let function = FunctionProto { name: Some("f".repeat(300)), ..FunctionProto::default() };
        let proto = ModelProto { graph: Some(graph), functions: vec![function], ..ModelProto::default() };
        let model = Model { proto, weights: Vec::new() };
        let plan = || Plan::new(&model, ExternalData::Always, Some(Path::new("m.onnx"))).unwrap();
        let len = plan().model;
        assert!(plan().within(len).is_ok());
        let error = plan().within(len - 1).err().unwrap();
        assert!(error.message.starts_with(&format!("the model takes {len} bytes")), "{error}");
        assert!(
            error.message.contains("503 of its nodes") && error.help.clone().unwrap().contains("--functions repeated")
        );
    }
}
