//! Padding by concatenation, one dimension at a time, where Pad does not support it.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// The pads before and after each of `count` dimensions.
fn pairs(pads: &[SymInt], count: usize) -> Vec<(SymInt, SymInt)> {
    let at = |i: usize| pads.get(i).cloned().unwrap_or_default();
    (0..count).map(|i| (at(i), at(i + count))).collect()
}

/// Crops by negative pads.
fn crop(cx: &mut Builder, x: Value, axis: i64, before: &SymInt, after: &SymInt) -> Result<Value> {
    let negative = |n: &SymInt| n.known().is_some_and(|n| n < 0);
    if !negative(before) && !negative(after) {
        return Ok(x);
    }
    let zero = SymInt::from(0);
    let from = before.neg().max(&zero);
    let to = &cx.dim(x, axis)? + &after.min(&zero);
    cx.part(x, axis, &from, &to)
}

fn is_wanted(pad: &SymInt) -> bool {
    pad.known().is_none_or(|n| n > 0)
}

/// Circular padding: elements from one end are added at the other.
pub fn wrapped_around(cx: &mut Builder, x: Value, pads: &[SymInt], axes: &[i64]) -> Result<Value> {
    let mut result = x;
    for ((before, after), axis) in pairs(pads, axes.len()).iter().zip(axes) {
        let inner = crop(cx, result, *axis, before, after)?;
        let size = cx.dim(inner, *axis)?;
        let mut pieces = Vec::new();
        if is_wanted(before) {
            pieces.push(cx.part(inner, *axis, &(&size - before), &size)?);
        }
        pieces.push(inner);
        if is_wanted(after) {
            pieces.push(cx.part(inner, *axis, &SymInt::from(0), after)?);
        }
        result = cx.concat(pieces, *axis)?;
    }
    Ok(result)
}

/// Constant padding by concatenation; negative pads crop.
pub fn joined_pads(cx: &mut Builder, x: Value, pads: &[SymInt], value: &Scalar) -> Result<Value> {
    let t = cx.dtype(x);
    let rank = cx.shape(x)?.len();
    let mut result = x;
    for (axis, (before, after)) in pairs(pads, rank).iter().enumerate() {
        let at = axis as i64;
        let inner = crop(cx, result, at, before, after)?;
        let mut pieces = vec![inner];
        for (pad, place) in [(before, 0), (after, usize::MAX)] {
            if is_wanted(pad) {
                let mut sizes = cx.shape(inner)?;
                sizes[axis] = pad.clone();
                let side = super::full_of(cx, &sizes, value, t)?;
                pieces.insert(place.min(pieces.len()), side);
            }
        }
        result = cx.concat(pieces, at)?;
    }
    Ok(result)
}

/// Padding with elements of the input, by index. Negative pads crop.
pub fn pads_by_index(cx: &mut Builder, x: Value, pads: &[SymInt], axes: &[i64], mode: &str) -> Result<Value> {
    let mut result = x;
    for ((before, after), axis) in pairs(pads, axes.len()).iter().zip(axes) {
        if *before == 0 && *after == 0 {
            continue;
        }
        let zero = SymInt::from(0);
        let size = cx.dim(result, *axis)?;
        let count = &(&size + before) + after;
        // Cropped elements cannot be used for padding on the other side either.
        let kept = &(&size + &before.min(&zero)) + &after.min(&zero);
        let places = cx.count(&count)?;
        let places = cx.sub(places, before.max(&zero))?;
        let places = match mode {
            "edge" => cx.between(places, 0, &kept - 1)?,
            "reflect" => reflected(cx, places, &kept)?,
            _ => cx.op("Mod", vec![places.into(), (&kept).into()])?,
        };
        let start = before.neg().max(&zero);
        let places = if start == 0 { places } else { cx.add(places, &start)? };
        result = cx.gather(result, places, *axis)?;
    }
    Ok(result)
}

/// Reflects positions at both ends.
fn reflected(cx: &mut Builder, places: Value, size: &SymInt) -> Result<Value> {
    let period = (&(size - 1) * 2).max(&SymInt::from(1));
    let inside = cx.op("Mod", vec![places.into(), (&period).into()])?;
    let back = cx.sub(&period, inside)?;
    cx.op("Min", vec![inside.into(), back.into()])
}
