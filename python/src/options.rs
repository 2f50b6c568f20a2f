//! The choices of an export, as Python gives them.

use std::str::FromStr;

use aten2onnx::convert;
use aten2onnx::export::Ir;
use aten2onnx::export::Options;
use aten2onnx::onnx::{ExternalData, Provenance};
use aten2onnx::rules::Rules;
use aten2onnx::targets;
use aten2onnx::translate::Fallback;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::exception;

/// Choices by name. Those of the wrong kind are Python's `ValueError`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Choices {
    opset: u32,
    ir: String,
    external_data: String,
    provenance: String,
    /// `s77=batch`
    dims: Vec<String>,
    /// In order.
    input_names: Vec<String>,
    output_names: Vec<String>,
    optimize: bool,
    target: Option<String>,
    keep_mutations: bool,
    keep_assertions: bool,
    fallback: Option<String>,
}

impl Choices {
    /// As the library takes them.
    pub fn options(self, py: Python<'_>, rules: Rules) -> PyResult<Options> {
        let target = self.target.as_deref().map(targets::find).transpose();
        Ok(Options {
            target: target.map_err(|error| exception(py, error))?,
            opset: self.opset,
            ir: ir(&self.ir)?,
            external_data: external_data(&self.external_data)?,
            provenance: provenance(&self.provenance)?,
            dims: self.dims.iter().map(|text| parsed("dynamic_shapes", text)).collect::<PyResult<_>>()?,
            input_names: all("input_names", &self.input_names)?,
            output_names: all("output_names", &self.output_names)?,
            opt_level: self.optimize.into(),
            keep_mutations: self.keep_mutations,
            keep_assertions: self.keep_assertions,
            fallback: fallback(self.fallback.as_deref())?,
            rules,
            ..Options::default()
        })
    }
}

/// The choices of a conversion.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ConvertChoices {
    opset: u32,
    ir: String,
    external_data: String,
    inline_functions: bool,
    optimize: bool,
    target: Option<String>,
}

impl ConvertChoices {
    /// As the library takes them.
    pub fn options(self, py: Python<'_>, rules: Rules) -> PyResult<convert::Options> {
        let target = self.target.as_deref().map(targets::find).transpose();
        Ok(convert::Options {
            target: target.map_err(|error| exception(py, error))?,
            opset: self.opset,
            ir: ir(&self.ir)?,
            external_data: external_data(&self.external_data)?,
            inline_functions: self.inline_functions,
            opt_level: self.optimize.into(),
            rules,
        })
    }
}

/// The IR version.
pub fn ir(text: &str) -> PyResult<Ir> {
    parsed("ir_version", text)
}

/// Where the weights go.
pub fn external_data(text: &str) -> PyResult<ExternalData> {
    match text {
        "auto" => Ok(ExternalData::Auto),
        "always" => Ok(ExternalData::Always),
        "never" => Ok(ExternalData::Never),
        "link" => Ok(ExternalData::Link),
        _ => Err(wrong("external_data", text, "\"auto\", \"always\", \"never\" or \"link\", True or False")),
    }
}

fn provenance(text: &str) -> PyResult<Provenance> {
    match text {
        "none" => Ok(Provenance::None),
        "compact" => Ok(Provenance::Compact),
        "full" => Ok(Provenance::Full),
        _ => Err(wrong("provenance", text, "\"none\", \"compact\" or \"full\"")),
    }
}

fn fallback(text: Option<&str>) -> PyResult<Fallback> {
    match text {
        None => Ok(Fallback::None),
        Some("aten") => Ok(Fallback::Aten),
        Some(text) => Err(wrong("fallback", text, "\"aten\", or None")),
    }
}

fn all<T: FromStr<Err = String>>(argument: &str, texts: &[String]) -> PyResult<Vec<T>> {
    texts.iter().map(|text| parsed(argument, text)).collect()
}

fn parsed<T: FromStr<Err = String>>(argument: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|wanted: String| wrong(argument, text, &wanted))
}

fn wrong(argument: &str, text: &str, wanted: &str) -> PyErr {
    PyValueError::new_err(format!("{argument}: {text:?} will not do: {wanted}"))
}
