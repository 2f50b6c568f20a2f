//! Where values come from: positions, of which half precision has too few digits, and half precision that the model chose itself.

use rustc_hash::FxHashSet;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Graph, Value};
use aten2onnx_onnx::schema::{self, Half, Shape};

use crate::units::{NodePorts, Units, is_stored, is_wide, stored_sizes};

/// Values that a node's precision depends on.
#[derive(Debug, Default)]
pub(crate) struct ValueOrigins {
    /// Computed from integers and constants alone: positions, sizes, times. Products with learned matrices make features of them.
    pub positions: FxHashSet<Value>,
    /// Computed from values that the model itself widened from half precision.
    pub widened: FxHashSet<Value>,
}

impl ValueOrigins {
    pub fn of(graph: &Graph, units: &Units) -> ValueOrigins {
        let mut found = ValueOrigins::default();
        for place in &units.nodes {
            if found.are_positions(graph, place) {
                found.positions.extend(&place.outputs);
            }
            if found.are_widened(graph, place) {
                found.widened.extend(&place.outputs);
            }
        }
        found
    }

    fn are_positions(&self, graph: &Graph, place: &NodePorts) -> bool {
        if !place.outputs.iter().any(|value| is_wide(graph, *value)) {
            return false;
        }
        match schema::facts(place.op).shape {
            Shape::Cast if place.inputs.first().is_some_and(|value| counts(graph.ty(*value).dtype())) => return true,
            Shape::Range => return true,
            _ => {}
        }
        if schema::facts(place.op).half == Half::Product && place.inputs.iter().any(|value| is_matrix(graph, *value)) {
            return false;
        }
        let mut computed =
            place.inputs.iter().filter(|value| is_wide(graph, **value) && !is_stored(graph, **value)).peekable();
        computed.peek().is_some() && computed.all(|value| self.positions.contains(value))
    }

    fn are_widened(&self, graph: &Graph, place: &NodePorts) -> bool {
        let is_half = |value: &Value| matches!(graph.ty(*value).dtype(), Dtype::Float16 | Dtype::Bfloat16);
        let widens = schema::facts(place.op).shape == Shape::Cast && place.inputs.iter().any(is_half);
        widens || place.inputs.iter().any(|value| self.widened.contains(value))
    }
}

/// Integers that may have more digits than half precision.
fn counts(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Int32 | Dtype::Int64 | Dtype::Uint32 | Dtype::Uint64)
}

/// Whether a stored value has two or more dimensions of more than one element.
fn is_matrix(graph: &Graph, value: Value) -> bool {
    stored_sizes(graph, value).is_some_and(|sizes| sizes.iter().filter(|size| **size != 1).count() > 1)
}
