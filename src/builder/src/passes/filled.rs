//! Makes a slice of a tensor of one number with its own size: the states of a layer are zeros of its own, not a part of those of all
//! layers. Those of known sizes are left to `constants`.

use super::rewriter::Rewriter;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Node, Value};

pub(super) fn fill_own_size(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let filled = cx.input_node(node, 0, "ConstantOfShape").filter(|_| node.op == "Slice")?;
    let result = node.outputs.first().copied().flatten()?;
    let sizes = cx.shape(result)?.to_vec();
    if sizes.iter().all(|size| size.known().is_some()) {
        return None;
    }
    let shape = cx.builder.vector(&sizes, Dtype::Int64).ok()?;
    cx.make("ConstantOfShape", &[shape], filled.attrs)
}
