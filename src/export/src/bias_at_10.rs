//! Quantized models at opset 10 that ONNX Runtime's optimizer breaks: it quantizes the bias of a layer between quantized values with Round,
//! which opset 10 does not have, and then refuses its own graph.

use aten2onnx_onnx::graph::{Graph, Value};
use rustc_hash::FxHashSet;

const NOTE: &str = "at opset 10, ONNX Runtime may refuse the model with \"No Op registered for Round\": its optimizer adds Round for the bias of layers between \
     quantized values, and Round came with opset 11. Export at opset 11 or newer, or turn its optimizations off (ORT_DISABLE_ALL)";

/// What to say of the model, if it has such a layer.
pub(super) fn note(graph: &Graph) -> Option<String> {
    if graph.opset != 10 {
        return None;
    }
    let mut dequantized: FxHashSet<Value> = FxHashSet::default();
    let mut found = false;
    graph.body.visit(&mut |node| {
        if node.op == "DequantizeLinear" {
            dequantized.extend(node.outputs.iter().flatten());
        }
        // The sum after a MatMul becomes its bias.
        let has_bias = match node.op {
            "Conv" | "ConvTranspose" | "Gemm" => node.inputs.len() > 2,
            "MatMul" => true,
            _ => false,
        };
        found |= has_bias && node.inputs.first().copied().flatten().is_some_and(|x| dequantized.contains(&x));
    });
    found.then(|| NOTE.to_owned())
}
