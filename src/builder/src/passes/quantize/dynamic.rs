//! Products and convolutions of integers: the other operand is quantized when the model runs, with the range that it has then (`DynamicQuantizeLinear`), and the
//! sums of integers are scaled.
//!
//! It must not do so for other floats than float32, nor where a weight has several scales along a sum: it has one for each column or channel of one of its
//! readers, and another reader may sum over another axis.

use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{CodeFormat, Digits, Weight};
use aten2onnx_onnx::graph::{Attr, Node, Value};

use super::choice::Chosen;
use crate::passes::quantized::is_plain;
use crate::passes::rewriter::Rewriter;

/// What signed integers are moved by, for kernels of unsigned ones.
const MIDDLE: i64 = 128;

/// The result of a node of float32 by integers, if its weight has one scale for each column or channel.
pub(super) fn multiply_integers(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let choices = Arc::clone(cx.choices.as_ref()?);
    let (x, result) = (node.input(0)?, node.outputs.first().copied().flatten()?);
    if !choices.is_dynamic || cx.dtype(x) != Dtype::Float32 || cx.dtype(result) != Dtype::Float32 {
        return None;
    }
    let weight = node.input(1)?;
    let chosen = match (choices.chosen.get(&weight), node.op) {
        (None, "MatMul" | "Gemm") => choices.chosen.get(&cx.made_by(weight, "Transpose")?.input(0)?)?,
        (found, _) => found?,
    };
    if !chosen.is_whole || !chosen.is_one_way {
        return None;
    }
    match node.op {
        "MatMul" => product(cx, x, chosen, None),
        "Gemm" if is_plain(node) => product(cx, x, chosen, node.input(2)),
        "Conv" => convolution(cx, node, x, chosen),
        _ => None,
    }
}

/// `x @ w` with the rows of integers as columns, and a sum.
fn product(cx: &mut Rewriter<'_>, x: Value, chosen: &Chosen, sum: Option<Value>) -> Option<Value> {
    let (codes, scales) = (chosen.blocks.codes(), chosen.blocks.scales());
    let &[rows, _] = chosen.rows.as_slice() else { return None };
    let codes = stored(cx, codes.transposed(None)?);
    let scales = stored(cx, scales.reshaped(&[rows])?);
    let zeros = chosen.blocks.zeros().map(|zeros| zeros.reshaped(&[rows]).ok_or(())).transpose().ok()?;
    let [steps, scale, zero] = rounded(cx, x)?;
    let mut inputs = vec![steps, codes, zero];
    inputs.extend(zeros.map(|zeros| stored(cx, zeros)));
    let sums = cx.make("MatMulInteger", &inputs, vec![])?;
    scaled(cx, sums, scale, scales, sum)
}

/// A convolution with a scale for each channel.
fn convolution(cx: &mut Rewriter<'_>, node: &Node, x: Value, chosen: &Chosen) -> Option<Value> {
    // Kernels have one zero point for all channels.
    if chosen.blocks.format() != CodeFormat::Int8 {
        return None;
    }
    let channels = *chosen.rows.first()?;
    let codes = chosen.blocks.codes().reshaped(&chosen.rows)?;
    let moved = Digits::of(&codes)?.plus(MIDDLE)?.weight(Dtype::Uint8, &chosen.rows)?;
    let spread: Vec<i64> = std::iter::once(channels).chain(chosen.rows.iter().skip(2).map(|_| 1)).collect();
    let (codes, scales) = (stored(cx, moved), stored(cx, chosen.blocks.scales().reshaped(&spread)?));
    let middle = cx.builder.scalar(&(MIDDLE as f64).into(), Dtype::Uint8).ok()?;
    let [steps, scale, zero] = rounded(cx, x)?;
    let sums = cx.make("ConvInteger", &[steps, codes, zero, middle], node.attrs.clone())?;
    let bias = match node.input(2) {
        Some(bias) => {
            let sizes = cx.builder.ints(&spread);
            Some(cx.make("Reshape", &[bias, sizes], vec![])?)
        }
        None => None,
    };
    scaled(cx, sums, scale, scales, bias)
}

/// The integers of a value, their scale and their zero point.
fn rounded(cx: &mut Rewriter<'_>, x: Value) -> Option<[Value; 3]> {
    cx.builder.node("DynamicQuantizeLinear", vec![x.into()], vec![], 3).ok()?.try_into().ok()
}

/// Sums of integers as floats.
fn scaled(cx: &mut Rewriter<'_>, sums: Value, scale: Value, scales: Value, bias: Option<Value>) -> Option<Value> {
    let floats = cx.builder.cast(sums, Dtype::Float32).ok()?;
    let both = cx.make("Mul", &[scale, scales], vec![])?;
    let found = cx.make("Mul", &[floats, both], Vec::<(&'static str, Attr)>::new())?;
    match bias {
        Some(bias) => cx.make("Add", &[found, bias], vec![]),
        None => Some(found),
    }
}

fn stored(cx: &mut Rewriter<'_>, weight: Weight) -> Value {
    cx.builder.weight(Arc::new(weight))
}
