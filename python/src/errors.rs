//! Errors of the library as Python exceptions.

use aten2onnx::error::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for an error: `aten2onnx._errors.from_native` makes it.
pub fn exception(py: Python<'_>, error: Error) -> PyErr {
    made(py, error).unwrap_or_else(|failure| failure)
}

/// The exception for an argument that is wrong.
pub fn argument(message: &str) -> PyErr {
    let raised = |py: Python<'_>| {
        let class = py.import("aten2onnx._errors")?.getattr("ArgumentError")?;
        Ok(PyErr::from_value(class.call1((message,))?))
    };
    Python::attach(|py| raised(py).unwrap_or_else(|failure: PyErr| failure))
}

fn made(py: Python<'_>, error: Error) -> PyResult<PyErr> {
    let kind = match error.kind {
        Kind::Io => "file",
        Kind::Input => "input",
        Kind::Unsupported => "unsupported",
        Kind::Internal => "internal",
        Kind::Stopped => "stopped",
    };
    let facts = PyDict::new(py);
    facts.set_item("place", error.place.clone())?;
    facts.set_item("help", error.help.clone())?;
    facts.set_item("needs_opset", error.needs_opset)?;
    if let Some(call) = error.call.clone() {
        facts.set_item("operator", call.operator)?;
        facts.set_item("node", call.node)?;
        facts.set_item("source_line", call.source_line)?;
    }
    let make = py.import("aten2onnx._errors")?.getattr("from_native")?;
    Ok(PyErr::from_value(make.call((kind, error.message.clone()), Some(&facts))?))
}
