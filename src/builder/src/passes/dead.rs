//! Dead code elimination: keeps the nodes that outputs depend on, and drops unused optional outputs.
//!
//! It must not drop a node with a used output, nor a required output.

use aten2onnx_onnx::graph::{Body, Node};

use crate::build::{Builder, Live};

/// Takes the live nodes out of the builder.
pub(super) fn live_nodes(builder: &mut Builder) -> Vec<Node> {
    let mut live = Live::new(builder.value_count());
    let outputs = builder.results_mut().map(|value| *value).collect();
    let mut body = Body { inputs: Vec::new(), nodes: builder.take_nodes(), outputs };
    live.sweep(&mut body);
    body.nodes
}
