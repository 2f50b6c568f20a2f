//! Reads a program of torch.export from its FX graph: what PyTorch's serializer would write as JSON, without the serializer, which
//! takes thirty times as long.
//!
//! `types` are the classes of PyTorch that are told apart, `targets` the operators with their schemas, `values` what a node
//! computes (`meta["val"]`), `arguments` and `lists` what it is given, `graph` the nodes, `signature` the inputs and outputs. What is not known
//! here stops the reading: PyTorch's serializer is asked then, which knows it or raises the error that users know.

mod arguments;
mod graph;
mod lists;
mod signature;
mod targets;
mod types;
mod values;

use std::fmt;

use aten2onnx::frontend::pt2::schema::{
    ExportedProgram, GraphModule, Pairs, RangeConstraint, SchemaVersion, Text, WholeCall,
};
use pyo3::exceptions::{PyException, PyNotImplementedError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::IgnoredAny;

/// Why a program was not read.
#[derive(Debug)]
pub struct Stop(PyErr);

/// The result of reading a part of a program.
pub type Read<T> = Result<T, Stop>;

impl Stop {
    /// It contains something that is not known here.
    pub fn unknown(what: impl fmt::Display) -> Stop {
        Stop(PyNotImplementedError::new_err(what.to_string()))
    }

    /// `NotImplementedError` if PyTorch's serializer is to be asked.
    pub fn into_error(self, py: Python<'_>) -> PyErr {
        // Ctrl-C is no exception of this class.
        if !self.0.is_instance_of::<PyException>(py) || self.0.is_instance_of::<PyNotImplementedError>(py) {
            return self.0;
        }
        PyNotImplementedError::new_err(self.0.to_string())
    }
}

impl<T: Into<PyErr>> From<T> for Stop {
    fn from(error: T) -> Stop {
        Stop(error.into())
    }
}

/// A symbol and its bounds, inclusive.
pub type Range = (String, (Option<i64>, Option<i64>));

/// Conditions on the inputs of a program, the way to each input in the arguments of its call, and the names of its outputs.
pub type Guards = (Vec<String>, Vec<String>, Vec<String>);

/// Reads a program. `ranges` are the bounds of its symbols.
pub fn program(
    exported: &Bound<'_, PyAny>,
    ranges: Vec<Range>,
    guards: Guards,
    version: (i64, i64),
) -> Read<ExportedProgram<'static>> {
    let types = types::Types::new(exported.py())?;
    let bounded = |(symbol, (min_val, max_val)): Range| (symbol.into(), RangeConstraint { min_val, max_val });
    Ok(ExportedProgram {
        opset_version: IgnoredAny,
        range_constraints: Pairs(ranges.into_iter().map(bounded).collect()),
        guards_code: Some(guards.0.into_iter().map(Text::from).collect()),
        input_paths: guards.1.into_iter().map(Text::from).collect(),
        output_names: guards.2.into_iter().map(Text::from).collect(),
        ..read(exported, &types, version)?
    })
}

/// Reads a program that was recorded while a model ran.
pub fn recording(
    recorded: &Bound<'_, PyAny>,
    output_names: Vec<String>,
    version: (i64, i64),
) -> Read<ExportedProgram<'static>> {
    Ok(ExportedProgram {
        output_names: output_names.into_iter().map(Text::from).collect(),
        ..read(recorded, &types::Types::of_recording(recorded.py())?, version)?
    })
}

fn read<'py>(
    exported: &Bound<'py, PyAny>,
    types: &types::Types<'py>,
    version: (i64, i64),
) -> Read<ExportedProgram<'static>> {
    let py = exported.py();
    let graph = graph::Reader::new(py, types).graph(&exported.getattr("graph_module")?)?;
    let signature = signature::signature(&exported.getattr("graph_signature")?)?;
    let torch: String = py.import("torch")?.getattr("__version__")?.str()?.to_cow()?.into_owned();
    Ok(ExportedProgram {
        graph_module: GraphModule {
            graph,
            signature,
            module_call_graph: WholeCall::default(),
            treespec_namedtuple_fields: Pairs::default(),
        },
        opset_version: IgnoredAny,
        range_constraints: Pairs(Vec::new()),
        schema_version: SchemaVersion { major: version.0, minor: version.1 },
        torch_version: Some(torch.into()),
        guards_code: None,
        input_paths: Vec::new(),
        output_names: Vec::new(),
    })
}

/// An entry of the metadata of a node, if there is one.
fn entry<'py>(meta: &Bound<'py, PyDict>, name: &Bound<'py, pyo3::types::PyString>) -> Read<Option<Bound<'py, PyAny>>> {
    Ok(meta.get_item(name)?)
}

/// The text of a string.
fn text(value: &Bound<'_, PyAny>) -> Read<String> {
    Ok(value.cast::<pyo3::types::PyString>()?.to_cow()?.into_owned())
}
