//! A PyTorch program as a Python object.

use std::collections::HashMap;
use std::path::PathBuf;

use aten2onnx::export::inspect::{self, Aim};
use aten2onnx::export::{export_program, told_condition};
use aten2onnx::frontend::{self, pt2};
use aten2onnx::weights::MappedFile;
use aten2onnx::{program, targets};
use aten2onnx_prepare::{Keep, prepare};
use aten2onnx_report::{self as report, Facts, Verification};
use aten2onnx_translate::{Blocker, preflight};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

use crate::errors::exception;
use crate::lent::{self, Tensor};
use crate::model::Model;
use crate::options;
use crate::other_sizes::other_sizes;
use crate::seen::Seen;
use crate::support::Rules;
use crate::traced;
use crate::work;

/// A program that was read, from a file or from a live module.
#[pyclass(module = "aten2onnx._native", frozen)]
pub struct Program {
    program: program::Program,
}

#[pymethods]
impl Program {
    /// Reads a `.pt2` file or a TorchScript file, for which `source` describes the inputs.
    #[staticmethod]
    #[pyo3(signature = (path, rules, source="{}"))]
    fn read(py: Python<'_>, path: PathBuf, rules: &Rules, source: &str) -> PyResult<Program> {
        let source = options::source(source)?;
        let program = work::run(py, None, |_| frontend::read(&path, &source, &rules.rules))?;
        Ok(Program { program })
    }

    /// The same of a file in memory.
    #[staticmethod]
    #[pyo3(signature = (name, data, rules, source="{}"))]
    fn read_bytes(py: Python<'_>, name: &str, data: Vec<u8>, rules: &Rules, source: &str) -> PyResult<Program> {
        let source = options::source(source)?;
        let program = work::run(py, None, |_| frontend::read_bytes(name, data, &source, &rules.rules))?;
        Ok(Program { program })
    }

    /// A description of a file, or of `data` with that name, as [`Program::inspect`] gives it. A TorchScript file needs no
    /// description of its inputs.
    #[staticmethod]
    #[pyo3(signature = (path, rules, source="{}", opset=None, data=None, target=None))]
    fn inspect_file(
        py: Python<'_>,
        path: PathBuf,
        rules: &Rules,
        source: &str,
        opset: Option<u32>,
        data: Option<Vec<u8>>,
        target: Option<&str>,
    ) -> PyResult<(String, String)> {
        let source = options::source(source)?;
        let inspection = work::run(py, None, |_| {
            let aim = Aim { opset, target: target.map(targets::find).transpose()? };
            let file = match data {
                Some(data) => MappedFile::from_bytes(path, data),
                None => MappedFile::open(&path)?,
            };
            inspect::inspect_contents(frontend::contents(file, &source, &rules.rules)?, &rules.rules, aim)
        })?;
        shown(py, &inspection)
    }

    /// Takes the JSON of a program and the tensors of a live module, which are lent.
    #[staticmethod]
    #[pyo3(signature = (name, json, state, constants, source="{}"))]
    fn live(
        py: Python<'_>,
        name: &str,
        json: &[u8],
        state: HashMap<String, Tensor>,
        constants: HashMap<String, Tensor>,
        source: &str,
    ) -> PyResult<Program> {
        let source = options::source(source)?;
        let program = work::run(py, None, |_| {
            pt2::read_live_with(name, json, lent::weights(state)?, lent::weights(constants)?, &source)
        })?;
        Ok(Program { program })
    }

    /// Takes an ExportedProgram, whose graph is read, with the bounds of its symbols, its guards, and the version of the schema that its
    /// tensors and arguments follow. `NotImplementedError` says that only its JSON tells what it contains.
    #[staticmethod]
    #[pyo3(signature = (name, exported, ranges, guards, version, state, constants, source="{}"))]
    #[allow(clippy::too_many_arguments)] // those of Python
    fn traced(
        py: Python<'_>,
        name: &str,
        exported: &Bound<'_, PyAny>,
        ranges: Vec<traced::Range>,
        guards: traced::Guards,
        version: (i64, i64),
        state: HashMap<String, Tensor>,
        constants: HashMap<String, Tensor>,
        source: &str,
    ) -> PyResult<Program> {
        let source = options::source(source)?;
        let read = traced::program(exported, ranges, guards, version).map_err(|stop| stop.into_error(py))?;
        let program = work::run(py, None, |_| {
            pt2::read_exported(name, read, lent::weights(state)?, lent::weights(constants)?, &source)
        })?;
        Ok(Program { program })
    }

    /// Takes a program that was recorded while a model ran, as `traced` takes one, and gives it symbolic sizes.
    #[staticmethod]
    #[pyo3(signature = (name, recorded, seen, output_names, version, state, constants, rules, source="{}"))]
    #[allow(clippy::too_many_arguments)] // those of Python
    fn recorded(
        py: Python<'_>,
        name: &str,
        recorded: &Bound<'_, PyAny>,
        seen: Seen,
        output_names: Vec<String>,
        version: (i64, i64),
        state: HashMap<String, Tensor>,
        constants: HashMap<String, Tensor>,
        rules: &Rules,
        source: &str,
    ) -> PyResult<Program> {
        let source = options::source(source)?;
        let read = traced::recording(recorded, output_names, version).map_err(|stop| stop.into_error(py))?;
        let program = work::run(py, None, |_| {
            let (state, constants) = (lent::weights(state)?, lent::weights(constants)?);
            let mut program = pt2::read_exported(name, read, state, constants, &source)?;
            aten2onnx_frontend_recorded::symbolic(&mut program, seen.into_recording(), &rules.rules)?;
            Ok(program)
        })?;
        Ok(Program { program })
    }

    /// For each condition, in the names of the program's numbers: what of it does not follow from the shapes and bounds, in the names of
    /// dimensions; None if it follows.
    fn open_conditions(&self, py: Python<'_>, conditions: Vec<String>) -> PyResult<Vec<Option<String>>> {
        work::run(py, None, |_| {
            let guards = pt2::named_guards(conditions, &self.program);
            Ok(guards.iter().map(|guard| told_condition(&self.program, guard)).collect())
        })
    }

    /// For each condition the dimensions that must not be 0, in the example with 0 in their place, though nothing else is known to forbid it.
    fn without_empty(&self, py: Python<'_>, conditions: Vec<String>) -> PyResult<Vec<Vec<String>>> {
        work::run(py, None, |_| {
            let guards = pt2::named_guards(conditions, &self.program);
            Ok(guards.iter().map(|guard| self.decided_by_zero(guard)).collect())
        })
    }

    /// For each condition, in the names of the program's numbers: choices of sizes of dimensions that do not fulfil it.
    fn other_sizes(&self, py: Python<'_>, conditions: Vec<String>) -> PyResult<Vec<Vec<HashMap<String, i64>>>> {
        work::run(py, None, |_| {
            let guards = pt2::named_guards(conditions, &self.program);
            Ok(guards.iter().map(|guard| other_sizes(&self.program, guard)).collect())
        })
    }

    /// The program under conditions, in the names of its numbers: elsewhere it may compute something else than the model.
    fn under_conditions(&self, conditions: Vec<String>) -> Program {
        let mut program = self.program.clone();
        program.guards = pt2::named_guards(conditions, &program);
        Program { program }
    }

    /// The operators that have no rule, or none at this opset.
    fn blockers<'py>(&self, py: Python<'py>, rules: &Rules, opset: u32) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = work::run(py, None, |_| {
            let mut program = self.program.clone();
            prepare(&mut program, Keep::default())?;
            Ok(preflight(&program, &rules.rules, opset))
        })?;
        found.into_iter().map(|blocker| described(py, blocker)).collect()
    }

    /// Makes the model. Weights are not read.
    fn export(&self, py: Python<'_>, rules: &Rules, options: &str) -> PyResult<Model> {
        let options = options::export(options, rules.rules.clone())?;
        let exported = work::run(py, None, |_| export_program(self.program.clone(), &options))?;
        Ok(Model::new(exported))
    }

    /// A description of the program and the opsets that support it, as JSON and as text.
    #[pyo3(signature = (rules, opset=None, target=None))]
    fn inspect(
        &self,
        py: Python<'_>,
        rules: &Rules,
        opset: Option<u32>,
        target: Option<&str>,
    ) -> PyResult<(String, String)> {
        let inspection = work::run(py, None, |_| {
            let aim = Aim { opset, target: target.map(targets::find).transpose()? };
            inspect::inspect(&self.program, &rules.rules, aim)
        })?;
        shown(py, &inspection)
    }

    /// A page about the program and its export. `extras` is JSON: notes, why the export failed, the comparison with PyTorch, the
    /// files and the time.
    fn page(&self, py: Python<'_>, rules: &Rules, options: &str, extras: &str) -> PyResult<String> {
        let options = options::export(options, rules.rules.clone())?;
        let extras: Extras =
            serde_json::from_str(extras).map_err(|error| PyValueError::new_err(format!("extras: {error}")))?;
        work::run(py, None, |_| {
            let mut facts = Facts::of_program(&self.program, &options)?.with_notes(&extras.notes);
            if extras.error.is_some() {
                facts.made = Default::default();
            }
            facts.error = extras.error;
            facts.verification = extras.verification;
            facts.made.files = extras.files;
            facts.made.seconds = extras.seconds;
            Ok(report::page(&facts))
        })
    }

    /// Things worth telling the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.program.notes.clone()
    }

    /// The version of torch that wrote it.
    #[getter]
    fn torch_version(&self) -> Option<&str> {
        self.program.torch_version.as_deref()
    }
}

impl Program {
    /// The symbols for which a guard does not hold where they are 0.
    fn decided_by_zero(&self, guard: &program::Guard) -> Vec<String> {
        let program::Guard::Sizes(condition) = guard else { return Vec::new() };
        let fails_at_zero = |symbol: &String| {
            let is_least = self.program.ranges.get(symbol).is_some_and(|(low, _)| *low == Some(1));
            let mut sizes = self.program.hints.clone();
            sizes.insert(symbol.clone(), 0);
            is_least && condition.eval(&sizes) == Some(0)
        };
        condition.symbols().into_iter().filter(fails_at_zero).collect()
    }
}

/// What a page says besides the program.
#[derive(Deserialize)]
struct Extras {
    notes: Vec<String>,
    error: Option<String>,
    verification: Option<Verification>,
    files: Vec<(String, u64)>,
    seconds: Option<f64>,
}

/// A page about a model that could not be read or captured.
#[pyfunction]
pub fn failed_page(name: &str, error: &str) -> String {
    report::page(&Facts::unread(name, error))
}

/// An inspection as JSON and as text.
fn shown(py: Python<'_>, inspection: &inspect::Inspection) -> PyResult<(String, String)> {
    let json = serde_json::to_string(inspection)
        .map_err(|error| exception(py, aten2onnx::error::Error::internal(error.to_string())))?;
    Ok((json, aten2onnx_commands::inspect::render(inspection)))
}

fn described(py: Python<'_>, blocker: Blocker) -> PyResult<Bound<'_, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("operator", blocker.target)?;
    facts.set_item("reason", blocker.reason)?;
    facts.set_item("node", blocker.node)?;
    facts.set_item("source_line", blocker.source_line)?;
    facts.set_item("count", blocker.count)?;
    facts.set_item("needs_opset", blocker.needs_opset)?;
    Ok(facts)
}
