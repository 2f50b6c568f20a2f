//! Writes `(codes - zero) * scale` of a weight as DequantizeLinear: for one scale, for one for each index of an axis (opset 13), and for
//! blocks along an axis (opset 21).
//!
//! It must not change the dtype of the result, nor the integers.

use std::sync::Arc;

use super::super::rewriter::Rewriter;
use super::{Dequantized, range, same_dtype};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Node, Value};

pub(in super::super) fn raise_dequantization(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if cx.passes.keep_weights || !matches!(node.op, "Flatten" | "Mul" | "Reshape" | "Squeeze" | "Unsqueeze") {
        return None;
    }
    let parts = Dequantized::of_node(cx, node)?;
    let result = node.outputs.first().copied().flatten()?;
    // ONNX Runtime fuses a MatMul with blocks along the first axis, and then rounds the other operand to 8 bits. It has no such fusion for the
    // transposed weight.
    let columns =
        matches!(parts.layout()?, Layout::Blocks(0, _)) && parts.codes.sizes.len() == 2 && cx.builder.opset() >= 21;
    let fits =
        parts.scale.dtype == cx.dtype(result) && (parts.scale.dtype == Dtype::Float32 || cx.builder.opset() >= 19);
    if !fits {
        return None;
    }
    if columns {
        let rows = parts.transposed(None)?.written(cx)?;
        return cx.make("Transpose", &[rows], vec![("perm", Attr::Ints(vec![1, 0]))]);
    }
    parts.written(cx)
}

/// Where the blocks of a tensor are.
enum Layout {
    One,
    Axis(usize),
    Blocks(usize, i64),
}

impl Dequantized {
    fn layout(&self) -> Option<Layout> {
        let blocks = self.blocks();
        let whole = |i: &usize| self.scale.sizes.get(*i) == Some(&1);
        let single = |i: &usize| blocks.get(*i) == Some(&1);
        let axes: Vec<usize> = (0..blocks.len()).collect();
        let cut: Vec<usize> = axes.iter().copied().filter(|i| !whole(i)).collect();
        let long: Vec<usize> = axes.into_iter().filter(|i| !single(i)).collect();
        match (cut.as_slice(), long.as_slice()) {
            ([], _) => Some(Layout::One),
            ([axis], _) if single(axis) => Some(Layout::Axis(*axis)),
            (_, [axis]) => Some(Layout::Blocks(*axis, *blocks.get(*axis)?)),
            _ => None,
        }
    }

    /// A DequantizeLinear, if the opset has this form.
    fn written(self, cx: &mut Rewriter<'_>) -> Option<Value> {
        let layout = self.layout()?;
        let (wanted, sizes) = match layout {
            Layout::One => (10, vec![]),
            Layout::Axis(axis) => (13, vec![*self.codes.sizes.get(axis)?]),
            Layout::Blocks(..) => (21, self.scale.sizes.clone()),
        };
        if cx.builder.opset() < wanted
            || !matches!(
                self.codes.dtype,
                Dtype::Int8 | Dtype::Uint8 | Dtype::Int4 | Dtype::Uint4 | Dtype::Int2 | Dtype::Uint2
            )
        {
            return None;
        }
        let attrs = match layout {
            Layout::One => vec![],
            Layout::Axis(axis) => vec![("axis", Attr::Int(axis as i64))],
            Layout::Blocks(axis, block) => vec![("axis", Attr::Int(axis as i64)), ("block_size", Attr::Int(block))],
        };
        let zero = match &self.zero {
            Some(zero) if range(zero, (0, 0)).is_none() => Some(same_dtype(zero, self.codes.dtype)?.reshaped(&sizes)?),
            _ => None,
        };
        let scale = self.scale.reshaped(&sizes)?;
        let parts = [Some(self.codes), Some(scale), zero];
        let parts: Vec<Value> = parts.into_iter().flatten().map(|part| cx.builder.weight(Arc::new(part))).collect();
        cx.make("DequantizeLinear", &parts, attrs)
    }
}
