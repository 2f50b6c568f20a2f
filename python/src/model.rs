//! An exported model as a Python object.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aten2onnx::Dtype;
use aten2onnx::Exported;
use aten2onnx::export::adapters::{self, Values};
use aten2onnx::export::many;
use aten2onnx::proto::{ValueInfoProto, tensor_shape_proto, type_proto};
use aten2onnx::{ExternalData, Written};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::lent::{self, Tensor};
use crate::options::external_data;
use crate::work;

/// A model that is ready to be written; its weights still lie where they were.
#[pyclass(module = "aten2onnx._native")]
pub struct Model {
    exported: Exported,
}

impl Model {
    pub fn new(exported: Exported) -> Model {
        Model { exported }
    }
}

#[pymethods]
impl Model {
    /// Writes the model to a file, and perhaps its weights to another: their sizes.
    #[pyo3(signature = (path, external=None, progress=None))]
    fn save<'py>(
        &mut self,
        py: Python<'py>,
        path: PathBuf,
        external: Option<&str>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        if let Some(choice) = external {
            self.exported.set_external_data(external_data(choice)?);
        }
        let written = work::run(py, progress, |meter| {
            self.exported.write_file(&path, &mut |done, total| meter.report(done, total))
        })?;
        sizes(py, &path, &written)
    }

    /// Writes the adapter weights as a file of ONNX Runtime: with the values of a safetensors file, of tensors, or of the model.
    #[pyo3(signature = (path, file=None, tensors=None))]
    fn save_adapter(
        &self,
        py: Python<'_>,
        path: PathBuf,
        file: Option<PathBuf>,
        tensors: Option<HashMap<String, Tensor>>,
    ) -> PyResult<u64> {
        work::run(py, None, |_| {
            let given = tensors.map(lent::weights).transpose()?;
            let given = given.map(|all| all.into_iter().map(|(name, weight)| (name, Arc::new(weight))).collect());
            let values = match (&file, &given) {
                (Some(file), _) => Values::File(file),
                (None, Some(given)) => Values::Given(given),
                (None, None) => Values::Own,
            };
            adapters::write(&self.exported, values, &path)
        })
    }

    /// The model in one piece.
    #[pyo3(signature = (progress=None))]
    fn serialized<'py>(
        &mut self,
        py: Python<'py>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.exported.set_external_data(ExternalData::Never);
        let bytes = work::run(py, progress, |meter| {
            let mut bytes = Vec::new();
            self.exported.write_to(&mut bytes, &mut |done, total| meter.report(done, total))?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The opset of the default domain.
    #[getter]
    fn opset(&self) -> u32 {
        self.exported.graph.opset
    }

    /// The IR version.
    #[getter]
    fn ir_version(&self) -> i64 {
        self.exported.ir_version()
    }

    /// Things worth telling the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.exported.notes.clone()
    }

    /// Where the model is right, if not for all sizes that its inputs name.
    #[getter]
    fn conditions(&self) -> Vec<String> {
        self.exported.conditions.clone()
    }

    /// How many nodes there are of each operator, those in bodies too.
    #[getter]
    fn operators(&self) -> BTreeMap<String, usize> {
        let mut count = BTreeMap::new();
        self.exported.graph.body.visit(&mut |node| *count.entry(node.op.to_string()).or_default() += 1);
        count
    }

    /// Names and types of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<(String, String)> {
        let graph = self.exported.model.proto.graph.as_ref();
        graph.map(|graph| graph.input.iter().map(port).collect()).unwrap_or_default()
    }

    /// Names and types of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<(String, String)> {
        let graph = self.exported.model.proto.graph.as_ref();
        graph.map(|graph| graph.output.iter().map(port).collect()).unwrap_or_default()
    }

    /// Tensors and bytes of the weights that are not part of the message.
    #[getter]
    fn weights(&self) -> (usize, u64) {
        let weights = &self.exported.model.weights;
        (weights.len(), weights.iter().filter_map(|weight| weight.weight.byte_len()).sum())
    }
}

/// Writes models into a folder with one file for the weights of all, or as the branches of one model in the file `path`: the sizes.
#[pyfunction]
#[pyo3(signature = (models, path, merge=None, progress=None))]
pub fn save_many<'py>(
    py: Python<'py>,
    models: Vec<(String, PyRef<'py, Model>)>,
    path: PathBuf,
    merge: Option<&str>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let pairs: Vec<many::Pair<'_>> = models.iter().map(|(name, model)| (name.as_str(), &model.exported)).collect();
    let written = work::run(py, progress, |meter| {
        let tell = &mut |done, total| meter.report(done, total);
        match merge {
            Some(flag) => Ok(vec![many::write_merged(&pairs, flag, &path, tell)?]),
            None => many::write_folder(&pairs, &path, tell),
        }
    })?;
    let paths: Vec<PathBuf> = match merge {
        Some(_) => vec![path],
        None => pairs.iter().map(|(name, _)| path.join(many::file_name(name))).collect(),
    };
    paths.iter().zip(&written).map(|(path, written)| sizes(py, path, written)).collect()
}

/// What was written, and where.
pub fn sizes<'py>(py: Python<'py>, path: &Path, written: &Written) -> PyResult<Bound<'py, PyDict>> {
    let sizes = PyDict::new(py);
    sizes.set_item("path", path)?;
    sizes.set_item("bytes", written.model)?;
    sizes.set_item("data_path", written.data.as_ref().map(|(path, _)| path))?;
    sizes.set_item("data_bytes", written.data.as_ref().map(|(_, bytes)| *bytes))?;
    sizes.set_item("advice", written.advice())?;
    Ok(sizes)
}

/// A name and a type as a user reads them: `x`, `float32[batch, 3]`.
fn port(info: &ValueInfoProto) -> (String, String) {
    let name = info.name().to_owned();
    let Some(type_proto::Value::TensorType(tensor)) = info.r#type.as_ref().and_then(|ty| ty.value.as_ref()) else {
        return (name, "?".to_owned());
    };
    let dtype = Dtype::from_onnx(tensor.elem_type()).map_or("?", Dtype::torch_name);
    let Some(shape) = &tensor.shape else { return (name, dtype.to_owned()) };
    let size = |dim: &tensor_shape_proto::Dimension| match &dim.value {
        Some(tensor_shape_proto::dimension::Value::DimValue(size)) => size.to_string(),
        Some(tensor_shape_proto::dimension::Value::DimParam(symbol)) => symbol.clone(),
        None => "?".to_owned(),
    };
    (name, format!("{dtype}[{}]", shape.dim.iter().map(size).collect::<Vec<_>>().join(", ")))
}
