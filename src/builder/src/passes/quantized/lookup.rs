//! Looks up rows of a quantized table, such as an embedding, by ONNX Runtime's `GatherBlockQuantized`, if the target has it: only the rows that
//! are read become floats.
//!
//! It must not change the dtype of the rows, nor look up along another axis than the first.

use super::super::rewriter::Rewriter;
use super::rows::Rows;
use super::{Dequantized, stored};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Node, Value};

/// The numbers of integers that may have a common scale.
const BLOCKS: std::ops::RangeInclusive<i64> = 16..=i64::MAX;

pub(in super::super) fn look_up_rows(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let widths = cx.builder.quantized().gather;
    if cx.passes.keep_weights || widths.is_empty() || node.op != "Gather" || node.int("axis").unwrap_or(0) != 0 {
        return None;
    }
    let (table, indices) = (node.input(0)?, node.input(1)?);
    let result = node.outputs.first().copied().flatten()?;
    let dtype = cx.dtype(result);
    let parts = Dequantized::of(cx, table)?;
    let &[rows, columns] = parts.codes.sizes.as_slice() else { return None };
    if !matches!(dtype, Dtype::Float32 | Dtype::Float16) || parts.scale.dtype != dtype {
        return None;
    }
    let Rows { codes, scale, zero, bits, block } = Rows::of(widths, parts, &BLOCKS)?;
    let codes = codes.bytes(bits, &[rows, columns * i64::from(bits) / 8])?;
    let mut inputs = vec![Some(stored(cx, codes)), Some(indices), Some(stored(cx, scale))];
    inputs.extend(zero.map(|zero| Some(stored(cx, zero))));
    let attrs = [("bits", bits.into()), ("block_size", block), ("gather_axis", 0), ("quantize_axis", 1)];
    let attrs = attrs.into_iter().map(|(name, n)| (name, Attr::Int(n))).collect();
    cx.make_own("com.microsoft::GatherBlockQuantized", inputs, attrs, result)
}
