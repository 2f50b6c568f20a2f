//! Fuses Gelu (opset 20), with erf or tanh, and HardSwish (14).
//!
//! It must match the exact constants of the functions.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use super::super::rewriter::Rewriter;
use super::terms::{self, Terms};
use super::{is_near, number, takes};
use aten2onnx_onnx::graph::{Attr, Node, Value};

pub(in super::super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if !matches!(node.op, "Mul" | "Div") || !(cx.has("HardSwish") || cx.has("Gelu")) {
        return None;
    }
    let Terms { number: factor, values } = terms::product(cx, node)?;
    let [a, b] = *values.as_slice() else { return None };
    [(a, b), (b, a)].into_iter().find_map(|(x, gate)| gelu(cx, x, gate, factor).or_else(|| swish(cx, x, gate, factor)))
}

/// `0.5 x (1 + erf(x / sqrt(2)))` and `0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`
fn gelu(cx: &mut Rewriter<'_>, x: Value, gate: Value, factor: f64) -> Option<Value> {
    let dtype = cx.dtype(x);
    if !is_near(dtype, factor, 0.5) || !takes(cx, "Gelu", x) {
        return None;
    }
    let Terms { number, values } = terms::sum(cx, gate)?;
    let [curve] = *values.as_slice() else { return None };
    let curve = cx.producer(curve).filter(|_| number == 1.0)?.clone();
    let argument = cx.producer(curve.input(0)?).filter(|node| matches!(node.op, "Mul" | "Div"))?.clone();
    let Terms { number: scale, values } = terms::product(cx, &argument)?;
    match curve.op {
        "Erf" if values == [x] && is_near(dtype, scale, FRAC_1_SQRT_2) => cx.make("Gelu", &[x], vec![]),
        "Tanh" if is_near(dtype, scale, FRAC_2_PI.sqrt()) && is_cubic(cx, &values, x)? => {
            cx.make("Gelu", &[x], vec![("approximate", Attr::Str("tanh".to_owned()))])
        }
        _ => None,
    }
}

/// Matches `x + 0.044715 x^3`, or `x (1 + 0.044715 x^2)`, given as factors.
fn is_cubic(cx: &Rewriter<'_>, factors: &[Value], x: Value) -> Option<bool> {
    let (sum, degree) = match *factors {
        [sum] => (sum, 3),
        [a, b] if a == x => (b, 2),
        [a, b] if b == x => (a, 2),
        _ => return None,
    };
    let Terms { number, values } = terms::sum(cx, sum)?;
    let term = match *values.as_slice() {
        [a, b] if degree == 3 && number == 0.0 && a == x => b,
        [a, b] if degree == 3 && number == 0.0 && b == x => a,
        [term] if degree == 2 && number == 1.0 => term,
        _ => return None,
    };
    let node = cx.producer(term).filter(|node| node.op == "Mul")?;
    let Terms { number, values } = terms::product(cx, node)?;
    let total: i32 = values.iter().map(|value| terms::power(cx, *value, x)).sum::<Option<i32>>()?;
    Some(is_near(cx.dtype(x), number, 0.044715) && total == degree)
}

/// `x clip(x + 3, 0, 6) / 6` and `x HardSigmoid(x)` with slope 1/6.
fn swish(cx: &mut Rewriter<'_>, x: Value, gate: Value, factor: f64) -> Option<Value> {
    if !takes(cx, "HardSwish", x) {
        return None;
    }
    let dtype = cx.dtype(x);
    let node = cx.producer(gate)?;
    let is_gate = match node.op {
        "HardSigmoid" => {
            let (alpha, beta) = (node.float("alpha").unwrap_or(0.2), node.float("beta").unwrap_or(0.5));
            let is_slope = is_near(dtype, alpha, 1.0 / 6.0) && is_near(dtype, beta, 0.5);
            node.input(0)? == x && is_slope && is_near(dtype, factor, 1.0)
        }
        "Clip" => {
            let limits = (number(cx, node.input(1)?)?, number(cx, node.input(2)?)?);
            let Terms { number, values } = terms::sum(cx, node.input(0)?)?;
            limits == (0.0, 6.0) && number == 3.0 && values == [x] && is_near(dtype, factor, 1.0 / 6.0)
        }
        _ => false,
    };
    if is_gate { cx.make("HardSwish", &[x], vec![]) } else { None }
}
