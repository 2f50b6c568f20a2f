//! RMSNormalization (opset 23) and LayerNormalization (17) along the last dimension.
//!
//! It must not take a mean along other dimensions, nor a scale that is not one number for each element of the last.

use super::super::rewriter::Rewriter;
use super::terms::{self, Terms};
use super::{number, takes};
use crate::graph::{Attr, Node, Value};

pub(in super::super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    match node.op {
        "Mul" => rms(cx, node),
        "Add" => layer(cx, node),
        _ => None,
    }
}

/// `scale * x / sqrt(mean(x^2) + epsilon)`
fn rms(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if !cx.has("RMSNormalization") {
        return None;
    }
    let (normal, scale) = scaled(cx, node)?;
    let (x, epsilon) = normalised(cx, normal)?;
    let is_fit = takes(cx, "RMSNormalization", x) && is_scale(cx, scale, x);
    let attrs = vec![("axis", Attr::Int(-1)), ("epsilon", Attr::Float(epsilon))];
    if is_fit { cx.make("RMSNormalization", &[x, scale], attrs) } else { None }
}

/// `scale * (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) + shift`
fn layer(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if !cx.has("LayerNormalization") {
        return None;
    }
    let (a, b) = (node.input(0)?, node.input(1)?);
    for (product, shift) in [(a, b), (b, a)] {
        let Some(product) = cx.made_by(product, "Mul").filter(|_| cx.is_read_once(product)) else { continue };
        let Some((normal, scale)) = scaled(cx, &product) else { continue };
        let Some((centred, epsilon)) = normalised(cx, normal) else { continue };
        let Some(x) = centre(cx, centred) else { continue };
        if takes(cx, "LayerNormalization", x) && is_scale(cx, scale, x) && is_scale(cx, shift, x) {
            let attrs = vec![("axis", Attr::Int(-1)), ("epsilon", Attr::Float(epsilon))];
            return cx.make("LayerNormalization", &[x, scale, shift], attrs);
        }
    }
    None
}

/// A quotient and what it is multiplied with.
fn scaled(cx: &Rewriter<'_>, node: &Node) -> Option<(Node, Value)> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    [(a, b), (b, a)]
        .into_iter()
        .find_map(|(quotient, scale)| Some((cx.made_by(quotient, "Div").filter(|_| cx.is_read_once(quotient))?, scale)))
}

/// `v / sqrt(mean(v^2) + epsilon)`: `v` and `epsilon`.
fn normalised(cx: &Rewriter<'_>, quotient: Node) -> Option<(Value, f64)> {
    let v = quotient.input(0)?;
    let root = cx.input_node(&quotient, 1, "Sqrt")?;
    let Terms { number: epsilon, values } = terms::sum(cx, root.input(0)?)?;
    let [mean] = *values.as_slice() else { return None };
    let square = mean_of(cx, mean)?;
    (terms::power(cx, square, v) == Some(2) && epsilon > 0.0).then_some((v, epsilon))
}

/// `x - mean(x)`: `x`.
fn centre(cx: &Rewriter<'_>, centred: Value) -> Option<Value> {
    let difference = cx.made_by(centred, "Sub")?;
    let x = difference.input(0)?;
    (mean_of(cx, difference.input(1)?)? == x).then_some(x)
}

/// What a value is the mean of along the last dimension, which is kept.
fn mean_of(cx: &Rewriter<'_>, mean: Value) -> Option<Value> {
    let node = cx.made_by(mean, "ReduceMean")?;
    let x = node.input(0)?;
    let axes = match node.ints("axes") {
        Some(axes) => axes.to_vec(),
        None => cx.ints(node.input(1)?)?,
    };
    let last = cx.rank(x)? as i64 - 1;
    let is_last = matches!(axes.as_slice(), [axis] if *axis == -1 || *axis == last);
    (is_last && node.int("keepdims").unwrap_or(1) == 1).then_some(x)
}

/// One number for each element of the last dimension.
fn is_scale(cx: &Rewriter<'_>, scale: Value, x: Value) -> bool {
    let last = cx.shape(x).and_then(|shape| shape.last()?.known());
    let sizes = cx.known_sizes(scale);
    number(cx, scale).is_none() && last.is_some() && sizes.is_some_and(|sizes| Some(sizes) == last.map(|n| vec![n]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::super::testing::{Net, ops};
    use crate::graph::{Attr, Value};

    fn mean(net: &mut Net, x: Value, axis: i64) -> Value {
        let axes = net.ints(&[axis]);
        net.with("ReduceMean", &[x, axes], vec![("keepdims", Attr::Int(1))])
    }

    fn root(net: &mut Net, v: Value, axis: i64) -> Value {
        let (two, epsilon) = (net.floats(&[], &[2.0]), net.floats(&[], &[1e-5]));
        let a = net.op("Pow", &[v, two]);
        let a = mean(net, a, axis);
        let a = net.op("Add", &[a, epsilon]);
        net.op("Sqrt", &[a])
    }

    fn rms(opset: u32, axis: i64) -> Vec<&'static str> {
        let mut net = Net::new(opset);
        let (x, w) = (net.input(&[2, 3, 3]), net.weight(&[3]));
        let root = root(&mut net, x, axis);
        let a = net.op("Reciprocal", &[root]);
        let a = net.op("Mul", &[x, a]);
        let y = net.op("Mul", &[w, a]);
        ops(net, y)
    }

    #[test]
    fn the_root_mean_square_is_normalised() {
        assert_eq!(rms(23, -1), ["RMSNormalization"]);
        assert_eq!(rms(23, 2), ["RMSNormalization"]);
        assert_eq!(rms(23, 1).len(), 6);
        assert_eq!(rms(22, -1).len(), 6);
    }

    fn layer(opset: u32, axis: i64) -> Vec<&'static str> {
        let mut net = Net::new(opset);
        let (x, w, b) = (net.input(&[2, 3, 3]), net.weight(&[3]), net.input(&[3]));
        let m = mean(&mut net, x, axis);
        let centred = net.op("Sub", &[x, m]);
        let root = root(&mut net, centred, -1);
        let a = net.op("Div", &[centred, root]);
        let a = net.op("Mul", &[w, a]);
        let y = net.op("Add", &[a, b]);
        ops(net, y)
    }

    #[test]
    fn layers_are_normalised() {
        assert_eq!(layer(18, -1), ["LayerNormalization"]);
        assert_eq!(layer(18, 1).len(), 9);
        assert_eq!(layer(16, -1).len(), 9);
    }
}
