//! Gelu (opset 20), by the error function or by tanh, and HardSwish (14).
//!
//! It must not take other constants than those of the functions.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use super::super::rewriter::Rewriter;
use super::terms::{self, Terms};
use super::{is_near, number, takes};
use crate::graph::{Attr, Node, Value};

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

/// `x + 0.044715 x^3`, or `x (1 + 0.044715 x^2)`, as factors.
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

/// `x clip(x + 3, 0, 6) / 6` and `x HardSigmoid(x)` with the slope 1/6.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::super::testing::{Net, ops};
    use crate::builder::Scalar;
    use crate::dtype::Dtype;
    use crate::graph::Type;

    fn gelu(opset: u32, half: f32) -> Vec<&'static str> {
        let mut net = Net::new(opset);
        let x = net.input(&[2, 3]);
        let (half, one, root) = (net.floats(&[], &[half]), net.floats(&[], &[1.0]), net.floats(&[], &[2f32.sqrt()]));
        let a = net.op("Div", &[x, root]);
        let a = net.op("Erf", &[a]);
        let a = net.op("Add", &[a, one]);
        let b = net.op("Mul", &[half, x]);
        let y = net.op("Mul", &[b, a]);
        ops(net, y)
    }

    #[test]
    fn gelu_is_seen_by_its_error_function() {
        assert_eq!(gelu(20, 0.5), ["Gelu"]);
        assert_eq!(gelu(19, 0.5).len(), 5);
        assert_eq!(gelu(20, 0.51).len(), 5);
    }

    fn tanh_gelu(cube: f32) -> Vec<&'static str> {
        let mut net = Net::new(20);
        let x = net.input(&[2, 3]);
        let mut number = |x: f32| net.floats(&[], &[x]);
        let (half, one, three) = (number(0.5), number(1.0), number(3.0));
        let (cube, root) = (number(cube), number(0.797_884_6));
        let a = net.op("Pow", &[x, three]);
        let a = net.op("Mul", &[cube, a]);
        let a = net.op("Add", &[x, a]);
        let a = net.op("Mul", &[root, a]);
        let a = net.op("Tanh", &[a]);
        let a = net.op("Add", &[one, a]);
        let b = net.op("Mul", &[x, half]);
        let y = net.op("Mul", &[b, a]);
        ops(net, y)
    }

    #[test]
    fn gelu_is_seen_by_its_approximation() {
        assert_eq!(tanh_gelu(0.044_715), ["Gelu"]);
        assert_eq!(tanh_gelu(0.05).len(), 8);
        assert_eq!(factored_gelu(0.044_715), ["Gelu"]);
        assert_eq!(factored_gelu(0.05).len(), 9);
    }

    /// `x (1 + 0.044715 x x)`, in float16.
    fn factored_gelu(cube: f64) -> Vec<&'static str> {
        let mut net = Net::new(20);
        let x = net.typed(Type::sized(Dtype::Float16, &[2, 3]));
        let mut number = |x: f64| net.builder.scalar(&Scalar::Float(x), Dtype::Float16).unwrap();
        let (half, one, cube, root) = (number(0.5), number(1.0), number(cube), number(0.797_884_560_8));
        let a = net.op("Mul", &[x, root]);
        let b = net.op("Mul", &[cube, x]);
        let b = net.op("Mul", &[b, x]);
        let b = net.op("Add", &[one, b]);
        let a = net.op("Mul", &[a, b]);
        let a = net.op("Tanh", &[a]);
        let a = net.op("Add", &[one, a]);
        let b = net.op("Mul", &[half, x]);
        let y = net.op("Mul", &[b, a]);
        ops(net, y)
    }

    fn swish(opset: u32, most: f32) -> Vec<&'static str> {
        let mut net = Net::new(opset);
        let x = net.input(&[2, 3]);
        let mut number = |x: f32| net.floats(&[], &[x]);
        let (three, zero, six, most) = (number(3.0), number(0.0), number(6.0), number(most));
        let a = net.op("Add", &[x, three]);
        let a = net.op("Clip", &[a, zero, most]);
        let a = net.op("Mul", &[x, a]);
        let y = net.op("Div", &[a, six]);
        ops(net, y)
    }

    #[test]
    fn hard_swish_is_seen() {
        assert_eq!(swish(14, 6.0), ["HardSwish"]);
        assert_eq!(swish(13, 6.0).len(), 4);
        assert_eq!(swish(14, 7.0).len(), 4);
    }

    fn half(net: &mut Net, x: f64) -> crate::graph::Value {
        net.builder.scalar(&Scalar::Float(x), Dtype::Float16).unwrap()
    }

    fn half_gelu(root: f64) -> Vec<&'static str> {
        let mut net = Net::new(20);
        let x = net.typed(Type::sized(Dtype::Float16, &[2, 3]));
        let (one_half, one, root) = (half(&mut net, 0.5), half(&mut net, 1.0), half(&mut net, root));
        let a = net.op("Mul", &[x, root]);
        let a = net.op("Erf", &[a]);
        let a = net.op("Add", &[a, one]);
        let a = net.op("Mul", &[x, a]);
        let y = net.op("Mul", &[a, one_half]);
        ops(net, y)
    }

    fn half_swish(slope: f64) -> Vec<&'static str> {
        let mut net = Net::new(14);
        let x = net.typed(Type::sized(Dtype::Float16, &[2, 3]));
        let (three, zero, six) = (half(&mut net, 3.0), half(&mut net, 0.0), half(&mut net, 6.0));
        let slope = half(&mut net, slope);
        let a = net.op("Add", &[x, three]);
        let a = net.op("Clip", &[a, zero, six]);
        let a = net.op("Mul", &[a, slope]);
        let y = net.op("Mul", &[x, a]);
        ops(net, y)
    }

    #[test]
    fn the_constants_of_float16_are_rounded() {
        assert_eq!(half_gelu(std::f64::consts::FRAC_1_SQRT_2), ["Gelu"]);
        assert_eq!(half_gelu(0.71).len(), 5);
        assert_eq!(half_swish(1.0 / 6.0), ["HardSwish"]);
        assert_eq!(half_swish(0.17).len(), 4);
    }
}
