//! Removes nodes that change nothing: Identity, transposes and reshapes to the same layout, full slices, pads of 0,
//! expansion to the same size, products with 1, integer sums with 0, sums of one operand, `and` with true, `or` with
//! false, and choices that a constant makes everywhere in the same way.
//!
//! It must not remove a node whose result has another type, even if that is unknown.

use super::rewriter::Rewriter;
use crate::build::{Scalar, uniform};
use aten2onnx_onnx::graph::{Node, Value};

pub(super) fn drop_identity(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let x = node.input(0)?;
    let result = node.outputs.first().copied().flatten()?;
    let changes_nothing = match node.op {
        "Identity" => return Some(x),
        "Concat" | "Max" | "Min" | "Mean" | "Sum" => node.inputs.len() == 1,
        "Transpose" => node.ints("perm").is_some_and(|perm| perm.iter().enumerate().all(|(i, axis)| i as i64 == *axis)),
        // These keep the order of the elements.
        "Expand" | "Flatten" | "Reshape" | "Squeeze" | "Tile" | "Unsqueeze" => cx.same_type(x, result),
        "Slice" => cx.same_type(x, result) && has_unit_steps(cx, node),
        "Pad" => cx.same_type(x, result) && has_no_pads(cx, node),
        "Where" => return chosen(cx, node, result),
        "Mul" => return neutral_operand(cx, node, result, 1.0),
        "And" => return neutral_operand(cx, node, result, 1.0),
        "Or" => return neutral_operand(cx, node, result, 0.0),
        // Only for integers, because -0.0 + 0.0 is 0.0.
        "Add" if cx.dtype(result).is_int() => return neutral_operand(cx, node, result, 0.0),
        "Div" => cx.same_type(x, result) && node.input(1).is_some_and(|y| is_all(cx, y, 1.0)),
        "Sub" => cx.same_type(x, result) && node.input(1).is_some_and(|y| is_all(cx, y, 0.0)),
        _ => false,
    };
    changes_nothing.then_some(x)
}

/// What a constant condition chooses everywhere.
fn chosen(cx: &Rewriter<'_>, node: &Node, result: Value) -> Option<Value> {
    let condition = super::constants::known(cx, node.input(0)?)?;
    let branch = if uniform(&condition)? { 1 } else { 2 };
    node.input(branch).filter(|x| cx.same_type(*x, result))
}

fn has_unit_steps(cx: &Rewriter<'_>, node: &Node) -> bool {
    node.input(4).is_none_or(|steps| cx.ints(steps).is_some_and(|steps| steps.iter().all(|step| *step == 1)))
}

/// Pads of opposite signs could result in the same size.
fn has_no_pads(cx: &Rewriter<'_>, node: &Node) -> bool {
    let pads = node.ints("pads").map(<[i64]>::to_vec).or_else(|| cx.ints(node.input(1)?));
    pads.is_some_and(|pads| pads.iter().all(|pad| *pad == 0))
}

/// The other operand of the neutral element `number`, if it has the result's type.
fn neutral_operand(cx: &Rewriter<'_>, node: &Node, result: Value, number: f64) -> Option<Value> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    [(a, b), (b, a)].into_iter().find_map(|(x, y)| (cx.same_type(x, result) && is_all(cx, y, number)).then_some(x))
}

/// Whether the value is a one-element constant equal to the number.
fn is_all(cx: &Rewriter<'_>, value: Value, number: f64) -> bool {
    match cx.builder.constant_scalar(value) {
        Some(Scalar::Int(n)) => n as f64 == number,
        Some(Scalar::Bool(b)) => f64::from(b) == number,
        // Subtracting -0.0 would change the sign of a zero.
        Some(Scalar::Float(x)) => x == number && x.is_sign_positive(),
        _ => false,
    }
}
