//! Reads .onnx files into messages, with limits.

use std::path::Path;
use std::sync::Arc;

use prost::Message;
use prost::bytes::Bytes;

use crate::calls;
use crate::message::{self, Copies};
use crate::pieces;
use crate::proto::{ModelProto, TensorProto};
use crate::unpacked;
use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::foreign::Foreign;
use aten2onnx_core::weights::{Links, MappedFile};

/// Protobuf's limit of 2 GiB.
pub const LIMIT: u64 = i32::MAX as u64;

/// A model, and the file that contains the raw data of its tensors.
#[derive(Debug, Clone)]
pub struct Source {
    /// The message.
    pub proto: ModelProto,
    /// The file or buffer that it was read from.
    pub file: Arc<MappedFile>,
    /// Which files its external data may be in.
    pub links: Links,
    /// Where the tensors are in the file that were copied from it.
    copies: Arc<Copies>,
}

impl Source {
    /// Reads a model from a mapped file without copying raw data of tensors.
    pub fn open(path: &Path) -> Result<Source> {
        Source::of(MappedFile::open(path).map_err(|error| with_pieces(error, path))?)
    }

    /// Reads a model from bytes; `name` is used in messages.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Source> {
        Source::of(MappedFile::from_bytes(name, bytes))
    }

    /// Reads a model from a mapped file, as [`Source::open`].
    pub fn of(file: Arc<MappedFile>) -> Result<Source> {
        let mut copies = Copies::default();
        let proto = parse(&file, message::LARGE, &mut copies).map_err(|error| in_file(error, &file))?;
        Ok(Source { proto, file, links: Links::default(), copies: Arc::new(copies) })
    }

    /// The same model, whose external data may be in these files.
    #[must_use]
    pub fn with_links(self, links: Links) -> Source {
        Source { links, ..self }
    }

    /// The same file with another message, whose bytes may be in it.
    #[must_use]
    pub fn with_proto(self, proto: ModelProto) -> Source {
        Source { proto, ..self }
    }

    /// The position of bytes of the message in the file.
    pub fn position(&self, bytes: &Bytes) -> Option<usize> {
        if let Some(start) = self.copies.get(&(bytes.as_ptr() as usize)) {
            return Some(*start);
        }
        let start = (bytes.as_ptr() as usize).checked_sub(self.file.bytes().as_ptr() as usize)?;
        let end = start.checked_add(bytes.len())?;
        (end <= self.file.bytes().len()).then_some(start)
    }

    /// A copy of bytes that are in the file, which may change.
    pub fn owned(&self, bytes: &Bytes) -> Result<Bytes> {
        match self.position(bytes) {
            Some(start) => Ok(self.file.read(start, bytes.len())?.into_owned().into()),
            None => Ok(bytes.clone()),
        }
    }

    /// Gives a tensor that is not external its own bytes.
    pub fn own(&self, tensor: &mut TensorProto) -> Result<()> {
        let TensorProto { raw_data, float_data, double_data, int32_data, int64_data, uint64_data, string_data, .. } =
            tensor;
        let fields = [float_data, double_data, int32_data, int64_data, uint64_data, string_data];
        for bytes in raw_data.iter_mut().chain(fields.into_iter().flatten()) {
            *bytes = self.owned(bytes)?;
        }
        Ok(())
    }
}

/// Reads a model with all that it contains into memory.
pub fn read_file(path: &Path) -> Result<ModelProto> {
    let file = MappedFile::open(path).map_err(|error| with_pieces(error, path))?;
    parse(&file, usize::MAX, &mut Copies::default()).map_err(|error| in_file(error, &file))
}

fn in_file(error: Error, file: &MappedFile) -> Error {
    // Errors of reading name it.
    if error.kind == Kind::Io { error } else { error.at(file.path.display().to_string()) }
}

/// The error of a model that cannot be opened: of one that is not there, it names what an interrupted save left.
pub fn with_pieces(error: Error, path: &Path) -> Error {
    if path.exists() {
        return error;
    }
    let mut data = path.as_os_str().to_owned();
    data.push(".data");
    let pieces = [path, Path::new(&data)].map(pieces::left_behind).concat();
    match pieces::advice(&pieces) {
        Some(advice) => error.help(advice),
        None => error,
    }
}

/// Reads a model; its large tensors stay in the file.
fn parse(file: &Arc<MappedFile>, large: usize, copies: &mut Copies) -> Result<ModelProto> {
    if file.size() as u64 > LIMIT {
        return Err(Error::input(format!("{} bytes exceed protobuf's limit of 2 GiB", file.size())));
    }
    // prost limits the nesting of messages, and allocates no more than the input justifies.
    let model = match message::decode::<ModelProto>(file, large, copies)? {
        Ok(model) => model,
        Err(error) => unpacked(file)?.ok_or_else(|| no_model(file, &error.to_string()))?,
    };
    if model.graph.is_none() {
        return Err(no_model(file, "it has no graph"));
    }
    calls::check(&model)?;
    Ok(model)
}

/// The error for a file that is no model: what it is instead.
fn no_model(file: &MappedFile, error: &str) -> Error {
    let path = file.path.display().to_string();
    let kind = Foreign::of(file);
    let Some(name) = kind.name() else {
        return Error::input(format!("not an ONNX model: {error}")).help(
            "an .onnx file contains a protobuf message `ModelProto`; weights beside a model are read through the model",
        );
    };
    if kind == Foreign::Zip {
        let help =
            format!("if it is of torch.export or torch.jit: `aten2onnx export {path}`, which says what else it is");
        return Error::input("not an ONNX model: it is a zip archive, as PyTorch writes them").help(help);
    }
    let error = Error::input(format!("not an ONNX model: it is {name}"));
    match kind.help(&path) {
        Some(help) => error.help(help),
        None => error,
    }
}

/// The model with its elements packed; None if it is damaged.
fn unpacked(file: &Arc<MappedFile>) -> Result<Option<ModelProto>> {
    let bytes = file.read(0, file.size())?;
    Ok(unpacked::packed(&bytes).and_then(|bytes| ModelProto::decode(Bytes::from(bytes)).ok()))
}
