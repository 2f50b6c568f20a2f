//! Applies reshapes, slices and transposes to weights: the result is a view that the writer reads with strides from the
//! file. No bytes are read here.
//!
//! It must not write a weight twice unless it is small, nor transpose a large one. If weights must stay unchanged, only
//! contiguous parts are allowed.

use super::rewriter::Rewriter;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Node, Source, Value};

/// Smaller weights may be written in two shapes.
const SMALL: u64 = 16 << 10;
/// Smaller weights may be written in two layouts.
pub(super) const TINY: u64 = 256;
/// Larger weights are copied but not transposed: that takes several times as long, and runtimes transpose when they
/// load.
const CHEAP: u64 = 16 << 20;

pub(super) fn view_weights(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let value = node.input(0)?;
    let made = view_of(cx, node)?;
    let len = made.byte_len()?;
    let most = if cx.passes.keep_weights { SMALL } else { CHEAP };
    let is_alone = may_be_turned(cx, node);
    let is_tiny = len <= if made.is_contiguous() { SMALL } else { TINY };
    if !(is_alone || is_tiny) || !(made.is_contiguous() || len <= most) {
        return None;
    }
    Some(cx.view(value, made))
}

/// Whether nothing reads the weight in another layout than a node makes of it.
pub(super) fn may_be_turned(cx: &Rewriter<'_>, node: &Node) -> bool {
    let is_alone = |value| cx.is_read_once(value) || (node.op == "Transpose" && cx.layouts.is_turned(value));
    node.input(0).is_some_and(is_alone)
}

/// The transposed form of a matrix that other nodes read transposed, for a product that can read either.
pub(super) fn turned(cx: &mut Rewriter<'_>, value: Value) -> Option<Value> {
    let Source::Weight(weight) = cx.builder.source(value) else { return None };
    let made = weight.transposed(None)?;
    let most = if cx.passes.keep_weights { SMALL } else { CHEAP };
    if !cx.layouts.is_turned_for_products(value) || made.byte_len()? > most || cx.rank(value) != Some(2) {
        return None;
    }
    Some(cx.view(value, made))
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
