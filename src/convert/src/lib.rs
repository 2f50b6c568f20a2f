//! Converts ONNX models to another opset: `aten2onnx convert`.
//!
//! Takes a model as it was read and returns one that is valid at the requested opset, or an error that lists all nodes
//! that cannot be converted. Nodes whose version is the same at both opsets are kept with their names; others go
//! through the lowerings, like nodes of rules. Only values that a lowering no longer uses are removed (such as a
//! constant with axes that became an attribute). Weights are not copied before writing.
//!
//! `tensors`, `types` and `attributes` read messages; `scope` resolves names; `graph`, `node`, `loops` and `functions`
//! traverse the model; `finish` restores names, texts and metadata;
//! `own` copies what is kept as it was.

mod attributes;
mod dims;
mod finish;
mod functions;
mod graph;
mod loops;
mod node;
mod own;
mod report;
mod scope;
mod tensors;
mod types;

use std::collections::BTreeMap;

use aten2onnx_core::error::Result;
use aten2onnx_onnx::Exported;
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
pub use aten2onnx_onnx::read::Source;
use aten2onnx_options::ConvertOptions;
pub use tensors::elements_of;

/// Converts a model.
///
/// # Errors
/// A damaged model, or everything that the target does not support.
pub fn convert(source: &Source, options: &ConvertOptions) -> Result<Exported> {
    let opset = match own_opset(source, options) {
        Some(opset) => opset,
        None => options.output.checked_opset()?,
    };
    let path = source.file.path.clone();
    let mut converted = graph::convert(source, options, opset).map_err(|error| error.at(path.display().to_string()))?;
    converted.source = path;
    Ok(converted)
}

/// The opset of the source, where a conversion is asked for a precision or for integers, and for neither an opset nor a target: an older opset may lack both.
fn own_opset(source: &Source, options: &ConvertOptions) -> Option<u32> {
    let output = &options.output;
    let is_narrower = output.precision.precision.is_some() || output.quantize.is_asked();
    (is_narrower && output.opset.is_none() && output.target.is_none()).then_some(())?;
    let opset = graph::default_opset(&source.proto).ok()?;
    (MIN_OPSET..=MAX_OPSET).contains(&opset).then_some(opset)
}

/// The nodes of the main graph that the target of a conversion cannot express, by their numbers, with the reason of each. Operators of other
/// domains are not among them: a conversion keeps them.
///
/// # Errors
/// A damaged model, or an opset that the target does not support.
pub fn refused(source: &Source, options: &ConvertOptions) -> Result<BTreeMap<usize, String>> {
    let opset = options.output.checked_opset()?;
    graph::refused(source, options, opset).map_err(|error| error.at(source.file.path.display().to_string()))
}
