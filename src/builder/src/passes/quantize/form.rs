//! Writes a quantized weight where it is read: integers, scales and a `DequantizeLinear`, and what moves the floats to the order of the weight.
//!
//! Each reader has its own, so that the passes for quantized weights may write each in the form of its operator; `tied` joins what stays equal.

use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{CodeFormat, Digits};
use aten2onnx_onnx::graph::{Attr, Constant, Node, Value};

use super::choice::Chosen;
use super::sites::{DEPTH, is_passed, port};
use crate::passes::quantized::{floats, is_plain, whole_bias};
use crate::passes::rewriter::Rewriter;

/// The first opset whose DequantizeLinear has a scale for each index of an axis.
const SCALE_OF_AN_AXIS: i64 = 13;
/// The first opset with 4-bit integers.
const FOUR_BITS: i64 = 21;

/// Gives a node its quantized weight.
pub(in super::super) fn quantize_node(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if node.op == "Add" {
        return add_whole_bias(cx, node);
    }
    let at = port(node)?;
    if let Some(found) = super::dynamic::multiply_integers(cx, node) {
        return Some(found);
    }
    let weight = node.input(at)?;
    let floats = rebuilt(cx, weight, DEPTH)?;
    let inputs: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
    let bias = whole_bias_of(cx, node, weight);
    let replaced = inputs.into_iter().enumerate().map(|(i, value)| match i {
        _ if i == at => floats,
        2 => bias.unwrap_or(value),
        _ => value,
    });
    let replaced: Vec<Value> = replaced.collect();
    cx.remade(node, &replaced)
}

/// The bias of a product of integers in steps of its sums, as integers that are dequantized. Runtimes that multiply integers take no other.
fn whole_bias_of(cx: &mut Rewriter<'_>, node: &Node, weight: Value) -> Option<Value> {
    let choices = Arc::clone(cx.choices.as_ref()?);
    let is_whole = choices.is_measured && cx.builder.opset() >= SCALE_OF_AN_AXIS;
    (is_whole && (node.op == "Conv" || node.op == "Gemm" && is_plain(node))).then_some(())?;
    let (x, bias) = (cx.made_by(node.input(0)?, "DequantizeLinear")?, node.input(2)?);
    let scale = cx.builder.constant_scalar(x.input(1)?)?.as_float()?;
    let chosen = choices.chosen.get(&weight).filter(|chosen| chosen.is_whole)?;
    let count = *chosen.rows.first()?;
    let scales = chosen.blocks.scales().reshaped(&[count])?;
    let scales = cx.builder.weight(Arc::new(scales));
    (cx.known_sizes(bias)? == [count]).then_some(())?;
    dequantized_bias(cx, bias, scales, scale)
}

/// The integers of a bias in steps of products, of whose operands one has a scale for each channel and the other one scale.
fn dequantized_bias(cx: &mut Rewriter<'_>, bias: Value, scales: Value, scale: f64) -> Option<Value> {
    let codes = whole_bias(cx, bias, scales, scale)?;
    let channels = floats(cx, scales)?;
    let steps: Vec<u8> = channels.iter().flat_map(|channel| ((channel * scale) as f32).to_le_bytes()).collect();
    let steps = cx.builder.intern(Constant::new(Dtype::Float32, vec![channels.len() as i64], steps));
    cx.make("DequantizeLinear", &[codes, steps], vec![("axis", Attr::Int(0))])
}

/// A sum of a product of integers and a bias, with the bias as for [`whole_bias_of`]: ONNX Runtime makes one product of both where it knows all sizes.
fn add_whole_bias(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    cx.choices.as_ref().filter(|choices| choices.is_measured && cx.builder.opset() >= SCALE_OF_AN_AXIS)?;
    let (a, b) = (node.input(0)?, node.input(1)?);
    let (at, product) = match (cx.made_by(a, "MatMul"), cx.made_by(b, "MatMul")) {
        (Some(product), None) => (1, product),
        (None, Some(product)) => (0, product),
        _ => return None,
    };
    let x = cx.made_by(product.input(0)?, "DequantizeLinear")?;
    // With other sizes it stays a product of integers and a sum of floats, and the integers of the bias would be made floats in each run.
    cx.known_sizes(x.input(0)?)?;
    let weight = cx.made_by(product.input(1)?, "DequantizeLinear")?;
    let scale = cx.builder.constant_scalar(x.input(1)?)?.as_float()?;
    let (scales, bias) = (weight.input(1)?, node.input(at)?);
    let count = *cx.known_sizes(scales)?.first()?;
    (cx.known_sizes(bias)? == [count] && count > 1).then_some(())?;
    let found = dequantized_bias(cx, bias, scales, scale)?;
    cx.remade(node, &if at == 1 { [a, found] } else { [found, b] })
}

/// The value with its weight quantized, if it is one that is chosen, or is moved or cast from one.
fn rebuilt(cx: &mut Rewriter<'_>, value: Value, depth: usize) -> Option<Value> {
    let choices = Arc::clone(cx.choices.as_ref()?);
    if let Some(chosen) = choices.chosen.get(&value) {
        return written(cx, chosen);
    }
    let node = cx.producer(value).filter(|node| is_passed(node))?.clone();
    let floats = rebuilt(cx, node.input(0)?, depth.checked_sub(1)?)?;
    let rest = node.inputs.iter().skip(1).flatten().copied();
    let inputs: Vec<Value> = std::iter::once(floats).chain(rest).collect();
    cx.remade(&node, &inputs)
}

/// The floats of a quantized weight.
fn written(cx: &mut Rewriter<'_>, chosen: &Chosen) -> Option<Value> {
    let is_of_bytes = matches!(chosen.blocks.format(), CodeFormat::Int8 | CodeFormat::Uint8);
    let is_of_channels = chosen.is_whole && chosen.blocks.codes().sizes.first() == chosen.rows.first();
    if is_of_bytes && is_of_channels && cx.choices.as_ref()?.is_measured {
        return written_in_place(cx, chosen);
    }
    let codes = chosen.blocks.codes();
    // One scale for each index of the first axis needs no other sizes.
    let count = *codes.sizes.first()?;
    let is_plain = chosen.is_whole && chosen.rows.first() == Some(&count);
    let sizes = if is_plain { chosen.rows.clone() } else { codes.sizes.clone() };
    let packed = match chosen.blocks.format() {
        CodeFormat::Int4 if cx.builder.opset() >= FOUR_BITS => Digits::of(&codes)?.weight(Dtype::Int4, &sizes)?,
        CodeFormat::Uint4 if cx.builder.opset() >= FOUR_BITS => Digits::of(&codes)?.weight(Dtype::Uint4, &sizes)?,
        _ => codes.reshaped(&sizes)?,
    };
    let (scales, mut zeros) = (chosen.blocks.scales(), chosen.blocks.zeros());
    if let Some(zero) = zeros.as_mut().filter(|_| packed.dtype == Dtype::Uint4) {
        *zero = Digits::of(zero)?.weight(Dtype::Uint4, &scales.sizes.clone())?;
    }
    let (attrs, grid) = match chosen.is_whole {
        true => (vec![("axis", Attr::Int(0))], vec![count]),
        false => {
            let axis = ("axis", Attr::Int(sizes.len() as i64 - 1));
            (vec![axis, ("block_size", Attr::Int(chosen.length))], scales.sizes.clone())
        }
    };
    let parts = [
        Some(packed),
        Some(scales.reshaped(&grid)?),
        zeros.map(|zero| zero.reshaped(&grid).ok_or(())).transpose().ok()?,
    ];
    let parts: Vec<Value> = parts.into_iter().flatten().map(|part| cx.builder.weight(Arc::new(part))).collect();
    let mut floats = cx.make("DequantizeLinear", &parts, attrs)?;
    if sizes != chosen.rows {
        let rows = cx.builder.ints(&chosen.rows);
        floats = cx.make("Reshape", &[floats, rows], vec![])?;
    }
    let back = inverse(&chosen.perm);
    match back.iter().enumerate().all(|(i, axis)| usize::try_from(*axis) == Ok(i)) {
        true => Some(floats),
        false => cx.make("Transpose", &[floats], vec![("perm", Attr::Ints(back))]),
    }
}

/// The integers of a weight with one scale for each channel, in the order of the weight: a runtime that multiplies integers finds nothing between the
/// DequantizeLinear and the product. Zero points are written, because ONNX Runtime asks for them.
fn written_in_place(cx: &mut Rewriter<'_>, chosen: &Chosen) -> Option<Value> {
    let count = *chosen.rows.first()?;
    let back = inverse(&chosen.perm);
    let axis = back.iter().position(|axis| *axis == 0)?;
    let codes = chosen.blocks.codes().reshaped(&chosen.rows)?.transposed(Some(&back))?;
    let dtype = codes.dtype;
    let zeros = match chosen.blocks.zeros() {
        Some(zeros) => cx.builder.weight(Arc::new(zeros.reshaped(&[count])?)),
        None => cx.builder.intern(Constant::new(dtype, vec![count], vec![0; usize::try_from(count).ok()?])),
    };
    let scales = chosen.blocks.scales().reshaped(&[count])?;
    let parts = [cx.builder.weight(Arc::new(codes)), cx.builder.weight(Arc::new(scales)), zeros];
    cx.make("DequantizeLinear", &parts, vec![("axis", Attr::Int(axis as i64))])
}

/// The order that undoes another.
fn inverse(perm: &[i64]) -> Vec<i64> {
    let place = |axis: usize| perm.iter().position(|from| usize::try_from(*from) == Ok(axis)).unwrap_or(axis) as i64;
    (0..perm.len()).map(place).collect()
}
