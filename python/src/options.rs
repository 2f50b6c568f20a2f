//! The options of an export and of a conversion, as Python gives them: JSON.

use aten2onnx::options::{ConvertOptions, Options, SourceOptions, from_json};
use aten2onnx::{ExternalData, Rules};
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;

use crate::errors::argument;

/// The options of an export. Invalid ones raise `aten2onnx.ArgumentError`.
pub fn export(json: &str, rules: Rules) -> PyResult<Options> {
    let mut options: Options = from_json(json).map_err(|error| argument(&error))?;
    options.output.rules = rules;
    Ok(options)
}

/// What is said of a TorchScript file.
pub fn source(json: &str) -> PyResult<SourceOptions> {
    from_json(json).map_err(|error| argument(&error))
}

/// The options of a conversion.
pub fn convert(json: &str, rules: Rules) -> PyResult<ConvertOptions> {
    let mut options: ConvertOptions = from_json(json).map_err(|error| argument(&error))?;
    options.output.rules = rules;
    Ok(options)
}

/// Where the weights go.
pub fn external_data(text: &str) -> PyResult<ExternalData> {
    let found: Result<ExternalData, ValueError> = ExternalData::deserialize(text.into_deserializer());
    found.map_err(|error| argument(&format!("external_data: {error}")))
}
