//! Quantizes activations to unsigned integers in place of signed ones, for runtimes that fuse only these: ONNX Runtime on x86 computes the
//! others as floats wherever an activation has several users. A number and its zero point are both 128 more, so results are the same.
//!
//! It must not change integers that something else than a dequantization reads, nor those of weights.

use super::super::rewriter::Rewriter;
use super::weight;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Constant, Node, Value};

/// The difference between an unsigned and a signed integer of 8 bits.
const MIDDLE: i64 = 128;

/// The dequantization of a quantization with the same known parameters.
pub(in super::super) fn unsigned_activations(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if !cx.builder.quantized().unsigned || node.op != "DequantizeLinear" {
        return None;
    }
    let quantize = cx.input_node(node, 0, "QuantizeLinear")?;
    let (x, scale, zero) = (quantize.input(0)?, quantize.input(1)?, quantize.input(2)?);
    let is_pair = quantize.inputs.get(1..) == node.inputs.get(1..) && cx.dtype(zero) == Dtype::Int8;
    let is_known = weight(cx, scale).is_some() && weight(cx, x).is_none();
    (is_pair && is_known).then_some(())?;
    let number = cx.builder.constant_scalar(zero)?.as_int()?;
    let (sizes, number) = (cx.known_sizes(zero)?, u8::try_from(number + MIDDLE).ok()?);
    let zero = cx.builder.intern(Constant::new(Dtype::Uint8, sizes, vec![number]));
    let quantized = cx.remade(&quantize, &[x, scale, zero])?;
    cx.remade(node, &[quantized, scale, zero])
}
