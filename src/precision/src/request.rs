//! What is asked for.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Graph, Value};
use aten2onnx_onnx::targets::Target;
use rustc_hash::FxHashMap;

/// The first opset whose operators take bfloat16.
const BFLOAT16_OPSET: u32 = 13;

/// Which precision is asked for, and what stays in float32.
#[derive(Debug, Clone)]
pub struct Request {
    /// float16 or bfloat16.
    pub dtype: Dtype,
    /// What computes in it.
    pub extent: Extent,
    /// The types of inputs and outputs.
    pub outside: Outside,
    /// Patterns with `*` and `?` of operators, nodes, values or modules that stay in float32. A module stands for all below it.
    pub keep: Vec<String>,
    /// The runtime that the model is for.
    pub target: Option<&'static Target>,
    /// The least and the largest number of values in runs of the float32 model, if these were measured.
    pub ranges: FxHashMap<Value, [f64; 2]>,
}

/// What computes in half precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All that is safe.
    Most,
    /// Products: matrix products, convolutions, attention, recurrent layers.
    Products,
}

/// The types of the model's float32 inputs and outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// They stay float32.
    Float32,
    /// They become those of the precision.
    Half,
}

/// How many times the largest number that was measured must fit: other inputs give other numbers.
pub(crate) const MARGIN: f64 = 4.0;

impl Request {
    /// The largest number of a value in the measured runs, if the dtype does not hold [`MARGIN`] times as much.
    pub(crate) fn excess(&self, value: Value) -> Option<f64> {
        let most = match self.dtype {
            Dtype::Bfloat16 => f64::from(half::bf16::MAX),
            _ => f64::from(half::f16::MAX),
        };
        let [least, largest] = self.ranges.get(&value)?;
        let largest = largest.max(-least);
        // Infinities can be held.
        (largest.is_finite() && largest * MARGIN > most).then_some(largest)
    }

    /// Checks that the opset has the dtype.
    pub(crate) fn check(&self, graph: &Graph) -> Result<()> {
        if self.dtype == Dtype::Bfloat16 && graph.opset < BFLOAT16_OPSET {
            let message = format!("opset {} has no operators that compute in bfloat16", graph.opset);
            return Err(Error::unsupported(message).help(format!("use opset {BFLOAT16_OPSET} or newer, or float16")));
        }
        Ok(())
    }
}
