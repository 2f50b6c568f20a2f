//! Sequences and optionals for opsets without them: their elements are tracked one by one.

use super::nodes::MakeNodes;
use aten2onnx_builder::Builder;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Type, Value};

/// A sequence of these tensors, outside the graph.
pub fn sequence_of(cx: &mut Builder, items: &[Value], t: Dtype) -> Result<Value> {
    Ok(cx.bundle(Type::Sequence(Box::new(Type::unranked(t))), items))
}

/// An empty sequence of the dtype with this number in ONNX, outside the graph.
pub fn empty_sequence(cx: &mut Builder, code: i64) -> Result<Value> {
    let t = i32::try_from(code).ok().and_then(Dtype::from_onnx);
    let t = t.ok_or_else(|| Error::input(format!("unknown dtype {code}")))?;
    sequence_of(cx, &[], t)
}

/// An optional with a value, outside the graph.
pub fn optional_of(cx: &mut Builder, x: Option<Value>) -> Result<Value> {
    let item = x.ok_or_else(|| Error::refused("an optional without a value needs opset 15", Some(15)))?;
    let ty = Type::Optional(Box::new(cx.ty(item).clone()));
    Ok(cx.bundle(ty, &[item]))
}

/// The elements of a sequence or optional, if each is known.
pub fn items(cx: &mut Builder, x: Value) -> Result<Option<Vec<Value>>> {
    Ok(cx.items(x))
}

/// A copy of a sequence.
pub fn copied_sequence(cx: &mut Builder, x: Value) -> Result<Value> {
    cx.copied_sequence(x)
}

/// Whether the value is a sequence, in the graph or not.
pub fn is_sequence(cx: &mut Builder, x: Value) -> Result<bool> {
    Ok(matches!(cx.ty(x), Type::Sequence(_)))
}

/// Whether the value is an optional.
pub fn is_optional(cx: &mut Builder, x: Value) -> Result<bool> {
    Ok(matches!(cx.ty(x), Type::Optional(_)))
}

/// The element at a position. If only the graph knows the position, all elements must have one shape.
pub fn item_at(cx: &mut Builder, items: &[Value], position: Value) -> Result<Value> {
    if let Some([at]) = cx.constant_ints(position).as_deref() {
        let index = position_of(*at, items.len(), items.len())?;
        return items.get(index).copied().ok_or_else(|| outside(*at, items.len()));
    }
    let shapes = items.iter().map(|item| cx.shape(*item)).collect::<Result<Vec<_>>>()?;
    let Some(first) = shapes.first().filter(|first| shapes.iter().all(|shape| shape == *first)) else {
        let what = "selecting one of several elements of different shapes in the graph needs opset 11";
        return Err(Error::refused(what, Some(11)));
    };
    if first.iter().any(|n| n.has_anonymous()) {
        let what = "selecting one of several elements of unknown sizes in the graph needs opset 11";
        return Err(Error::refused(what, Some(11)));
    }
    let stacked = items.iter().map(|item| cx.unsqueeze(*item, &[0])).collect::<Result<Vec<_>>>()?;
    let all = cx.concat(stacked, 0)?;
    let position = super::reshape(cx, position, &[])?;
    cx.gather(all, position, 0)
}

/// Inserts an element at the end or before a position.
pub fn items_with(cx: &mut Builder, items: &[Value], item: Value, position: Option<Value>) -> Result<Vec<Value>> {
    let at = known_position(cx, position, items.len(), items.len() + 1, "inserting at a position")?;
    let mut items = items.to_vec();
    items.insert(at.unwrap_or(items.len()), item);
    Ok(items)
}

/// Removes the element at a position, or the last one.
pub fn items_without(cx: &mut Builder, items: &[Value], position: Option<Value>) -> Result<Vec<Value>> {
    let at = known_position(cx, position, items.len(), items.len(), "removing at a position")?;
    let mut items = items.to_vec();
    let at = at.or(items.len().checked_sub(1)).ok_or_else(|| outside(-1, 0))?;
    items.remove(at);
    Ok(items)
}

/// A position below `end`; None if none is given.
fn known_position(
    cx: &Builder,
    position: Option<Value>,
    count: usize,
    end: usize,
    what: &str,
) -> Result<Option<usize>> {
    let Some(position) = position else { return Ok(None) };
    match cx.constant_ints(position).as_deref() {
        Some([at]) => position_of(*at, count, end).map(Some),
        _ => Err(Error::refused(format!("{what} that the graph computes needs opset 11"), Some(11))),
    }
}

fn position_of(at: i64, count: usize, end: usize) -> Result<usize> {
    let front = if at < 0 { at + count as i64 } else { at };
    usize::try_from(front).ok().filter(|i| *i < end).ok_or_else(|| outside(at, count))
}

fn outside(at: i64, count: usize) -> Error {
    Error::input(format!("position {at} is outside a sequence of {count} elements"))
}

/// Splits a tensor along a dimension: into single elements, parts of one length, or parts of given lengths.
pub fn split_pieces(cx: &mut Builder, x: Value, split: Option<Value>, dim: i64, keep: bool) -> Result<Vec<Value>> {
    let refused =
        |what: &str| Error::refused(format!("splitting with {what} unknown at export time needs opset 11"), Some(11));
    let total = cx.dim(x, dim)?;
    let lengths = match split {
        Some(split) if cx.rank(split)? == 1 => cx.constant_ints(split).ok_or_else(|| refused("lengths"))?,
        _ => {
            let total = total.known().ok_or_else(|| refused("a size"))?;
            let each = split.map_or(Some(1), |split| cx.constant_ints(split)?.first().copied());
            let each = each.filter(|n| *n > 0).ok_or_else(|| refused("a length"))?;
            (0..total).step_by(usize::try_from(each).unwrap_or(1)).map(|start| each.min(total - start)).collect()
        }
    };
    let mut parts = Vec::with_capacity(lengths.len());
    let mut start = 0;
    for length in lengths {
        let part = cx.part(x, dim, &SymInt::from(start), &SymInt::from(start + length))?;
        let single = !keep && split.is_none();
        parts.push(if single { cx.op("Squeeze", vec![part.into(), vec![dim].into()])? } else { part });
        start += length;
    }
    Ok(parts)
}
