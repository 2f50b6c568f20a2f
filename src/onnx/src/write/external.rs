//! Placement of weights: in the .onnx file, in external data next to it, or in the archive they come from.
//!
//! ONNX recommends offsets at multiples of 4096, so that tensors can be mapped. Windows maps at multiples of 64 KiB,
//! which is only worth it for large tensors. Tensors below 1 KiB stay in the .onnx file: readers need small ones
//! (shapes, axes, scales) while loading, and a page for each would waste space.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::link::{Archives, Linked};
use crate::proto::StringStringEntryProto;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::Payload;

/// Where weights are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum ExternalData {
    /// Inside the .onnx file up to protobuf's limit of 2 GiB, else in OUT.onnx.data
    #[default]
    Auto,
    /// In OUT.onnx.data, next to the .onnx file
    Always,
    /// Inside the .onnx file, or an error
    Never,
    /// In the source, which must be in the same folder: the .onnx file refers to it. Weights that are not stored there
    /// as ONNX requires are written to OUT.onnx.data
    Link,
}

/// Where the bytes of a tensor are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataPlace {
    /// In the message.
    Inside,
    /// At this offset of the external data file.
    Beside(u64),
    /// In an archive.
    Linked(Linked),
}

/// Smaller tensors stay in the .onnx file.
pub(crate) const SMALLEST: u64 = 1024;
const PAGE: u64 = 4096;
const GRANULE: u64 = 64 << 10;
const LARGE: u64 = 1 << 20;

/// Places all large tensors in external data.
pub fn place_external(payloads: &[Payload<'_>]) -> Result<Vec<DataPlace>> {
    let mut layout = Layout::default();
    payloads.iter().map(|payload| layout.place(payload)).collect()
}

/// Leaves all large tensors in their archives, if these are in `folder`.
pub fn place_linked(payloads: &[Payload<'_>], folder: &Path) -> Result<Vec<DataPlace>> {
    let mut layout = Layout::default();
    let mut linking = Linking::new(folder);
    payloads.iter().map(|payload| linking.place(payload, |payload| layout.place(payload))).collect()
}

/// Leaves large tensors in the archives of one folder.
pub struct Linking {
    archives: Archives,
}

impl Linking {
    /// The links of models in this folder.
    pub fn new(folder: &Path) -> Linking {
        Linking { archives: Archives::new(folder) }
    }

    /// The place in an archive, or another one for a tensor that no archive has as ONNX requires.
    pub fn place<'a>(
        &mut self,
        payload: &Payload<'a>,
        other: impl FnOnce(&Payload<'a>) -> Result<DataPlace>,
    ) -> Result<DataPlace> {
        match payload.place() {
            Some((file, offset)) if payload.len() >= SMALLEST => {
                Ok(DataPlace::Linked(self.archives.link(file, offset)?))
            }
            _ => other(payload),
        }
    }
}

/// The layout of an external data file.
#[derive(Default)]
pub struct Layout {
    end: u64,
    /// Tensors with the same bytes share them.
    known: FxHashMap<(*const u8, usize), u64>,
}

impl Layout {
    /// The place of the next tensor.
    pub fn place(&mut self, payload: &Payload<'_>) -> Result<DataPlace> {
        let len = payload.len();
        if len < SMALLEST {
            return Ok(DataPlace::Inside);
        }
        let key = payload.slice().map(|slice| (slice.as_ptr(), slice.len()));
        if let Some(offset) = key.and_then(|key| self.known.get(&key)) {
            return Ok(DataPlace::Beside(*offset));
        }
        let offset = self.end.checked_next_multiple_of(if len < LARGE { PAGE } else { GRANULE });
        let too_large = || Error::unsupported("the weights are larger than any file");
        let offset = offset.ok_or_else(too_large)?;
        self.end = offset.checked_add(len).ok_or_else(too_large)?;
        self.known.extend(key.map(|key| (key, offset)));
        Ok(DataPlace::Beside(offset))
    }
}

/// The `external_data` entries of a tensor.
pub fn entries(location: &str, offset: u64, length: u64) -> Vec<StringStringEntryProto> {
    let entry = |key: &str, value: String| StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) };
    vec![
        entry("location", location.to_owned()),
        entry("offset", offset.to_string()),
        entry("length", length.to_string()),
    ]
}
