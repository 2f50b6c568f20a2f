//! Decodes messages of a file: their text and numbers are copied, and large fields of bytes stay in the file.

use std::io::BufRead;
use std::sync::Arc;

use prost::Message;
use prost::bytes::{Buf, Bytes};
use rustc_hash::FxHashMap;

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Cursor, MappedFile};

/// Fields of this many bytes stay in the file. Smaller ones are copied: their elements are read while a model is converted.
pub const LARGE: usize = 64 << 10;

/// Where fields that were copied are in the file, by the address of the copy. Only those that are worth a link: as large as a weight
/// that is written beside a model.
pub type Copies = FxHashMap<usize, usize>;

/// The least bytes of a field in [`Copies`].
const LINKED: usize = 1 << 10;

/// A decoded message. Fields of at least `large` bytes stay in the file.
///
/// # Errors
/// A file that cannot be read, or that has become shorter; the inner result is what the decoder says.
pub fn decode<M: Message + Default>(
    file: &Arc<MappedFile>,
    large: usize,
    copies: &mut Copies,
) -> Result<std::result::Result<M, prost::DecodeError>> {
    let mut fields = Fields { file, large, cursor: Cursor::new(file, 0, file.size()), copies, failed: None };
    fields.fill();
    let decoded = M::decode(&mut fields);
    match fields.failed {
        Some(error) => Err(error),
        None => Ok(decoded),
    }
}

/// What the decoder gets where a file cannot be read, until it stops.
const ZEROS: [u8; 4096] = [0; 4096];

struct Fields<'a> {
    file: &'a Arc<MappedFile>,
    large: usize,
    cursor: Cursor<'a>,
    copies: &'a mut Copies,
    failed: Option<Error>,
}

impl Fields<'_> {
    /// Reads the bytes at the position of the cursor.
    fn fill(&mut self) {
        if self.failed.is_some() {
            return;
        }
        if let Err(error) = self.cursor.fill_buf() {
            self.fail(error.downcast::<Error>().unwrap_or_else(Error::from));
        }
    }

    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }
}

impl Buf for Fields<'_> {
    fn remaining(&self) -> usize {
        self.cursor.left()
    }

    fn chunk(&self) -> &[u8] {
        match &self.failed {
            None => self.cursor.filled(),
            Some(_) => ZEROS.get(..self.cursor.left()).unwrap_or(&ZEROS),
        }
    }

    fn advance(&mut self, count: usize) {
        self.cursor.consume(count);
        self.fill();
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        let len = len.min(self.cursor.left());
        let start = self.file.size() - self.cursor.left();
        let bytes = match len < self.large {
            true => self.file.read(start, len).map(|bytes| Bytes::from(bytes.into_owned())),
            false => Ok(Bytes::from_owner(Owner(Arc::clone(self.file))).slice(start..start + len)),
        };
        if let Ok(bytes) = &bytes
            && (LINKED..self.large).contains(&len)
        {
            self.copies.insert(bytes.as_ptr() as usize, start);
        }
        self.advance(len);
        bytes.unwrap_or_else(|error| {
            self.fail(error);
            Bytes::new()
        })
    }
}

/// Keeps the file as long as a field refers to it.
struct Owner(Arc<MappedFile>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::{self, File};

    use super::*;
    use crate::proto::{GraphProto, ModelProto, NodeProto, TensorProto};

    fn model() -> ModelProto {
        let raw = |count: usize| TensorProto {
            name: Some(count.to_string()),
            raw_data: Some((0..count).map(|i| i as u8).collect::<Vec<u8>>().into()),
            dims: vec![count as i64; 3],
            ..TensorProto::default()
        };
        let node =
            |index: usize| NodeProto { name: Some(format!("node{index}").repeat(index)), ..NodeProto::default() };
        let graph = GraphProto {
            node: (0..200).map(node).collect(),
            initializer: [0, 1, 4095, 4096, 4097, LARGE - 1, LARGE, 3 * LARGE].map(raw).to_vec(),
            ..GraphProto::default()
        };
        ModelProto { graph: Some(graph), doc_string: Some("text".repeat(5000)), ..ModelProto::default() }
    }

    fn written(bytes: &[u8]) -> (tempfile::TempDir, Arc<MappedFile>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        fs::write(&path, bytes).unwrap();
        let file = MappedFile::open(&path).unwrap();
        (folder, file)
    }

    #[test]
    fn a_message_of_a_file_is_that_of_its_bytes() {
        let wanted = model();
        let (_folder, file) = written(&wanted.encode_to_vec());
        assert!(decode::<ModelProto>(&file, LARGE, &mut Copies::default()).unwrap().unwrap() == wanted);
        let large = |model: &ModelProto| model.graph.as_ref().unwrap().initializer[7].raw_data.clone().unwrap();
        let found = large(&decode(&file, LARGE, &mut Copies::default()).unwrap().unwrap());
        let inside = (found.as_ptr() as usize).wrapping_sub(file.bytes().as_ptr() as usize);
        assert!(inside < file.size(), "large fields stay in the file");
    }

    #[test]
    fn damaged_messages_are_refused_as_their_bytes_are() {
        let bytes = model().encode_to_vec();
        for end in (0..bytes.len()).step_by(997) {
            let (_folder, file) = written(&bytes[..end]);
            let found = decode::<ModelProto>(&file, LARGE, &mut Copies::default()).unwrap();
            assert_eq!(found.is_ok(), ModelProto::decode(&bytes[..end]).is_ok(), "{end}");
        }
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error() {
        let bytes = model().encode_to_vec();
        for end in (0..bytes.len() - 5 * LARGE).step_by(4999) {
            let (folder, file) = written(&bytes);
            File::options().write(true).open(folder.path().join("m.onnx")).unwrap().set_len(end as u64).unwrap();
            let error = decode::<ModelProto>(&file, LARGE, &mut Copies::default()).unwrap_err();
            assert!(error.message.contains("changed while it was read"), "{end}: {error}");
        }
    }
}
