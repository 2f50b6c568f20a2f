//! Constant folding: replaces nodes with constant inputs by their results, unless these are large, and integer tensors
//! by their known contents.
//!
//! It must not make weights grow: what is computed from one is small, or no larger than the inputs that nothing else reads. So quantized
//! weights stay integers: their floats are larger. Floats that are looked up by stored indices may be a few times larger. Large tensors
//! whose elements are all the same are not stored either, but what follows from them is.

use std::sync::Arc;

use super::rewriter::Rewriter;
use super::weights;
use crate::build::{bytes_of, evaluate, evaluate_rounded, read};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Constant, Node, Source, Type, Value};

/// The largest number of bytes of a result, and of a weight that is read.
pub(super) const LIMIT: u64 = 128 << 10;
/// The same for arithmetic on weights that nothing else reads, which does not make the file larger.
const LARGE: u64 = 4 << 20;
/// Operators on each element.
pub(super) const ARITHMETIC: &[&str] = &[
    "Abs",
    "Add",
    "Cos",
    "Div",
    "Exp",
    "Log",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "Pow",
    "Reciprocal",
    "Relu",
    "Sigmoid",
    "Sin",
    "Sqrt",
    "Sub",
    "Tanh",
];
/// A result of more bytes that follows from a weight must not be larger than what it replaces.
const SMALL: u64 = 4 << 10;
/// How many times as large as its inputs floats may be that are looked up by stored indices, such as relative positions.
const LOOKUP: u64 = 8;

pub(super) fn fold_constants(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if let Some(constant) = content(cx, node) {
        return Some(cx.builder.intern(constant));
    }
    let limit = if ARITHMETIC.contains(&node.op) && !cx.passes.keep_weights { LARGE } else { LIMIT };
    if node.inputs.is_empty() || !node.inputs.iter().flatten().all(|value| is_known(cx, *value, limit)) {
        return None;
    }
    if is_widened(cx, node) {
        return None;
    }
    let result = node.outputs.first().copied().flatten()?;
    let ty = cx.builder.ty(result).clone();
    let follows_weight = node.inputs.iter().flatten().any(|value| cx.builder.follows_weight(*value));
    let bytes = bytes_of(&ty).filter(|bytes| *bytes <= if follows_weight { limit } else { LIMIT })?;
    if follows_weight && bytes > SMALL && bytes > most(cx, node) {
        return None;
    }
    // The writer makes a view without loading the weight.
    let view = weights::view_of(cx, node);
    if view.as_ref().is_some_and(|view| !view.is_contiguous() && bytes > weights::TINY)
        && !weights::may_be_turned(cx, node)
    {
        return None;
    }
    if view.is_some()
        && !cx.passes.keep_weights
        && let Some(later) = weights::view_weights(cx, node)
    {
        return Some(later);
    }
    let constant = match view {
        Some(weight) => read(&weight)?,
        None => computed(cx, node, &ty)?,
    };
    if bytes > SMALL && bytes > most(cx, node) && is_filled(&constant) {
        cx.filled.insert(result, constant);
        return None;
    }
    Some(stored(cx, node, constant))
}

/// The result of a node as a constant, or as a weight if it is large: passes on weights see it.
pub(super) fn stored(cx: &mut Rewriter<'_>, node: &Node, constant: Constant) -> Value {
    let named = |value: &Value| {
        if let Source::Weight(weight) = cx.builder.source(*value) { Some(weight.name.clone()) } else { None }
    };
    if constant.bytes().len() as u64 > LIMIT
        && let Some(weight) = node.inputs.iter().flatten().find_map(named).and_then(|name| constant.to_weight(&name))
    {
        return cx.builder.weight(Arc::new(weight));
    }
    let follows_weight = node.inputs.iter().flatten().any(|value| cx.builder.follows_weight(*value));
    let value = cx.builder.intern(constant);
    if follows_weight {
        cx.builder.mark_of_weight(value);
    }
    value
}

/// The result of a node with known inputs.
fn computed(cx: &Rewriter<'_>, node: &Node, ty: &Type) -> Option<Constant> {
    if node.op == "ConstantOfShape" {
        return cx.builder.constant_of_shape(&node.attrs, ty);
    }
    let operand = |value: Value| cx.filled.get(&value).cloned().or_else(|| known_within(cx, value, LARGE));
    let inputs: Vec<Constant> = node.inputs.iter().map(|value| operand((*value)?)).collect::<Option<_>>()?;
    result(node, &inputs, ty)
}

/// What a node computes of constants.
pub(super) fn result(node: &Node, inputs: &[Constant], ty: &Type) -> Option<Constant> {
    let given: Vec<&Constant> = inputs.iter().collect();
    let exact = evaluate(node.op, &node.attrs, &given, ty);
    // Double precision differs from machine to machine in its last digit, single precision does not.
    exact.or_else(|| if ty.dtype() == Dtype::Float32 { evaluate_rounded(node.op, inputs, ty) } else { None })
}

/// Whether quantized weights become floats, or integers of more bits on the way to them.
fn is_widened(cx: &Rewriter<'_>, node: &Node) -> bool {
    let Some((x, result)) = node.input(0).zip(node.outputs.first().copied().flatten()) else { return false };
    let is_weight = matches!(cx.builder.source(x), Source::Weight(_)) && cx.builder.follows_weight(x);
    let dtype = cx.dtype(x);
    node.op == "Cast" && is_weight && dtype.is_int() && dtype.bits() <= 8 && cx.dtype(result).bits() > 8
}

/// The numbers of an integer tensor that follow from sizes. Models of others compute them with nodes (`Shape`).
fn content(cx: &Rewriter<'_>, node: &Node) -> Option<Constant> {
    let [Some(result)] = node.outputs[..] else { return None };
    let numbers = cx.builder.content(result)?;
    cx.builder.content_as_constant(cx.builder.ty(result), numbers)
}

fn is_known(cx: &Rewriter<'_>, value: Value, limit: u64) -> bool {
    match cx.builder.source(value) {
        Source::Constant(constant) => constant.bytes().len() as u64 <= limit,
        Source::Weight(weight) => weight.byte_len().is_some_and(|len| len <= limit),
        Source::Input | Source::Node => cx.filled.contains_key(&value),
    }
}

/// Whether all elements are the same.
fn is_filled(constant: &Constant) -> bool {
    let bytes = constant.bytes();
    let width = constant.dtype.bytes(1).and_then(|width| usize::try_from(width).ok()).filter(|width| *width > 0);
    width.is_some_and(|width| {
        constant.dtype.bits() >= 8 && bytes.chunks(width).all(|element| bytes.starts_with(element))
    })
}

/// How many bytes the result of a node that reads weights may have.
fn most(cx: &Rewriter<'_>, node: &Node) -> u64 {
    let inputs = node.inputs.iter().flatten().copied();
    if is_lookup(cx, node) {
        return LOOKUP * inputs.map(|value| bytes(cx, value)).sum::<u64>();
    }
    inputs
        .filter(|value| cx.is_read_once(*value) || !cx.builder.follows_weight(*value))
        .map(|value| bytes(cx, value))
        .sum()
}

/// Whether floats are looked up by indices as PyTorch stores them. Codes of quantized weights are not: they are computed from integers of
/// fewer bits.
fn is_lookup(cx: &Rewriter<'_>, node: &Node) -> bool {
    let [Some(table), Some(indices)] = node.inputs[..] else { return false };
    node.op == "Gather" && cx.dtype(table).is_float() && matches!(cx.builder.source(indices), Source::Weight(_))
}

fn bytes(cx: &Rewriter<'_>, value: Value) -> u64 {
    match cx.builder.source(value) {
        Source::Constant(constant) => constant.bytes().len() as u64,
        Source::Weight(weight) => weight.byte_len().unwrap_or(0),
        Source::Input | Source::Node => 0,
    }
}

/// The value of a constant or a small weight.
pub(super) fn known(cx: &Rewriter<'_>, value: Value) -> Option<Constant> {
    known_within(cx, value, LIMIT)
}

fn known_within(cx: &Rewriter<'_>, value: Value, limit: u64) -> Option<Constant> {
    match cx.builder.source(value) {
        Source::Constant(constant) => Some(constant.clone()),
        Source::Weight(weight) if weight.byte_len()? <= limit => read(weight),
        _ => None,
    }
}
