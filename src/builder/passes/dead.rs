//! Dead code: keeps the nodes that outputs need, straight or through others, and leaves out optional outputs that nobody reads.
//!
//! It must not drop a node with one output that is read, nor a required output.

use aten2onnx_onnx::graph::{Body, Node};

use crate::build::{Builder, Live};

/// The nodes of a builder's graph that are needed, taken out of it.
pub(super) fn swept(builder: &mut Builder) -> Vec<Node> {
    let mut live = Live::new(builder.value_count());
    let outputs = builder.results_mut().map(|value| *value).collect();
    let mut body = Body { inputs: Vec::new(), nodes: builder.take_nodes(), outputs };
    live.sweep(&mut body);
    body.nodes
}
