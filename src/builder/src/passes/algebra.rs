//! Simplifies arithmetic: a product with a reciprocal becomes a quotient, a sum with a negation a difference; two known
//! factors become one; double negation disappears; Where with a negated condition swaps its branches.
//!
//! It must not change results by more than rounding: known factors are multiplied only if the product is a normal
//! number.

use super::rewriter::Rewriter;
use crate::build::Scalar;
use aten2onnx_onnx::graph::{Node, Value};

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    match node.op {
        "Mul" => quotient(cx, node).or_else(|| factors(cx, node)),
        "Add" => {
            let (a, b) = (node.input(0)?, node.input(1)?);
            let (x, negative) = [(a, b), (b, a)].into_iter().find_map(|(x, y)| Some((x, negated(cx, y)?)))?;
            cx.make("Sub", &[x, negative], vec![])
        }
        "Sub" => {
            let negative = negated(cx, node.input(1)?)?;
            cx.make("Add", &[node.input(0)?, negative], vec![])
        }
        "Neg" | "Not" => cx.input_node(node, 0, node.op)?.input(0),
        "Where" => {
            let condition = cx.input_node(node, 0, "Not")?.input(0)?;
            cx.make("Where", &[condition, node.input(2)?, node.input(1)?], vec![])
        }
        _ => None,
    }
}

/// `x * (1 / y)` is `x / y`.
fn quotient(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let found = |(x, y): (Value, Value)| {
        let reciprocal = cx.made_by(y, "Reciprocal").filter(|_| x != y && cx.is_read_once(y))?;
        Some((x, reciprocal.input(0)?))
    };
    let (x, y) = [(a, b), (b, a)].into_iter().find_map(found)?;
    cx.make("Div", &[x, y], vec![])
}

/// The operand of a Neg that nothing else uses.
fn negated(cx: &Rewriter<'_>, value: Value) -> Option<Value> {
    cx.made_by(value, "Neg").filter(|_| cx.is_read_once(value))?.input(0)
}

/// `(x * a) * b` is `x * (a * b)`.
fn factors(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let (inner, b) = with_factor(cx, node)?;
    let product = cx.made_by(inner, "Mul").filter(|_| cx.is_read_once(inner))?;
    let (x, a) = with_factor(cx, &product)?;
    let dtype = cx.dtype(x);
    let both = a * b;
    if !dtype.is_float() || !both.is_normal() || !(1e-4..1e4).contains(&both.abs()) {
        return None;
    }
    let both = cx.builder.scalar(&Scalar::Float(both), dtype).ok()?;
    cx.make("Mul", &[x, both], vec![])
}

/// The other operand and the constant factor.
fn with_factor(cx: &Rewriter<'_>, node: &Node) -> Option<(Value, f64)> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let number = |value: Value| match (cx.rank(value), cx.builder.constant_scalar(value)) {
        (Some(0), Some(Scalar::Float(x))) => Some(x),
        _ => None,
    };
    [(a, b), (b, a)].into_iter().find_map(|(x, y)| Some((x, number(y)?)))
}
