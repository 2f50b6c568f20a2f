//! Writes a model: the message from memory, the weights from where they lie.
//!
//! Protobuf wants the length of a message before its contents, so all lengths are computed first; then everything goes
//! out front to back in one pass, and stdout will do as well as a file. The initializers come last in the graph, which
//! comes last in the model: fields may stand in any order.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use super::external::{self, ExternalData};
use super::model::{Initializer, Model, number};
use super::payload::Payload;
use super::proto::{TensorProto, tensor_proto::DataLocation};
use super::read::LIMIT;
use super::stage::{Staged, io_failed};
use crate::error::{Error, Kind, Result};
use crate::weights::Storage;

/// Is told how many bytes of how many are written; an error stops the writing, which then leaves nothing behind.
pub type Progress<'a> = dyn FnMut(u64, u64) -> Result<()> + 'a;

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the .onnx.
    pub model: u64,
    /// The file of external data and its bytes.
    pub data: Option<(PathBuf, u64)>,
    /// Bytes of weights, wherever they went.
    pub weights: u64,
}

const MODEL_GRAPH: u32 = 7;
const GRAPH_INITIALIZER: u32 = 5;
const TENSOR_RAW_DATA: u32 = 9;

/// Writes to a file, which appears when it is whole, and perhaps `<name>.data` beside it. A path that exists and is no
/// regular file (a device, a pipe) is written to as it is.
///
/// `sources` are files that must not be overwritten; those that the weights are mapped from are known anyhow.
pub fn write_file(
    model: &Model,
    path: &Path,
    external: ExternalData,
    sources: &[PathBuf],
    progress: &mut Progress<'_>,
) -> Result<Written> {
    let location = location(path)?;
    let plan = Plan::new(model, external, Some(&location))?;
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return write_special(&plan, path, progress);
    }
    let data_path = plan.data.map(|_| path.with_file_name(&location));
    for destination in [Some(path), data_path.as_deref()].into_iter().flatten() {
        keep_sources(destination, model, sources)?;
    }
    let mut meter = Meter { done: 0, total: plan.model + plan.data.unwrap_or(0), progress };
    let mut staged = Staged::create(path)?;
    let mut staged_data = data_path.as_deref().map(Staged::create).transpose()?;
    if let (Some(staged), Some(path)) = (&mut staged_data, &data_path) {
        into_file(staged.file(), path, |out| plan.write_data(out, &mut meter))?;
    }
    into_file(staged.file(), path, |out| plan.write_model(out, &mut meter))?;
    // The data first: a model that is there has its data.
    staged_data.map_or(Ok(()), Staged::commit)?;
    staged.commit()?;
    Ok(plan.written(data_path))
}

/// Writes to a stream, all in one.
pub fn write_to(model: &Model, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Written> {
    let plan = Plan::new(model, ExternalData::Never, None)?;
    let mut meter = Meter { done: 0, total: plan.model, progress };
    plan.write_model(&mut Sink { out, failed: &|error| error.into() }, &mut meter)?;
    out.flush()?;
    Ok(plan.written(None))
}

fn write_special(plan: &Plan<'_>, path: &Path, progress: &mut Progress<'_>) -> Result<Written> {
    if plan.data.is_some() {
        let error =
            Error::unsupported(format!("`{}` is not a file and can have no external data beside it", path.display()));
        return Err(error.help("use a file, or `--external-data never`"));
    }
    let mut file = File::options().write(true).open(path).map_err(|error| io_failed(path, &error))?;
    let mut meter = Meter { done: 0, total: plan.model, progress };
    into_file(&mut file, path, |out| plan.write_model(out, &mut meter))?;
    Ok(plan.written(None))
}

/// Everything that will be written, with all lengths known.
struct Plan<'a> {
    /// The model but for its graph.
    head: Vec<u8>,
    /// The graph but for the tensors.
    graph: Vec<u8>,
    graph_len: u64,
    tensors: Vec<Tensor<'a>>,
    /// Bytes of the .onnx.
    model: u64,
    /// Bytes of the external data.
    data: Option<u64>,
}

struct Tensor<'a> {
    /// The message but for its raw data.
    header: Vec<u8>,
    payload: Payload<'a>,
    /// In the external data.
    offset: Option<u64>,
}

impl<'a> Plan<'a> {
    fn new(model: &'a Model, external: ExternalData, location: Option<&str>) -> Result<Plan<'a>> {
        let payloads = || model.weights.iter().map(|w| Payload::new(&w.weight)).collect::<Result<Vec<_>>>();
        if external != ExternalData::Always || location.is_none() {
            let payloads = payloads()?;
            let inside = vec![None; payloads.len()];
            let plan = Plan::of(model, payloads, &inside, "")?;
            if plan.model <= LIMIT {
                return Ok(plan);
            }
            if external == ExternalData::Never || location.is_none() {
                return Err(beyond_limit(plan.model, location.is_some()));
            }
        }
        let payloads = payloads()?;
        let offsets = external::offsets(&payloads)?;
        let plan = Plan::of(model, payloads, &offsets, location.unwrap_or_default())?;
        match plan.model > LIMIT {
            true => {
                Err(Error::unsupported(format!("the graph alone takes {} bytes, beyond protobuf's 2 GiB", plan.model)))
            }
            false => Ok(plan),
        }
    }

    fn of(model: &'a Model, payloads: Vec<Payload<'a>>, offsets: &[Option<u64>], location: &str) -> Result<Plan<'a>> {
        let mut proto = model.proto.clone();
        let graph = proto.graph.take().unwrap_or_default().encode_to_vec();
        let mut tensors = Vec::with_capacity(payloads.len());
        for ((initializer, payload), offset) in model.weights.iter().zip(payloads).zip(offsets) {
            let header = header(initializer, payload.len(), *offset, location)?.encode_to_vec();
            tensors.push(Tensor { header, payload, offset: *offset });
        }
        let head = proto.encode_to_vec();
        let graph_len = tensors.iter().try_fold(graph.len() as u64, |sum, tensor| sum.checked_add(tensor.field_len()?));
        let graph_len = graph_len.ok_or_else(|| Error::unsupported("the weights are larger than any file"))?;
        let model = head.len() as u64 + prefix(MODEL_GRAPH, graph_len).len() as u64 + graph_len;
        let data = tensors.iter().filter_map(|tensor| Some(tensor.offset? + tensor.payload.len())).max();
        Ok(Plan { head, graph, graph_len, tensors, model, data })
    }

    fn write_model(&self, out: &mut Sink<'_>, meter: &mut Meter<'_, '_>) -> Result<()> {
        out.put(&self.head, meter)?;
        out.put(&prefix(MODEL_GRAPH, self.graph_len), meter)?;
        out.put(&self.graph, meter)?;
        for tensor in &self.tensors {
            out.put(&prefix(GRAPH_INITIALIZER, tensor.len().unwrap_or_default()), meter)?;
            out.put(&tensor.header, meter)?;
            if tensor.offset.is_none() {
                out.put(&prefix(TENSOR_RAW_DATA, tensor.payload.len()), meter)?;
                tensor.payload.write(&mut |chunk| out.put(chunk, meter))?;
            }
        }
        Ok(())
    }

    fn write_data(&self, out: &mut Sink<'_>, meter: &mut Meter<'_, '_>) -> Result<()> {
        let mut end = 0;
        for tensor in &self.tensors {
            // Offsets ascend but where a tensor shares the bytes of an earlier one.
            let Some(gap) = tensor.offset.and_then(|offset| offset.checked_sub(end)) else { continue };
            out.put(&vec![0; usize::try_from(gap).unwrap_or(0)], meter)?;
            tensor.payload.write(&mut |chunk| out.put(chunk, meter))?;
            end += gap + tensor.payload.len();
        }
        Ok(())
    }

    fn written(&self, data_path: Option<PathBuf>) -> Written {
        let weights = self.tensors.iter().map(|tensor| tensor.payload.len()).sum();
        Written { model: self.model, data: data_path.zip(self.data), weights }
    }
}

impl Tensor<'_> {
    /// Bytes of the message.
    fn len(&self) -> Option<u64> {
        let header = self.header.len() as u64;
        match self.offset {
            Some(_) => Some(header),
            None => {
                let len = self.payload.len();
                header.checked_add(prefix(TENSOR_RAW_DATA, len).len() as u64)?.checked_add(len)
            }
        }
    }

    /// Bytes of the message as a field of the graph.
    fn field_len(&self) -> Option<u64> {
        let len = self.len()?;
        len.checked_add(prefix(GRAPH_INITIALIZER, len).len() as u64)
    }
}

fn header(initializer: &Initializer, len: u64, offset: Option<u64>, location: &str) -> Result<TensorProto> {
    let external = offset.map(|offset| external::entries(location, offset, len));
    Ok(TensorProto {
        dims: initializer.weight.sizes.clone(),
        data_type: Some(number(initializer.dtype)?),
        name: Some(initializer.name.clone()),
        data_location: external.as_ref().map(|_| DataLocation::External.into()),
        external_data: external.unwrap_or_default(),
        ..TensorProto::default()
    })
}

/// The key and length of a field that holds bytes.
fn prefix(field: u32, len: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(12);
    encode_key(field, WireType::LengthDelimited, &mut bytes);
    encode_varint(len, &mut bytes);
    bytes
}

/// Where bytes go, and how a failure there is said.
struct Sink<'a> {
    out: &'a mut dyn Write,
    failed: &'a dyn Fn(io::Error) -> Error,
}

struct Meter<'a, 'b> {
    done: u64,
    total: u64,
    progress: &'a mut Progress<'b>,
}

impl Sink<'_> {
    fn put(&mut self, bytes: &[u8], meter: &mut Meter<'_, '_>) -> Result<()> {
        self.out.write_all(bytes).map_err(self.failed)?;
        meter.done += bytes.len() as u64;
        (meter.progress)(meter.done, meter.total)
    }
}

fn into_file(file: &mut File, path: &Path, write: impl FnOnce(&mut Sink<'_>) -> Result<()>) -> Result<()> {
    let failed = |error: io::Error| io_failed(path, &error);
    let mut out = BufWriter::with_capacity(64 << 10, file);
    write(&mut Sink { out: &mut out, failed: &failed })?;
    out.flush().map_err(failed)
}

/// The file name of the external data of this model.
fn location(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name =
        name.ok_or_else(|| Error::new(Kind::Io, format!("cannot write `{}`: not the name of a file", path.display())))?;
    Ok(format!("{name}.data"))
}

fn keep_sources(destination: &Path, model: &Model, sources: &[PathBuf]) -> Result<()> {
    let mapped = model.weights.iter().filter_map(|weight| match &weight.weight.storage {
        Storage::Mapped { file, .. } => Some(&file.path),
        Storage::Lent(_) | Storage::Owned(_) => None,
    });
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

fn beyond_limit(len: u64, is_file: bool) -> Error {
    let error = Error::unsupported(format!("the model takes {len} bytes, and protobuf's limit is 2 GiB"));
    error.help(if is_file { "leave out `--external-data never`" } else { "write to a file: `-o model.onnx`" })
}
