//! Examples as models for a runtime, which `runtimes/` runs there: as an export with `--target` writes them, or as the operator itself.

use serde::Serialize;

use aten2onnx_builder::passes::Passes;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::targets::Target as Runtime;
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;

use super::build::{self, Built, Lacks, Outcome};
use super::record::{self, Record};

/// An example and its model.
#[derive(Debug, Serialize)]
pub struct ForRuntime {
    /// The example, with one model at most and the operator to compare with.
    #[serde(flatten)]
    pub record: Record,
    /// Why there is no model.
    pub refused: Option<String>,
    /// What an export with this model tells the user.
    pub notes: Vec<String>,
}

/// The model of an example for a runtime. Without one it is the operator of the example itself, which only lowerings have.
///
/// # Errors
/// The example is no call of its operator.
pub fn for_runtime(
    id: usize,
    example: &Example,
    checked: &Checked,
    rules: &Rules,
    runtime: Option<&Runtime>,
) -> Result<Option<ForRuntime>> {
    let reference = reference(example, checked, rules);
    let with = |models, refused, notes| {
        let record = record::record(id, example, checked, models, reference);
        Some(ForRuntime { record, refused, notes })
    };
    let Some(runtime) = runtime else {
        return Ok(build::native(example, checked, rules)?.and_then(|model| with(vec![model], None, Vec::new())));
    };
    Ok(match build::for_runtime(example, checked, rules, runtime) {
        Ok((model, notes)) => with(vec![model], None, notes),
        Err(error) => with(Vec::new(), Some(error.to_string()), Vec::new()),
    })
}

/// The model that the results of a lowering are compared with. Those of a map are compared with PyTorch.
fn reference(example: &Example, checked: &Checked, rules: &Rules) -> Option<(u32, Vec<u8>)> {
    let opset = build::reference_opset(&example.target)?;
    match build::build(example, checked, rules, opset, Passes::NONE, Lacks::Usual).0 {
        Outcome::Built(Built { opset, bytes, .. }) => Some((opset, bytes)),
        _ => None,
    }
}
