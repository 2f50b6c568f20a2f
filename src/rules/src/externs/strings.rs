//! Strings, which older opsets hardly support.

use aten2onnx_builder::Builder;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::{Data, Value};

/// A one-dimensional constant.
pub fn strings(cx: &mut Builder, texts: &[String]) -> Result<Value> {
    cx.strings(texts)
}

/// The elements of a constant of strings.
pub fn known_strings(cx: &mut Builder, x: Value) -> Result<Option<Vec<String>>> {
    Ok(match cx.constant_of(x).map(|constant| &constant.data) {
        Some(Data::Strings(texts)) => Some(texts.to_vec()),
        _ => None,
    })
}
