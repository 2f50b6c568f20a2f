//! An ONNX model of anybody's, to another opset.

use std::path::PathBuf;

use aten2onnx::Exported;
use aten2onnx::ExternalData;
use aten2onnx::convert::Source;
use aten2onnx::convert::convert;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::model::{Model, sizes};
use crate::options;
use crate::support::Rules;
use crate::work;

/// A converted model that is ready to be written.
#[pyclass(module = "aten2onnx._native")]
pub struct ConvertedModel {
    converted: Exported,
}

/// Converts a file to a model that is ready to be written, as exports give it.
#[pyfunction]
pub fn converted_model(py: Python<'_>, path: PathBuf, rules: &Rules, options: &str) -> PyResult<Model> {
    let options = options::convert(options, rules.rules.clone())?;
    let converted = work::run(py, None, |_| convert(&Source::open(&path)?, &options))?;
    Ok(Model::new(converted))
}

#[pymethods]
impl ConvertedModel {
    /// Converts a file, or a model in memory.
    #[new]
    #[pyo3(signature = (path, bytes, rules, options))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        bytes: Option<Vec<u8>>,
        rules: &Rules,
        options: &str,
    ) -> PyResult<ConvertedModel> {
        let options = options::convert(options, rules.rules.clone())?;
        let converted = work::run(py, None, |_| {
            let source = match bytes {
                Some(bytes) => Source::from_bytes(&path.display().to_string(), bytes)?,
                None => Source::open(&path)?,
            };
            convert(&source, &options)
        })?;
        Ok(ConvertedModel { converted })
    }

    /// Writes the model to a file, and perhaps its weights to another: their sizes.
    #[pyo3(signature = (path, progress=None))]
    fn save<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let written = work::run(py, progress, |meter| {
            self.converted.write_file(&path, &mut |done, total| meter.report(done, total))
        })?;
        sizes(py, &path, &written)
    }

    /// The model in one piece.
    fn serialized<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.converted.set_external_data(ExternalData::Never);
        let bytes = work::run(py, None, |meter| {
            let mut bytes = Vec::new();
            self.converted.write_to(&mut bytes, &mut |done, total| meter.report(done, total))?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Things worth telling the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.converted.notes.clone()
    }
}
