//! Fuses RMSNormalization (opset 23) and LayerNormalization (17) along the last dimension, also if float16 is cast to
//! float32 before and back before the scale, as the operators do.
//!
//! It must not fuse a mean along other dimensions, or a scale without one number per element of the last dimension.

use super::super::rewriter::Rewriter;
use super::terms::{self, Terms};
use super::{number, takes};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Node, Value};

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

/// A quotient, possibly cast, and its scale.
fn scaled(cx: &Rewriter<'_>, node: &Node) -> Option<(Node, Value)> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let own = |value: Value, op: &str| cx.made_by(value, op).filter(|_| cx.is_read_once(value));
    [(a, b), (b, a)].into_iter().find_map(|(quotient, scale)| {
        let rounded = own(quotient, "Cast").filter(|_| cx.dtype(quotient) == Dtype::Float16);
        let quotient = rounded.and_then(|cast| cast.input(0)).unwrap_or(quotient);
        Some((own(quotient, "Div")?, scale))
    })
}

/// The normalized input in the dtype of the result: itself, or the input of its Cast.
fn widened_from(cx: &Rewriter<'_>, x: Value, result: &Node) -> Option<Value> {
    let dtype = cx.dtype(result.outputs.first().copied().flatten()?);
    if cx.dtype(x) == dtype {
        return Some(x);
    }
    let source = cx.made_by(x, "Cast")?.input(0)?;
    (cx.dtype(x) == Dtype::Float32 && cx.dtype(source) == dtype).then_some(source)
}

/// Matches `v / sqrt(mean(v^2) + epsilon)`, returns `v` and `epsilon`.
fn normalised(cx: &Rewriter<'_>, quotient: Node) -> Option<(Value, f64)> {
    let v = quotient.input(0)?;
    let root = cx.input_node(&quotient, 1, "Sqrt")?;
    let Terms { number: epsilon, values } = terms::sum(cx, root.input(0)?)?;
    let [mean] = *values.as_slice() else { return None };
    let square = mean_of(cx, mean)?;
    (terms::power(cx, square, v) == Some(2) && epsilon > 0.0).then_some((v, epsilon))
}

/// Matches `x - mean(x)`, returns `x`.
fn centre(cx: &Rewriter<'_>, centred: Value) -> Option<Value> {
    let difference = cx.made_by(centred, "Sub")?;
    let x = difference.input(0)?;
    (mean_of(cx, difference.input(1)?)? == x).then_some(x)
}

/// The input of a mean along the last dimension with `keepdims`.
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

/// Whether the scale has one number per element of the last dimension.
fn is_scale(cx: &Rewriter<'_>, scale: Value, x: Value) -> bool {
    let last = cx.shape(x).and_then(|shape| shape.last()?.known());
    let sizes = cx.known_sizes(scale);
    number(cx, scale).is_none() && last.is_some() && sizes.is_some_and(|sizes| Some(sizes) == last.map(|n| vec![n]))
}
