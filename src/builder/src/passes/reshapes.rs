//! Simplifies Reshape, Squeeze, Unsqueeze and Flatten: merges chains, replaces computed shapes by constants with 0 and
//! -1, and removes leading ones of a broadcast operand.
//!
//! It must not use -1 if another size may be 0 at run time.

use super::rewriter::Rewriter;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Node, Value};

const LAYOUT: &[&str] = &["Flatten", "Reshape", "Squeeze", "Unsqueeze"];

/// Operators that broadcast their operands.
const BROADCAST: &[&str] = &[
    "Add",
    "And",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Mul",
    "Or",
    "Pow",
    "Sub",
    "Where",
];

pub(super) fn simplify_reshapes(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    match node.op {
        op if LAYOUT.contains(&op) => chain(cx, node).or_else(|| constant_shape(cx, node)),
        "Expand" => constant_expansion(cx, node),
        op if BROADCAST.contains(&op) => without_leading_ones(cx, node),
        _ => None,
    }
}

/// Replaces a chain of reshapes from `x` to this node by one.
fn chain(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let inner = cx.producer(node.input(0)?).filter(|inner| LAYOUT.contains(&inner.op))?;
    let x = inner.input(0)?;
    let result = node.outputs.first().copied().flatten()?;
    if cx.same_type(x, result) {
        return Some(x);
    }
    reshaped(cx, x, result)
}

/// `x` in the shape of a result, if a constant can express it.
fn reshaped(cx: &mut Rewriter<'_>, x: Value, result: Value) -> Option<Value> {
    let sizes = cx.shape(result)?.to_vec();
    let known = cx.builder.constant_reshape(x, &sizes)?;
    let shape = cx.builder.ints(&known);
    cx.make("Reshape", &[x, shape], vec![])
}

fn constant_shape(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if node.op != "Reshape" || cx.ints(node.input(1)?).is_some() {
        return None;
    }
    reshaped(cx, node.input(0)?, node.outputs.first().copied().flatten()?)
}

/// In Expand, 1 keeps a size of `x`.
fn constant_expansion(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let (x, shape) = (node.input(0)?, node.input(1)?);
    if cx.ints(shape).is_some() {
        return None;
    }
    let result = node.outputs.first().copied().flatten()?;
    let (from, to) = (cx.shape(x)?, cx.shape(result)?);
    let added = to.len().checked_sub(from.len())?;
    let entry = |(i, size): (usize, &SymInt)| {
        let own = i.checked_sub(added).and_then(|i| from.get(i));
        if own == Some(size) { Some(1) } else { size.known() }
    };
    let entries: Vec<i64> = to.iter().enumerate().map(entry).collect::<Option<_>>()?;
    let shape = cx.builder.ints(&entries);
    cx.make("Expand", &[x, shape], vec![])
}

/// Removes leading dimensions of 1, if another operand has the full rank.
fn without_leading_ones(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let rank = cx.rank(node.outputs.first().copied().flatten()?)?;
    let inputs: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
    for (i, value) in inputs.iter().enumerate() {
        let others = inputs.iter().enumerate().filter(|(j, _)| *j != i);
        if !others.into_iter().any(|(_, v)| cx.rank(*v) == Some(rank)) {
            continue;
        }
        let Some(inner) = cx.producer(*value).filter(|inner| matches!(inner.op, "Unsqueeze" | "Reshape")) else {
            continue;
        };
        let Some(x) = inner.input(0) else { continue };
        let (Some(own), Some(shape)) = (cx.shape(x), cx.shape(*value)) else { continue };
        let Some(added) = shape.len().checked_sub(own.len()).filter(|added| *added > 0) else { continue };
        let is_front = shape.iter().take(added).all(|n| *n == 1) && shape.get(added..) == Some(own);
        if is_front {
            let mut inputs = inputs.clone();
            *inputs.get_mut(i)? = x;
            return cx.remade(node, &inputs);
        }
    }
    None
}
