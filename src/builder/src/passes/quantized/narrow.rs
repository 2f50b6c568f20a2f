//! Writes the integers of a quantized weight in the fewest bits that the opset has for them: 4 since opset 21, 2 since 25. What fits is
//! seen in the data. They are packed while they are written. Zero points that are all 0 are left out.
//!
//! It must not change integers that something else reads, nor those of operators that take no such dtypes.

use std::sync::Arc;

use super::super::rewriter::Rewriter;
use super::{codes_of, limits, own, own_weight, range, weight};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Digits, Weight};
use aten2onnx_onnx::graph::{Node, Value};

/// Smaller weights stay as they are.
const SMALLEST: u64 = 64;

pub(in super::super) fn narrow_integers(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if cx.passes.keep_weights {
        return None;
    }
    match node.op {
        "Cast" => cast(cx, node),
        "Sub" => subtract(cx, node),
        "DequantizeLinear" => dequantize(cx, node),
        _ => None,
    }
}

/// Integers that become floats, or integers of more bits.
fn cast(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let codes = codes_of(cx, node.input(0)?)?;
    let to = cx.dtype(node.outputs.first().copied().flatten()?);
    if !matches!(to, Dtype::Float32 | Dtype::Float16 | Dtype::Int32 | Dtype::Int64) {
        return None;
    }
    let dtype = smallest(cx, &codes, None)?;
    let narrow = narrowed(cx, &codes, dtype)?;
    cx.remade(node, &[narrow])
}

/// A difference to zero points that are all 0.
fn subtract(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let x = node.input(0)?;
    let zero = own(cx, node.input(1)?, "Cast").and_then(|cast| weight(cx, cast.input(0)?))?;
    let is_same = cx.same_type(x, node.outputs.first().copied().flatten()?);
    (is_same && zero.dtype.is_int() && range(&zero, (0, 0)).is_some()).then_some(x)
}

fn dequantize(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let codes = own_weight(cx, node.input(0)?)?;
    let zero = match node.input(2) {
        Some(zero) => Some(weight(cx, zero)?),
        None => None,
    };
    let is_zero = |zero: &Weight| range(zero, (0, 0)).is_some();
    let zero = zero.filter(|zero| !is_zero(zero));
    let dtype = smallest(cx, &codes, zero.as_ref()).unwrap_or(codes.dtype);
    let is_same = dtype == codes.dtype;
    // Of integers that stay, a zero point of 0 is left out only for blocks: runtimes fuse other forms by all their inputs.
    let drops = zero.is_none() && node.input(2).is_some() && node.attr("block_size").is_some();
    if is_same && !drops {
        return None;
    }
    let codes = if is_same { node.input(0)? } else { narrowed(cx, &codes, dtype)? };
    let mut inputs = vec![codes, node.input(1)?];
    if let Some(zero) = zero {
        inputs.push(narrowed(cx, &zero, dtype)?);
    }
    cx.remade(node, &inputs)
}

/// The smallest dtype that holds the integers and the zero points, if there is a smaller one.
fn smallest(cx: &Rewriter<'_>, codes: &Weight, zero: Option<&Weight>) -> Option<Dtype> {
    let opset = cx.builder.opset();
    if opset < 21 || codes.byte_len()? < SMALLEST || !codes.dtype.is_int() {
        return None;
    }
    let widest = if codes.dtype.is_unsigned() { (0, 15) } else { (-8, 15) };
    let of_codes = range(codes, widest)?;
    let of_zero = match zero {
        Some(zero) => range(zero, widest)?,
        None => of_codes,
    };
    let (least, most) = (of_codes.0.min(of_zero.0), of_codes.1.max(of_zero.1));
    let candidates = [(Dtype::Int2, 25), (Dtype::Uint2, 25), (Dtype::Int4, 21), (Dtype::Uint4, 21)];
    let holds = |dtype: Dtype| limits(dtype).is_some_and(|(low, high)| low <= least && most <= high);
    let fit = |(dtype, since): &(Dtype, i64)| *since <= opset && dtype.bits() < codes.dtype.bits() && holds(*dtype);
    candidates.into_iter().find(fit).map(|(dtype, _)| dtype)
}

fn narrowed(cx: &mut Rewriter<'_>, weight: &Weight, dtype: Dtype) -> Option<Value> {
    let made = Digits::of(weight)?.weight(dtype, &weight.sizes)?;
    Some(cx.builder.weight(Arc::new(made)))
}
