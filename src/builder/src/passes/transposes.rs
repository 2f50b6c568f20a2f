//! Simplifies transposes: merges consecutive ones, moves inverse ones through elementwise operators until they meet,
//! moves equal transposes of both operands behind the operator, and turns those that only move dimensions of size 1
//! into reshapes.
//!
//! It must not increase the number of transposes.

use super::rewriter::Rewriter;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Node, Value};
use aten2onnx_onnx::schema;

/// The most operators between two transposes.
const REACH: usize = 8;

pub(super) fn simplify_transposes(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    match node.op {
        "Transpose" => meet(cx, node),
        "Reshape" => moved_ones(cx, node),
        op if schema::facts(op).is_broadcasting() => sunk(cx, node),
        _ => None,
    }
}

pub(super) fn perm(cx: &Rewriter<'_>, node: &Node) -> Option<Vec<i64>> {
    match node.ints("perm") {
        Some(perm) => Some(perm.to_vec()),
        None => Some((0..cx.rank(node.input(0)?)? as i64).rev().collect()),
    }
}

/// The composition of two permutations.
pub(super) fn joined(first: &[i64], second: &[i64]) -> Option<Vec<i64>> {
    second.iter().map(|axis| first.get(usize::try_from(*axis).ok()?).copied()).collect()
}

fn is_identity(perm: &[i64]) -> bool {
    perm.iter().enumerate().all(|(i, axis)| i as i64 == *axis)
}

pub(super) fn transposed(cx: &mut Rewriter<'_>, x: Value, perm: Vec<i64>) -> Option<Value> {
    if is_identity(&perm) { Some(x) } else { cx.make("Transpose", &[x], vec![("perm", Attr::Ints(perm))]) }
}

/// Merges a transpose with an earlier one, through operators that each have a single use and one large operand.
fn meet(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let second = perm(cx, node)?;
    let mut between: Vec<(Node, usize)> = Vec::new();
    let mut value = node.input(0)?;
    for _ in 0..REACH {
        let producer = cx.producer(value)?.clone();
        if producer.op == "Transpose" {
            let all = joined(&perm(cx, &producer)?, &second)?;
            // The earlier transpose disappears only if nothing else uses it.
            if !between.is_empty() && !cx.is_read_once(value) && !is_identity(&all) {
                return None;
            }
            let mut result = producer.input(0)?;
            for (node, main) in between.iter().rev() {
                let mut inputs: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
                *inputs.get_mut(*main)? = result;
                result = cx.remade(node, &inputs)?;
            }
            return transposed(cx, result, all);
        }
        if !cx.is_read_once(value) {
            return None;
        }
        let main = main_operand(cx, &producer)?;
        value = producer.input(main)?;
        between.push((producer, main));
    }
    None
}

/// The index of the only operand that is not a single number.
fn main_operand(cx: &Rewriter<'_>, node: &Node) -> Option<usize> {
    if node.outputs.len() != 1 {
        return None;
    }
    let facts = schema::facts(node.op);
    if facts.is_unary() {
        return Some(0);
    }
    if !facts.is_broadcasting() {
        return None;
    }
    let mut large = node.inputs.iter().enumerate().filter(|(_, v)| !v.is_some_and(|v| is_number(cx, v)));
    match (large.next(), large.next()) {
        (Some((i, Some(_))), None) => Some(i),
        _ => None,
    }
}

fn is_number(cx: &Rewriter<'_>, value: Value) -> bool {
    cx.rank(value) == Some(0)
}

/// Moves equal transposes of all operands behind the node.
fn sunk(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let mut alike: Option<Vec<i64>> = None;
    let mut inputs = Vec::with_capacity(node.inputs.len());
    let mut count = 0;
    for value in &node.inputs {
        let value = (*value)?;
        if is_number(cx, value) {
            inputs.push(value);
            continue;
        }
        let producer = cx.made_by(value, "Transpose").filter(|_| cx.is_read_once(value))?;
        let own = perm(cx, &producer)?;
        if alike.as_ref().is_some_and(|perm| *perm != own) {
            return None;
        }
        alike = Some(own);
        inputs.push(producer.input(0)?);
        count += 1;
    }
    if count < 2 {
        return None;
    }
    let result = cx.remade(node, &inputs)?;
    transposed(cx, result, alike?)
}

/// Merges a transpose that only moves dimensions of size 1 into the following reshape.
fn moved_ones(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let inner = cx.input_node(node, 0, "Transpose")?;
    let (x, shape) = (inner.input(0)?, node.input(1)?);
    let sizes = cx.shape(x)?.to_vec();
    let kept = |axis: &i64| usize::try_from(*axis).ok().filter(|i| sizes.get(*i).is_some_and(|n| *n != 1));
    let order: Vec<usize> = perm(cx, &inner)?.iter().filter_map(kept).collect();
    if !order.is_sorted() {
        return None;
    }
    // A size of 0 would copy another dimension.
    let entries = cx.ints(shape)?;
    let fixed: Vec<SymInt> = entries.iter().copied().map(SymInt::from).collect();
    if entries.contains(&0) {
        return None;
    }
    cx.builder.reshape(x, &fixed).ok()
}
