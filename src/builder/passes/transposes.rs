//! Transpositions: one after another they are one, or none; elementwise operators between two that undo each other let them
//! meet; two operands that are transposed alike are transposed after the operator; what moves only dimensions of size 1 is a
//! reshape of what follows.
//!
//! It must not make more transpositions than there were.

use super::rewriter::Rewriter;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Node, Value};

/// Operators on each element alone.
const UNARY: &[&str] = &[
    "Abs",
    "Cast",
    "Ceil",
    "Clip",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Sigmoid",
    "Softplus",
    "Sqrt",
    "Tanh",
];

const BINARY: &[&str] = &["Add", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Where"];

/// How many operators may stand between two transpositions.
const REACH: usize = 8;

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    match node.op {
        "Transpose" => meet(cx, node),
        "Reshape" => moved_ones(cx, node),
        op if BINARY.contains(&op) => sunk(cx, node),
        _ => None,
    }
}

pub(super) fn perm(cx: &Rewriter<'_>, node: &Node) -> Option<Vec<i64>> {
    match node.ints("perm") {
        Some(perm) => Some(perm.to_vec()),
        None => Some((0..cx.rank(node.input(0)?)? as i64).rev().collect()),
    }
}

/// First one, then the other.
pub(super) fn joined(first: &[i64], second: &[i64]) -> Option<Vec<i64>> {
    second.iter().map(|axis| first.get(usize::try_from(*axis).ok()?).copied()).collect()
}

fn is_identity(perm: &[i64]) -> bool {
    perm.iter().enumerate().all(|(i, axis)| i as i64 == *axis)
}

pub(super) fn transposed(cx: &mut Rewriter<'_>, x: Value, perm: Vec<i64>) -> Option<Value> {
    if is_identity(&perm) { Some(x) } else { cx.make("Transpose", &[x], vec![("perm", Attr::Ints(perm))]) }
}

/// This transposition and an earlier one, with operators between them that each are read once and have one large operand.
fn meet(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let second = perm(cx, node)?;
    let mut between: Vec<(Node, usize)> = Vec::new();
    let mut value = node.input(0)?;
    for _ in 0..REACH {
        let producer = cx.producer(value)?.clone();
        if producer.op == "Transpose" {
            let all = joined(&perm(cx, &producer)?, &second)?;
            // The first one goes only if nothing else reads it.
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

/// The operand of an elementwise node that all others are single numbers beside.
fn main_operand(cx: &Rewriter<'_>, node: &Node) -> Option<usize> {
    if node.outputs.len() != 1 {
        return None;
    }
    if UNARY.contains(&node.op) {
        return Some(0);
    }
    if !BINARY.contains(&node.op) {
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

/// Operands that are transposed alike.
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

/// A reshape that the transposition before it does not matter to.
fn moved_ones(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let inner = cx.input_node(node, 0, "Transpose")?;
    let (x, shape) = (inner.input(0)?, node.input(1)?);
    let sizes = cx.shape(x)?.to_vec();
    let kept = |axis: &i64| usize::try_from(*axis).ok().filter(|i| sizes.get(*i).is_some_and(|n| *n != 1));
    let order: Vec<usize> = perm(cx, &inner)?.iter().filter_map(kept).collect();
    if !order.is_sorted() {
        return None;
    }
    // A size of 0 would copy that of another dimension.
    let entries = cx.ints(shape)?;
    let fixed: Vec<SymInt> = entries.iter().copied().map(SymInt::from).collect();
    if entries.contains(&0) {
        return None;
    }
    cx.builder.reshape(x, &fixed).ok()
}
