//! Sequences and optionals for opsets without them: their elements are tracked one by one.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, Graph, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Body, Type, Value};

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

/// Applies a body to the elements of sequences: one by one if they are known, else in a loop.
pub fn mapped(cx: &mut Builder, first: Value, others: &[Value], body: &Graph) -> Result<Vec<Value>> {
    let Graph::Built(body) = body else { return Err(cx.fault("SequenceMap without a body")) };
    let inputs: Vec<Value> = std::iter::once(first).chain(others.iter().copied()).collect();
    match cx.items(first) {
        Some(items) => mapped_one_by_one(cx, &inputs, items.len(), body),
        None => mapped_in_loop(cx, &inputs, body),
    }
}

fn mapped_one_by_one(cx: &mut Builder, inputs: &[Value], count: usize, body: &Body) -> Result<Vec<Value>> {
    let mut results = vec![Vec::with_capacity(count); body.outputs.len()];
    for i in 0..count {
        let mut elements = Vec::with_capacity(inputs.len());
        for input in inputs {
            let items = cx.items(*input);
            let missing = || Error::input(format!("a sequence of SequenceMap has no element {i}"));
            elements.push(items.map_or(Ok(*input), |items| items.get(i).copied().ok_or_else(missing))?);
        }
        for (result, output) in results.iter_mut().zip(cx.inline_body(body, &elements)) {
            result.push(output);
        }
    }
    let dtypes: Vec<Dtype> = body.outputs.iter().map(|output| cx.dtype(*output)).collect();
    results.iter().zip(dtypes).map(|(items, t)| sequence_of(cx, items, t)).collect()
}

fn mapped_in_loop(cx: &mut Builder, inputs: &[Value], body: &Body) -> Result<Vec<Value>> {
    if cx.opset() < 13 {
        return super::sequence_loops::mapped_in_tensors(cx, inputs, body);
    }
    let count = cx.op("SequenceLength", inputs.iter().take(1).map(|x| (*x).into()).collect())?;
    let mut params = vec![Type::sized(Dtype::Int64, &[]), Type::sized(Dtype::Bool, &[])];
    let mut carried = Vec::with_capacity(body.outputs.len());
    for output in &body.outputs {
        let t = cx.dtype(*output);
        carried.push(cx.op_with("SequenceEmpty", Vec::new(), "dtype", Attr::Int(t.onnx().into()))?);
        params.push(Type::Sequence(Box::new(Type::unranked(t))));
    }
    let step = cx.body(&params, |cx, given| {
        let [index, go_on, sequences @ ..] = given else { return Err(cx.fault("a loop body needs its inputs")) };
        let outputs = applied_at(cx, inputs, *index, body)?;
        let mut results = vec![*go_on];
        for (sequence, output) in sequences.iter().zip(outputs) {
            results.push(cx.op("SequenceInsert", vec![(*sequence).into(), output.into()])?);
        }
        Ok(results)
    })?;
    let always = cx.scalar(&Scalar::Bool(true), Dtype::Bool)?;
    let mut given = vec![count.into(), always.into()];
    given.extend(carried.iter().map(|sequence| (*sequence).into()));
    cx.node("Loop", given, vec![("body", step)], carried.len())
}

/// Applies a body to the elements at an index; inputs that are not sequences are passed unchanged.
pub(super) fn applied_at(cx: &mut Builder, inputs: &[Value], index: Value, body: &Body) -> Result<Vec<Value>> {
    let mut elements = Vec::with_capacity(inputs.len());
    for input in inputs {
        let is_sequence = matches!(cx.ty(*input), Type::Sequence(_));
        let at = |cx: &mut Builder| cx.op("SequenceAt", vec![(*input).into(), index.into()]);
        elements.push(if is_sequence { at(cx)? } else { *input });
    }
    Ok(cx.inline_body(body, &elements))
}
