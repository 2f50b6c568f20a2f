//! From the bytes of an .onnx file to messages, with limits.

use std::path::Path;
use std::sync::Arc;

use prost::Message;
use prost::bytes::Bytes;

use super::proto::ModelProto;
use crate::error::{Error, Result};
use crate::weights::MappedFile;

/// Protobuf's limit of 2 GiB.
pub const LIMIT: u64 = i32::MAX as u64;

/// Reads a model from a file that is mapped: raw data of tensors stays where it is.
pub fn read_file(path: &Path) -> Result<ModelProto> {
    let bytes = Bytes::from_owner(Owner(MappedFile::open(path)?));
    parse(bytes).map_err(|error| error.at(path.display().to_string()))
}

/// Reads a model from bytes.
pub fn parse(bytes: Bytes) -> Result<ModelProto> {
    if bytes.len() as u64 > LIMIT {
        return Err(Error::input(format!("{} bytes are beyond protobuf's limit of 2 GiB", bytes.len())));
    }
    // prost bounds the depth of nested messages, and allocates no more than the bytes at hand account for.
    let model = ModelProto::decode(bytes).map_err(|error| {
        Error::input(format!("not an ONNX model: {error}")).help("an .onnx file holds a protobuf message `ModelProto`")
    })?;
    if model.graph.is_none() {
        return Err(Error::input("not an ONNX model: there is no graph in it"));
    }
    Ok(model)
}

struct Owner(Arc<MappedFile>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}
