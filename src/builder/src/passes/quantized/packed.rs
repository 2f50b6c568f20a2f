//! Stores integers of few bits several to a byte, with nodes that unpack them, below the opset that has 4-bit integers (21). Runs after all other
//! passes: they look for the integers.
//!
//! It must not pack what would need padding, nor integers that something else reads.

use std::sync::Arc;

use super::super::rewriter::Rewriter;
use super::{own_weight, range, same_dtype, weight};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Digits, Weight};
use aten2onnx_onnx::graph::{Attr, Constant, Node, Value};

/// The first opset with BitShift.
const SHIFTS: i64 = 11;
/// The first opset with 4-bit integers, and with 2-bit integers.
const NATIVE: [(u32, u32); 2] = [(21, 4), (25, 2)];
/// Smaller weights stay as they are.
const SMALLEST: u64 = 1 << 10;

pub(in super::super) fn pack_integers(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let opset = cx.builder.opset();
    let result = node.outputs.first().copied().flatten()?;
    let can = node.op == "DequantizeLinear" || (node.op == "Cast" && cx.dtype(result).is_float());
    if cx.passes.keep_weights || !can || opset < SHIFTS {
        return None;
    }
    let codes = own_weight(cx, node.input(0)?).filter(|codes| codes.byte_len().is_some_and(|len| len >= SMALLEST))?;
    let (least, most) = range(&codes, (-128, 255))?;
    let bits = [2, 4].into_iter().find(|bits| most - least < 1 << bits).filter(|bits| *bits < codes.dtype.bits())?;
    if opset >= 21 {
        note(cx, &codes, (least, most));
        return None;
    }
    match node.op {
        "Cast" => {
            let unpacked = unpacked(cx, &codes, least, bits)?;
            let floats = cx.builder.cast(unpacked, cx.dtype(result)).ok()?;
            if least == 0 {
                return Some(floats);
            }
            let least = cx.builder.scalar(&(least as f64).into(), cx.dtype(result)).ok()?;
            cx.make("Add", &[floats, least], vec![])
        }
        _ => {
            let zero = match node.input(2) {
                Some(zero) => weight(cx, zero)?,
                None => super::owned(codes.dtype, &cx.known_sizes(node.input(1)?)?, zeros(cx, node.input(1)?)?),
            };
            let moved = Digits::of(&zero)?.plus(-least)?.weight(zero.dtype, &zero.sizes)?;
            let zero = same_dtype(&moved, Dtype::Uint8)?;
            let unpacked = unpacked(cx, &codes, least, bits)?;
            let zero = cx.builder.weight(Arc::new(zero));
            cx.remade(node, &[unpacked, node.input(1)?, zero])
        }
    }
}

/// A byte of 0 for each element.
fn zeros(cx: &Rewriter<'_>, like: Value) -> Option<Arc<[u8]>> {
    let count: i64 = cx.known_sizes(like)?.iter().product();
    Some(vec![0; usize::try_from(count).ok()?].into())
}

/// The integers minus the least of them as uint8, from bytes that hold several.
fn unpacked(cx: &mut Rewriter<'_>, codes: &Weight, least: i64, bits: u32) -> Option<Value> {
    let each = i64::from(8 / bits);
    let count: i64 = codes.sizes.iter().product();
    if count % each != 0 {
        return None;
    }
    let packed = Digits::of(codes)?.plus(-least)?.bytes(bits, &[count / each, 1])?;
    let packed = cx.builder.weight(Arc::new(packed));
    // What lies above the digit is shifted out to the left, what lies below it to the right.
    let left: Vec<u8> = (1..=8 / bits).map(|i| (8 - bits * i) as u8).collect();
    let left = cx.builder.intern(Constant::new(Dtype::Uint8, vec![each], left));
    let right = cx.builder.intern(Constant::new(Dtype::Uint8, vec![], vec![(8 - bits) as u8]));
    let shift = |direction: &str| vec![("direction", Attr::Str(direction.to_owned()))];
    let high = cx.make("BitShift", &[packed, left], shift("LEFT"))?;
    let digits = cx.make("BitShift", &[high, right], shift("RIGHT"))?;
    let sizes = cx.builder.ints(&codes.sizes);
    cx.make("Reshape", &[digits, sizes], vec![])
}

/// Notes what a newer opset would save.
fn note(cx: &mut Rewriter<'_>, codes: &Weight, (least, most): (i64, i64)) {
    let opset = cx.builder.opset();
    let holds = |bits: u32| (least >= 0 && most < 1 << bits) || (-(1 << (bits - 1)) <= least && most < 1 << (bits - 1));
    let newer = NATIVE
        .into_iter()
        .rev()
        .find(|(since, bits)| i64::from(*since) > opset && *bits < codes.dtype.bits() && holds(*bits));
    if let (Some((since, bits)), Some(now)) = (newer, codes.byte_len()) {
        cx.builder.could_save(since, bits, now - now * u64::from(bits) / u64::from(codes.dtype.bits()));
    }
}
