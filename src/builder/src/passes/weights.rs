//! Applies reshapes, slices and transposes to weights: the result is a view that the writer reads with strides from the
//! file. No bytes are read here.
//!
//! It must not write a weight twice unless it is small, nor transpose a large one. If weights must stay unchanged, only
//! contiguous parts are allowed.

use std::sync::Arc;

use super::rewriter::Rewriter;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Node, Source, Value};

/// Smaller weights may be written in two layouts.
const SMALL: u64 = 16 << 10;
/// Larger weights are copied but not transposed: that takes several times as long, and runtimes transpose when they
/// load.
const CHEAP: u64 = 16 << 20;

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let value = node.input(0)?;
    let made = view_of(cx, node)?;
    let len = made.byte_len()?;
    let most = if cx.passes.keep_weights { SMALL } else { CHEAP };
    if !(cx.is_read_once(value) || len <= SMALL) || !(made.is_contiguous() || len <= most) {
        return None;
    }
    Some(cx.builder.weight(Arc::new(made)))
}

/// The view of a weight that a node computes.
pub(super) fn view_of(cx: &Rewriter<'_>, node: &Node) -> Option<Weight> {
    let Source::Weight(weight) = cx.builder.source(node.input(0)?) else { return None };
    match node.op {
        "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => {
            weight.reshaped(&cx.known_sizes(node.outputs.first().copied().flatten()?)?)
        }
        "Transpose" => weight.transposed(node.ints("perm")),
        _ => None,
    }
}
