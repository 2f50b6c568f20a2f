//! Multiplies with the integers of a weight and scales the columns of the product, in place of a product with dequantized columns: a cast is
//! computed once when a runtime loads the model, and ONNX Runtime rounds the other operand of a product with a DequantizeLinear to 8 bits.
//!
//! It must not take activations from operators that compute with integers, nor change what a target asks for.

use super::super::rewriter::Rewriter;
use super::{Dequantized, range, stored};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Node, Value};

pub(in super::super) fn scale_columns(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let can = !cx.builder.has_target() || !cx.builder.quantized().matmul.is_empty();
    if cx.passes.keep_weights || !can {
        return None;
    }
    let (is_transposed, sum) = match node.op {
        "MatMul" => (false, None),
        "Gemm" if super::is_plain(node) => (node.int("transB").unwrap_or(0) != 0, node.input(2)),
        _ => return None,
    };
    let (x, result) = (node.input(0)?, node.outputs.first().copied().flatten()?);
    let is_rounded = cx.made_by(x, "DequantizeLinear").is_some();
    if is_rounded || cx.dtype(result) != Dtype::Float32 {
        return None;
    }
    let parts = Dequantized::of(cx, node.input(1)?)?;
    // A lookup reads the integers in the order of rows.
    if cx.is_tied(&parts.codes) {
        return None;
    }
    let Dequantized { codes, scale, zero } = if is_transposed { parts.transposed(None)? } else { parts };
    let (&[_, columns], &[1, count]) = (codes.sizes.as_slice(), scale.sizes.as_slice()) else { return None };
    let is_middle = zero.is_none_or(|zero| range(&zero, (0, 0)).is_some());
    if !is_middle || count != columns || columns < 2 || scale.dtype != Dtype::Float32 {
        return None;
    }
    let codes = stored(cx, codes);
    let floats = cx.builder.cast(codes, Dtype::Float32).ok()?;
    let product = cx.make("MatMul", &[x, floats], vec![])?;
    let scale = stored(cx, scale.reshaped(&[columns])?);
    let scaled = cx.make("Mul", &[product, scale], vec![])?;
    match sum {
        Some(sum) => cx.make("Add", &[scaled, sum], vec![]),
        None => Some(scaled),
    }
}
