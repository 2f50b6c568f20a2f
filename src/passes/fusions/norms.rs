//! RMSNormalization (opset 23) and LayerNormalization (17) along the last dimension, also where float16 is widened to
//! float32 before and rounded before the scale, as the operators do.
//!
//! It must not take a mean along other dimensions, nor a scale that is not one number for each element of the last.

use super::super::rewriter::Rewriter;
use super::terms::{self, Terms};
use super::{number, takes};
use crate::dtype::Dtype;
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
    let x = widened_from(cx, x, node)?;
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
        let Some(x) = centre(cx, centred).and_then(|x| widened_from(cx, x, node)) else { continue };
        if takes(cx, "LayerNormalization", x) && is_scale(cx, scale, x) && is_scale(cx, shift, x) {
            let attrs = vec![("axis", Attr::Int(-1)), ("epsilon", Attr::Float(epsilon))];
            return cx.make("LayerNormalization", &[x, scale, shift], attrs);
        }
    }
    None
}

/// A quotient, perhaps rounded, and what it is multiplied with.
fn scaled(cx: &Rewriter<'_>, node: &Node) -> Option<(Node, Value)> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let own = |value: Value, op: &str| cx.made_by(value, op).filter(|_| cx.is_read_once(value));
    [(a, b), (b, a)].into_iter().find_map(|(quotient, scale)| {
        let rounded = own(quotient, "Cast").filter(|_| cx.dtype(quotient) == Dtype::Float16);
        let quotient = rounded.and_then(|cast| cast.input(0)).unwrap_or(quotient);
        Some((own(quotient, "Div")?, scale))
    })
}

/// What was normalised, in the dtype of the result: itself, or what was widened to it.
fn widened_from(cx: &Rewriter<'_>, x: Value, result: &Node) -> Option<Value> {
    let dtype = cx.dtype(result.outputs.first().copied().flatten()?);
    if cx.dtype(x) == dtype {
        return Some(x);
    }
    let source = cx.made_by(x, "Cast")?.input(0)?;
    (cx.dtype(x) == Dtype::Float32 && cx.dtype(source) == dtype).then_some(source)
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
    use crate::dtype::Dtype;
    use crate::graph::{Attr, Type, Value};

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

    /// As Llama writes it: in float32 up to the scale.
    fn half_rms(rounded: bool) -> Vec<&'static str> {
        let mut net = Net::new(23);
        let x = net.typed(Type::sized(Dtype::Float16, &[2, 3, 3]));
        let w = net.typed(Type::sized(if rounded { Dtype::Float16 } else { Dtype::Float32 }, &[3]));
        let wide = net.cast(x, Dtype::Float32);
        let root = root(&mut net, wide, -1);
        let mut a = net.op("Div", &[wide, root]);
        if rounded {
            a = net.cast(a, Dtype::Float16);
        }
        let y = net.op("Mul", &[w, a]);
        ops(net, y)
    }

    #[test]
    fn float16_is_widened_by_the_operator() {
        assert_eq!(half_rms(true), ["RMSNormalization"]);
        // The result is wide: so is what goes in.
        assert_eq!(half_rms(false), ["Cast", "RMSNormalization"]);
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

    /// In float32 up to the scale, which is float16 and so is what went in; or is not.
    fn half_layer(of_x: Dtype) -> Vec<&'static str> {
        let mut net = Net::new(18);
        let half = Dtype::Float16;
        let (x, w, b) = (Type::sized(of_x, &[2, 3, 3]), Type::sized(half, &[3]), Type::sized(half, &[3]));
        let (x, w, b) = (net.typed(x), net.typed(w), net.typed(b));
        let wide = net.cast(x, Dtype::Float32);
        let m = mean(&mut net, wide, -1);
        let centred = net.op("Sub", &[wide, m]);
        let root = root(&mut net, centred, -1);
        let a = net.op("Div", &[centred, root]);
        let a = net.cast(a, half);
        let a = net.op("Mul", &[a, w]);
        let y = net.op("Add", &[b, a]);
        ops(net, y)
    }

    #[test]
    fn layers_of_float16_are_widened_by_the_operator() {
        assert_eq!(half_layer(Dtype::Float16), ["LayerNormalization"]);
        assert!(!half_layer(Dtype::Float32).contains(&"LayerNormalization"));
        assert!(!half_layer(Dtype::Float64).contains(&"LayerNormalization"));
    }

    #[test]
    fn layers_are_normalised() {
        assert_eq!(layer(18, -1), ["LayerNormalization"]);
        assert_eq!(layer(18, 1).len(), 9);
        assert_eq!(layer(16, -1).len(), 9);
    }
}
