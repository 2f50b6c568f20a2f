//! Weights in another layout: reshaped, sliced or transposed weights are weights of their own, that the writer reads by strides
//! from where they lie. Nothing is computed here, and no byte is read.
//!
//! It must not write a weight twice, unless it is small, nor transpose a large one; and where weights stay as they lie in their
//! file, only what lies there in order is taken.

use std::sync::Arc;

use super::rewriter::Rewriter;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Node, Source, Value};

/// A weight of fewer bytes may be written in two layouts.
const SMALL: u64 = 16 << 10;
/// A weight of more bytes is copied, not gathered: that takes several times as long, and runtimes transpose as they load.
const CHEAP: u64 = 16 << 20;

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let value = node.input(0)?;
    let made = relaid(cx, node)?;
    let len = made.byte_len()?;
    let most = if cx.passes.keep_weights { SMALL } else { CHEAP };
    if !(cx.is_read_once(value) || len <= SMALL) || !(made.is_contiguous() || len <= most) {
        return None;
    }
    Some(cx.builder.weight(Arc::new(made)))
}

/// The result of a node that only reads a weight in another way.
pub(super) fn relaid(cx: &Rewriter<'_>, node: &Node) -> Option<Weight> {
    let Source::Weight(weight) = cx.builder.source(node.input(0)?) else { return None };
    match node.op {
        "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => {
            weight.reshaped(&cx.known_sizes(node.outputs.first().copied().flatten()?)?)
        }
        "Transpose" => weight.transposed(node.ints("perm")),
        _ => None,
    }
}
