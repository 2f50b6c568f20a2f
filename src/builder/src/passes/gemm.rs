//! Lets a product read a weight in the layout in which other nodes read it.
//!
//! It must not write a weight twice. `mappings/fuse/products.opmap` makes products of what is transposed or added.

use super::rewriter::Rewriter;
use super::weights;
use aten2onnx_onnx::graph::{Attr, Node, Value};

pub(super) fn share_layouts(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if node.op != "Gemm" {
        return None;
    }
    let mut inputs: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
    let mut attrs = node.attrs.clone();
    let mut changed = false;
    for (input, flag) in inputs.iter_mut().zip(["transA", "transB"]) {
        let Some(turned) = weights::turned(cx, *input) else { continue };
        *input = turned;
        let was = node.int(flag).unwrap_or(0);
        attrs.retain(|(name, _)| *name != flag);
        attrs.push((flag, Attr::Int(1 - was)));
        changed = true;
    }
    if changed { cx.make("Gemm", &inputs, attrs) } else { None }
}
