//! The rules of an export, and the operators that they support.

use std::path::PathBuf;

use aten2onnx::options::OutputOptions;
use aten2onnx::{MAX_OPSET, MIN_OPSET, Support, targets};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::exception;
use crate::work;

/// The rules of the build, and those of mapping files over them.
#[pyclass(module = "aten2onnx._native", frozen)]
pub struct Rules {
    pub rules: aten2onnx::Rules,
}

#[pymethods]
impl Rules {
    /// Reads and checks mapping files and folders of them.
    #[new]
    #[pyo3(signature = (paths=Vec::new()))]
    fn new(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Rules> {
        let mut rules = aten2onnx::rules();
        if !paths.is_empty() {
            work::run(py, None, |_| rules.load(&paths))?;
        }
        Ok(Rules { rules })
    }

    /// The overloads that have a rule, sorted.
    fn names(&self) -> Vec<&str> {
        self.rules.names()
    }

    /// The opsets that an overload (`aten::add.Tensor`) can be exported to wholly and in part, the reasons why not everywhere, and
    /// where its rule is. None if nothing is known of it.
    fn support<'py>(&self, py: Python<'py>, operator: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let facts = PyDict::new(py);
        let Some(rule) = self.rules.rule_for(operator) else {
            let Some(reason) = self.rules.unsupported(operator) else { return Ok(None) };
            facts.set_item("full", Vec::<u32>::new())?;
            facts.set_item("partial", Vec::<u32>::new())?;
            facts.set_item("reasons", [reason])?;
            facts.set_item("rule", py.None())?;
            return Ok(Some(facts));
        };
        let at = |wanted| (MIN_OPSET..=MAX_OPSET).filter(|opset| rule.support(*opset) == wanted).collect::<Vec<_>>();
        let mut reasons: Vec<&str> = (MIN_OPSET..=MAX_OPSET).flat_map(|opset| rule.reasons(opset)).collect();
        reasons.sort_unstable();
        reasons.dedup();
        facts.set_item("full", at(Support::Full))?;
        facts.set_item("partial", at(Support::Partial))?;
        facts.set_item("reasons", reasons)?;
        facts.set_item("rule", rule.location())?;
        Ok(Some(facts))
    }
}

/// The opset to write: the one that is asked for, or the default one, or the nearest to it that the target takes.
#[pyfunction]
#[pyo3(signature = (target, asked))]
pub fn chosen_opset(py: Python<'_>, target: Option<&str>, asked: Option<u32>) -> PyResult<u32> {
    let target = target.map(targets::find).transpose();
    let chosen = target.and_then(|target| {
        let mut options = OutputOptions::default();
        (options.opset, options.target) = (asked, target);
        options.opset()
    });
    chosen.map_err(|error| exception(py, error))
}
