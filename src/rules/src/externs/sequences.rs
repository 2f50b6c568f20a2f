//! Sequences and optionals for opsets without them: their elements are tracked one by one.

use aten2onnx_builder::Builder;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
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
pub fn optional_of(cx: &mut Builder, x: Value) -> Result<Value> {
    let ty = Type::Optional(Box::new(cx.ty(x).clone()));
    Ok(cx.bundle(ty, &[x]))
}

/// The elements of a sequence or optional, if each is known.
pub fn items(cx: &mut Builder, x: Value) -> Result<Option<Vec<Value>>> {
    Ok(cx.items(x))
}

/// Whether it is a packed sequence.
pub fn is_packed(cx: &mut Builder, x: Value) -> Result<bool> {
    Ok(cx.packed(x).is_some())
}

/// The joined elements of a packed sequence.
pub fn flat_of(cx: &mut Builder, x: Value) -> Result<Value> {
    parts_of(cx, x).map(|[flat, _]| flat)
}

/// The sizes of the elements of a packed sequence.
pub fn sizes_of(cx: &mut Builder, x: Value) -> Result<Value> {
    parts_of(cx, x).map(|[_, sizes]| sizes)
}

fn parts_of(cx: &mut Builder, x: Value) -> Result<[Value; 2]> {
    cx.packed(x).ok_or_else(|| Error::internal("expected a packed sequence"))
}

/// A packed sequence of elements of this rank.
pub fn packed_sequence(cx: &mut Builder, flat: Value, sizes: Value, rank: i64, t: Dtype) -> Result<Value> {
    let shape = (0..rank).map(|_| cx.unknown_size()).collect();
    Ok(cx.packed_sequence([flat, sizes], Type::tensor(t, shape)))
}

/// The rank of the elements, if all have the same.
pub fn element_rank(cx: &mut Builder, x: Value) -> Result<Option<i64>> {
    Ok(cx.element_rank(x).map(|rank| rank as i64))
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

/// Whether tensors have the same sizes, each of which is known or has a name.
pub fn are_alike(cx: &mut Builder, xs: &[Value]) -> Result<bool> {
    let shapes = xs.iter().map(|x| cx.shape(*x)).collect::<Result<Vec<_>>>()?;
    let Some(first) = shapes.first() else { return Ok(false) };
    Ok(shapes.iter().all(|shape| shape == first) && !first.iter().any(|size| size.has_anonymous()))
}
