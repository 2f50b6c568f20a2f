//! Joins weights that a Concat puts one after the other, and parts of a weight that a Split takes apart for it: recurrent operators want
//! their gates in another order. The writer copies the parts, so runtimes get weights in place of nodes.
//!
//! It must not write a weight twice, nor change weights that must stay as they are.

use aten2onnx_core::axes::counted_from_start;
use std::sync::Arc;

use super::rewriter::Rewriter;
use aten2onnx_core::weights::{Joined, Weight};
use aten2onnx_onnx::graph::{Node, Source, Value};

pub(super) fn join_weights(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if node.op != "Concat" || cx.passes.keep_weights {
        return None;
    }
    let axis = axis_of(cx, node, node.outputs.first().copied().flatten()?)?;
    let parts = node.inputs.iter().map(|value| part(cx, node, (*value)?)).collect::<Option<Vec<_>>>()?;
    let joined = Joined::of(parts, axis)?;
    Some(cx.builder.weight(Arc::new(joined)))
}

/// The axis of a Concat or a Split, counted from the start.
fn axis_of(cx: &Rewriter<'_>, node: &Node, value: Value) -> Option<usize> {
    counted_from_start(node.int("axis").unwrap_or(0), cx.rank(value)?)
}

/// A weight that nothing else reads, or a part of one.
fn part(cx: &Rewriter<'_>, concat: &Node, value: Value) -> Option<Arc<Weight>> {
    if !cx.is_read_once(value) {
        return None;
    }
    match cx.builder.source(value) {
        Source::Weight(weight) => Some(Arc::clone(weight)),
        Source::Constant(constant) => constant.to_weight("").map(Arc::new),
        Source::Input | Source::Node => part_of_split(cx, concat, value),
    }
}

/// A part of a weight, all parts of which go into the Concat.
fn part_of_split(cx: &Rewriter<'_>, concat: &Node, value: Value) -> Option<Arc<Weight>> {
    let split = cx.made_by(value, "Split")?;
    let whole = split.input(0)?;
    let Source::Weight(weight) = cx.builder.source(whole) else { return None };
    if !cx.is_read_once(whole) || !split.outputs.iter().all(|part| concat.inputs.contains(part)) {
        return None;
    }
    let axis = axis_of(cx, &split, whole)?;
    let mut start = 0;
    for output in split.outputs.iter().flatten() {
        let len = *cx.known_sizes(*output)?.get(axis)?;
        if *output == value {
            return weight.part(axis, start, len).map(Arc::new);
        }
        start += len;
    }
    None
}
