//! Models that compute in bfloat16, for which ONNX Runtime's CPU has few kernels. They run on other hardware, so without a target nothing is
//! replaced, but it is told.

use std::collections::BTreeSet;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Graph, Node};
use aten2onnx_onnx::schema;
use aten2onnx_onnx::targets::onnxruntime_lacks;

/// So many operators are named.
const NAMED: usize = 4;

/// What to say of a model that ONNX Runtime does not load on a CPU.
pub(super) fn note(graph: &Graph) -> Option<String> {
    let mut lacking: BTreeSet<&str> = BTreeSet::new();
    graph.body.visit(&mut |node| {
        if lacks_kernel(graph, node) {
            lacking.insert(node.op);
        }
    });
    let named: Vec<String> = lacking.iter().take(NAMED).map(|op| format!("`{op}`")).collect();
    let more = if lacking.len() > NAMED { format!(" and {} more", lacking.len() - NAMED) } else { String::new() };
    (!named.is_empty()).then(|| {
        format!(
            "ONNX Runtime has no bfloat16 kernel on the CPU for {}{more}, so the model runs on hardware that has one: for the CPU, \
             `--target onnxruntime` computes them in float32",
            named.join(", ")
        )
    })
}

fn lacks_kernel(graph: &Graph, node: &Node) -> bool {
    let is_half = |value| graph.ty(value).dtype() == Dtype::Bfloat16;
    if !node.inputs.iter().flatten().any(|value| is_half(*value)) {
        return false;
    }
    let version = schema::find(node.op).and_then(|op| op.at(graph.opset)).map(|version| version.since);
    let lacks = onnxruntime_lacks().iter().filter(|lacks| lacks.op == node.op && Some(lacks.since) == version);
    lacks.flat_map(|lacks| lacks.dtypes).any(|dtype| *dtype == Dtype::Bfloat16)
}
