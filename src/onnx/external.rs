//! Where weights lie in a file of external data.
//!
//! ONNX asks for offsets at multiples of 4096 so that tensors can be mapped. Windows maps at multiples of 64 KiB, which
//! pays for large tensors only. Tensors below 1 KiB stay in the .onnx: readers look at small ones (shapes, axes, scales)
//! while they load, and a page for each would be waste.

use std::collections::HashMap;

use super::payload::Payload;
use super::proto::StringStringEntryProto;
use crate::error::{Error, Result};

/// Where the weights go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExternalData {
    /// Inside the .onnx as long as protobuf's limit of 2 GiB allows it, else beside it.
    #[default]
    Auto,
    /// Beside the .onnx, in `<name>.data`.
    Always,
    /// Inside the .onnx, or an error.
    Never,
}

/// Tensors with fewer bytes stay in the .onnx.
pub const SMALLEST: u64 = 1024;
const PAGE: u64 = 4096;
const GRANULE: u64 = 64 << 10;
const LARGE: u64 = 1 << 20;

/// The offset of each tensor; None for those that stay in the .onnx. Tensors of the same bytes share them.
pub fn offsets(payloads: &[Payload<'_>]) -> Result<Vec<Option<u64>>> {
    let mut end = 0u64;
    let mut known: HashMap<(*const u8, usize), u64> = HashMap::new();
    let mut place = |payload: &Payload<'_>| {
        let len = payload.len();
        if len < SMALLEST {
            return Ok(None);
        }
        let key = payload.slice().map(|slice| (slice.as_ptr(), slice.len()));
        if let Some(offset) = key.and_then(|key| known.get(&key)) {
            return Ok(Some(*offset));
        }
        let offset = end.checked_next_multiple_of(if len < LARGE { PAGE } else { GRANULE });
        let too_large = || Error::unsupported("the weights are larger than any file");
        let offset = offset.ok_or_else(too_large)?;
        end = offset.checked_add(len).ok_or_else(too_large)?;
        known.extend(key.map(|key| (key, offset)));
        Ok(Some(offset))
    };
    payloads.iter().map(&mut place).collect()
}

/// The `external_data` of a tensor.
pub fn entries(location: &str, offset: u64, length: u64) -> Vec<StringStringEntryProto> {
    let entry = |key: &str, value: String| StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) };
    vec![
        entry("location", location.to_owned()),
        entry("offset", offset.to_string()),
        entry("length", length.to_string()),
    ]
}
