//! Multiplies with quantized weights by ONNX Runtime's `MatMulNBits`, if the target has it: it reads integers of 2, 4 or 8 bits with a scale for
//! each block of a row, and never writes the floats to memory. Numbers are added in float32 (`accuracy_level` is left at its default).
//!
//! It must not change the dtype of the product, nor move a scale that is not one for each block of each row.

use std::sync::Arc;

use super::super::rewriter::Rewriter;
use super::{Dequantized, own, own_weight, range, viewed, weight};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Digits, Weight};
use aten2onnx_onnx::graph::{Attr, Node, Value};

/// The smallest and the largest number of integers with a common scale.
const BLOCKS: std::ops::RangeInclusive<i64> = 16..=256;

pub(in super::super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if cx.passes.keep_weights || cx.builder.nbits().is_empty() {
        return None;
    }
    match node.op {
        "MatMul" => product(cx, node, false, None),
        "Gemm" => gemm(cx, node),
        "Mul" => scaled_product(cx, node),
        _ => None,
    }
}

fn gemm(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let is_plain = node.float("alpha").unwrap_or(1.0) == 1.0
        && node.float("beta").unwrap_or(1.0) == 1.0
        && node.int("transA").unwrap_or(0) == 0;
    is_plain.then_some(())?;
    product(cx, node, node.int("transB").unwrap_or(0) != 0, node.input(2))
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
        let Some(matmul) = own(cx, product, "MatMul") else { continue };
        let Some(codes) = own(cx, matmul.input(1)?, "Cast").and_then(|cast| own_weight(cx, cast.input(0)?)) else {
            continue;
        };
        let Some(scale) = weight(cx, scale) else { continue };
        let is_row = scale.sizes.iter().rev().skip(1).all(|n| *n == 1) && scale.sizes.last() == codes.sizes.last();
        if codes.sizes.len() != 2 || !codes.dtype.is_int() || !is_row || !cx.same_type(product, result) {
            continue;
        }
        let columns = *codes.sizes.last()?;
        let parts = Dequantized { codes, scale: scale.reshaped(&[1, columns])?, zero: None };
        return multiplied(cx, &matmul, parts.transposed(None)?, None);
    }
    None
}

/// The product of the first input of a node with rows of integers, each cut in blocks.
fn multiplied(cx: &mut Rewriter<'_>, node: &Node, parts: Dequantized, sum: Option<Value>) -> Option<Value> {
    let (x, result) = (node.input(0)?, node.outputs.first().copied().flatten()?);
    let dtype = cx.dtype(x);
    let (&[rows, columns], &[scales, mut count]) = (parts.codes.sizes.as_slice(), parts.scale.sizes.as_slice()) else {
        return None;
    };
    let is_fit =
        matches!(dtype, Dtype::Float32 | Dtype::Float16) && parts.scale.dtype == dtype && cx.dtype(result) == dtype;
    if !is_fit || (scales != rows && scales != 1) || cx.rank(x)? < 1 || rows < 1 {
        return None;
    }
    let sum = match sum {
        Some(sum) if cx.known_sizes(sum)? == [rows] => Some(sum),
        Some(_) => return None,
        None => None,
    };
    let packed = Packed::of(cx.builder.nbits(), &parts)?;
    let mut block = columns / count;
    // One scale for more integers than a block may have, or for other rows, is repeated.
    let mut spread = |weight: Weight| -> Option<Weight> {
        let repeat = if count == 1 && !BLOCKS.contains(&columns) { largest_block(columns)? } else { block };
        (block, count) = (repeat, columns / repeat);
        let sizes = [rows, count];
        if weight.sizes == sizes { Some(weight) } else { viewed(&weight, |weight| expanded(weight, &sizes)) }
    };
    let scale = spread(parts.scale)?;
    let zero = match packed.zero {
        Some(zero) => Some(spread(zero)?),
        None => None,
    };
    let bits = i64::from(packed.bits);
    if columns % block != 0 || !BLOCKS.contains(&block) || block.count_ones() != 1 {
        return None;
    }
    let bytes = block * bits / 8;
    let codes = Digits::of(&parts.codes)?.plus(packed.add)?.bytes(packed.bits, &[rows, count, bytes])?;
    let zero = match zero {
        Some(zero) if count == 1 => Some(Digits::of(&zero)?.plus(packed.add)?.weight(Dtype::Uint8, &[rows, 1])?),
        Some(zero) if count * bits % 8 == 0 => {
            Some(Digits::of(&zero)?.plus(packed.add)?.bytes(packed.bits, &[rows, count * bits / 8])?)
        }
        Some(_) => return None,
        None => None,
    };
    let mut inputs = vec![Some(x), Some(stored(cx, codes)), Some(stored(cx, scale))];
    inputs.push(zero.map(|zero| stored(cx, zero)));
    inputs.extend([None, sum]);
    let attrs = [("K", columns), ("N", rows), ("bits", bits), ("block_size", block)];
    let attrs = attrs.into_iter().map(|(name, n)| (name, Attr::Int(n))).collect();
    cx.make_own("com.microsoft::MatMulNBits", inputs, attrs, result)
}

/// Repeats the elements along axes of size 1.
fn expanded(weight: &Weight, sizes: &[i64]) -> Option<Weight> {
    let step = |(n, stride): (&i64, &i64)| if *n == 1 { 0 } else { *stride };
    let strides = weight.sizes.iter().zip(&weight.strides).map(step).collect();
    let can = !weight.storage.is_computed() && weight.dtype.bits() >= 8;
    can.then(|| Weight { strides, sizes: sizes.to_vec(), ..weight.clone() })
}

fn stored(cx: &mut Rewriter<'_>, weight: Weight) -> Value {
    cx.builder.weight(Arc::new(weight))
}

/// The largest block that divides a row.
fn largest_block(columns: i64) -> Option<i64> {
    [256, 128, 64, 32, 16].into_iter().find(|block| columns % block == 0)
}

/// Bounds of integers of at most 8 bits, as close as they decide the number of bits.
fn closest(weight: &Weight) -> Option<(i64, i64)> {
    [(-2, 3), (-8, 15), (-128, 255)].into_iter().find_map(|limits| range(weight, limits))
}

/// How the integers become unsigned ones.
struct Packed {
    bits: u32,
    /// What is added to the integers and to the zero points.
    add: i64,
    /// None: the zero point is the middle, as the operator has it.
    zero: Option<Weight>,
}

impl Packed {
    /// The fewest bits that the runtime has and that hold the integers and the zero points.
    fn of(widths: &[u32], parts: &Dequantized) -> Option<Packed> {
        let zero = parts.zero.as_ref().filter(|zero| range(zero, (0, 0)).is_none());
        let codes = closest(&parts.codes)?;
        let zeros = match zero {
            Some(zero) => closest(zero)?,
            None => (0, 0),
        };
        let (least, most) = (codes.0.min(zeros.0), codes.1.max(zeros.1));
        widths.iter().copied().filter(|bits| *bits <= 8).find_map(|bits| {
            let half = 1 << (bits - 1);
            let is_signed = -half <= least && most < half;
            match zero {
                // Without a zero point it is the middle of the unsigned integers.
                None if is_signed => Some(Packed { bits, add: half, zero: None }),
                _ if 0 <= least && most < 2 * half => {
                    let zero = zero.cloned().unwrap_or_else(|| super::owned(Dtype::Uint8, &[1, 1], Arc::new([0])));
                    Some(Packed { bits, add: 0, zero: Some(zero) })
                }
                Some(zero) if is_signed => Some(Packed { bits, add: half, zero: Some(zero.clone()) }),
                _ => None,
            }
        })
    }
}
