//! Multiplies with quantized weights by ONNX Runtime's `MatMulNBits`, if the target has it: it reads integers of 2, 4 or 8 bits with a scale for
//! each block of a row, and never writes the floats to memory. Numbers are added in float32 (`accuracy_level` is left at its default).
//!
//! It must not change the dtype of the product, nor move a scale that is not one for each block of each row.

use super::super::rewriter::Rewriter;
use super::rows::Rows;
use super::{Dequantized, is_plain, own, own_weight, range, stored, transposed, weight};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Attr, Node, Value};

/// The smallest and the largest number of integers with a common scale.
const BLOCKS: std::ops::RangeInclusive<i64> = 16..=256;

pub(in super::super) fn multiply_nbits(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if cx.passes.keep_weights || cx.builder.quantized().matmul.is_empty() {
        return None;
    }
    match node.op {
        "MatMul" => product(cx, node, false, None),
        "Gemm" if is_plain(node) => product(cx, node, node.int("transB").unwrap_or(0) != 0, node.input(2)),
        "Mul" => scaled_product(cx, node),
        _ => None,
    }
}

/// `x @ w`, or with the rows of `w` as its columns, and with a sum.
fn product(cx: &mut Rewriter<'_>, node: &Node, is_transposed: bool, sum: Option<Value>) -> Option<Value> {
    let parts = Dequantized::of(cx, node.input(1)?)?;
    let parts = if is_transposed { parts } else { parts.transposed(None)? };
    multiplied(cx, node, parts, sum)
}

/// `(x @ codes) * scale`, with a number for each column.
fn scaled_product(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    let (a, b) = (node.input(0)?, node.input(1)?);
    for (product, scale) in [(a, b), (b, a)] {
        let (Some((inner, codes)), Some(scale)) = (integer_columns(cx, product), weight(cx, scale)) else { continue };
        let is_row = scale.sizes.iter().rev().skip(1).all(|n| *n == 1) && scale.sizes.last() == codes.sizes.last();
        if codes.sizes.len() != 2 || !codes.dtype.is_int() || !is_row || !cx.same_type(product, result) {
            continue;
        }
        let columns = *codes.sizes.last()?;
        let parts = Dequantized { codes, scale: scale.reshaped(&[1, columns])?, zero: None };
        return multiplied(cx, &inner, parts.transposed(None)?, None);
    }
    None
}

/// A product with integers that are cast, and these.
fn integer_columns(cx: &Rewriter<'_>, product: Value) -> Option<(Node, Weight)> {
    let node = own(cx, product, "MatMul").or_else(|| own(cx, product, "Gemm"))?;
    let codes = own_weight(cx, own(cx, node.input(1)?, "Cast")?.input(0)?)?;
    if node.op == "Gemm" && (!is_plain(&node) || node.input(2).is_some()) {
        return None;
    }
    let codes = if node.int("transB").unwrap_or(0) != 0 { transposed(&codes, None)? } else { codes };
    Some((node, codes))
}

/// The product of the first input of a node with rows of integers, each cut in blocks.
fn multiplied(cx: &mut Rewriter<'_>, node: &Node, parts: Dequantized, sum: Option<Value>) -> Option<Value> {
    let (x, result) = (node.input(0)?, node.outputs.first().copied().flatten()?);
    let dtype = cx.dtype(x);
    let &[n, k] = parts.codes.sizes.as_slice() else { return None };
    let is_fit =
        matches!(dtype, Dtype::Float32 | Dtype::Float16) && parts.scale.dtype == dtype && cx.dtype(result) == dtype;
    if !is_fit || cx.rank(x)? < 1 {
        return None;
    }
    let sum = match sum {
        Some(sum) if cx.known_sizes(sum)? == [n] => Some(sum),
        Some(_) => return None,
        None => None,
    };
    let is_middle = parts.zero.as_ref().is_none_or(|zero| range(zero, (0, 0)).is_some());
    let is_one_scale = parts.scale.sizes.last() == Some(&1) && is_middle && !cx.is_tied(&parts.codes);
    let Rows { codes, scale, zero, bits, block } = Rows::of(cx.builder.quantized().matmul, parts, &BLOCKS)?;
    // Of these, floats that are scaled after the product are faster, and activations of 8 bits are multiplied as integers.
    if is_one_scale && !cx.builder.quantized().fast_matmul.contains(&bits) {
        return None;
    }
    let codes = codes.bytes(bits, &[n, k / block, block * i64::from(bits) / 8])?;
    let mut inputs = vec![Some(x), Some(stored(cx, codes)), Some(stored(cx, scale))];
    inputs.push(zero.map(|zero| stored(cx, zero)));
    inputs.extend([None, sum]);
    let attrs = [("K", k), ("N", n), ("bits", bits.into()), ("block_size", block)];
    let attrs = attrs.into_iter().map(|(name, n)| (name, Attr::Int(n))).collect();
    cx.make_own("com.microsoft::MatMulNBits", inputs, attrs, result)
}
