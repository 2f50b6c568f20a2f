//! Products and sums as flat lists, in any order.

use super::super::rewriter::Rewriter;
use super::number;
use aten2onnx_onnx::graph::{Node, Value};

/// The depth to which products or sums are flattened.
const DEPTH: usize = 6;

/// Constant factors or terms, and the other operands.
pub(super) struct Terms {
    /// The product or sum of the numbers.
    pub(super) number: f64,
    /// The others, in order.
    pub(super) values: Vec<Value>,
}

/// The factors of this node and of products below it that nothing else uses.
pub(super) fn product(cx: &Rewriter<'_>, node: &Node) -> Option<Terms> {
    let mut terms = Terms { number: 1.0, values: Vec::new() };
    factors(cx, node, &mut terms, DEPTH)?;
    Some(terms)
}

fn factors(cx: &Rewriter<'_>, node: &Node, terms: &mut Terms, depth: usize) -> Option<()> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    if node.op == "Div" {
        terms.number /= number(cx, b)?;
        return factor(cx, a, terms, depth);
    }
    factor(cx, a, terms, depth)?;
    factor(cx, b, terms, depth)
}

fn factor(cx: &Rewriter<'_>, value: Value, terms: &mut Terms, depth: usize) -> Option<()> {
    if let Some(x) = number(cx, value) {
        terms.number *= x;
        return Some(());
    }
    let inner = cx.producer(value).filter(|_| depth > 0 && cx.is_read_once(value));
    let divides = |inner: &Node| inner.op == "Div" && inner.input(1).is_some_and(|b| number(cx, b).is_some());
    match inner.filter(|inner| inner.op == "Mul" || divides(inner)) {
        Some(inner) => factors(cx, inner, terms, depth - 1),
        None => {
            terms.values.push(value);
            Some(())
        }
    }
}

/// The terms of a sum of two.
pub(super) fn sum(cx: &Rewriter<'_>, value: Value) -> Option<Terms> {
    let node = cx.producer(value).filter(|node| node.op == "Add")?;
    let mut terms = Terms { number: 0.0, values: Vec::new() };
    for value in [node.input(0)?, node.input(1)?] {
        match number(cx, value) {
            Some(x) => terms.number += x,
            None => terms.values.push(value),
        }
    }
    Some(terms)
}

/// The exponent, if the value is a power of `x`.
pub(super) fn power(cx: &Rewriter<'_>, value: Value, x: Value) -> Option<i32> {
    if value == x {
        return Some(1);
    }
    let node = cx.producer(value)?;
    match node.op {
        "Pow" if node.input(0)? == x => {
            let exponent = number(cx, node.input(1)?)?;
            (exponent.fract() == 0.0 && (1.0..=4.0).contains(&exponent)).then_some(exponent as i32)
        }
        "Mul" => {
            let (a, b) = (node.input(0)?, node.input(1)?);
            Some(power(cx, a, x)? + power(cx, b, x)?).filter(|power| *power <= 4)
        }
        _ => None,
    }
}
