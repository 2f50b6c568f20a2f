//! What the rules can say of an operator.

use aten2onnx::export;
use aten2onnx::rules::{self, MAX_OPSET, MIN_OPSET, Support};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::exception;

/// The opsets that an overload (`aten::add.Tensor`) can be exported to wholly and in part, the reasons why not everywhere, and
/// where its rule is. None if nothing is known of it.
#[pyfunction]
pub fn support<'py>(py: Python<'py>, operator: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    let facts = PyDict::new(py);
    if let Some(rule) = rules::meaning(operator) {
        let at = |wanted| (MIN_OPSET..=MAX_OPSET).filter(|opset| rule.support(*opset) == wanted).collect::<Vec<_>>();
        facts.set_item("full", at(Support::Full))?;
        facts.set_item("partial", at(Support::Partial))?;
        facts.set_item("reasons", rule.reasons.to_vec())?;
        facts.set_item("rule", rule.location)?;
        return Ok(Some(facts));
    }
    let Some(reason) = rules::unsupported(operator) else { return Ok(None) };
    facts.set_item("full", Vec::<u32>::new())?;
    facts.set_item("partial", Vec::<u32>::new())?;
    facts.set_item("reasons", vec![reason])?;
    facts.set_item("rule", py.None())?;
    Ok(Some(facts))
}

/// Raises what is to be said of an opset that we do not export to.
#[pyfunction]
pub fn check_opset(py: Python<'_>, opset: u32) -> PyResult<()> {
    export::check_opset(opset).map_err(|error| exception(py, error))
}
