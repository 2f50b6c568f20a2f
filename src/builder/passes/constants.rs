//! Constant folding: replaces nodes with constant inputs by their results, unless these are large, and integer tensors
//! by their known contents.
//!
//! It must not make weights grow: what follows from one is small, or no larger than the inputs that nothing else reads. So quantized
//! weights stay integers: their floats are larger. Floats that are looked up by known indices may be a few times larger.

use super::rewriter::Rewriter;
use super::weights;
use crate::build::evaluate;
use aten2onnx_core::weights::Payload;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Constant, Node, Source, Value};

/// The largest number of bytes of a result, and of a weight that is read.
const LIMIT: u64 = 128 << 10;
/// A result of more bytes that follows from a weight must not be larger than what it replaces.
const SMALL: u64 = 4 << 10;
/// Weights of fewer bytes may become larger.
const SMALLEST: u64 = 256;
/// How many times as large as its inputs floats that are looked up by known indices may be: relative positions are, but not scales that
/// are repeated for each row.
const LOOKUP: u64 = 8;

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if let Some(constant) = content(cx, node) {
        return Some(cx.builder.intern(constant));
    }
    if node.inputs.is_empty() || !node.inputs.iter().flatten().all(|value| is_known(cx, *value)) {
        return None;
    }
    if is_widened(cx, node) {
        return None;
    }
    let result = node.outputs.first().copied().flatten()?;
    let ty = cx.builder.ty(result).clone();
    let count: i64 = cx.known_sizes(result)?.into_iter().try_fold(1i64, i64::checked_mul)?;
    let bytes = ty.dtype().bytes(u64::try_from(count).ok()?).filter(|bytes| *bytes <= LIMIT)?;
    if bytes > SMALL && reads_weight(cx, node) && bytes > most(cx, node) {
        return None;
    }
    if node.op == "ConstantOfShape" {
        return filled(cx, node, count);
    }
    if let Some(weight) = weights::view_of(cx, node) {
        // The writer does this without loading the weight.
        let later = if cx.passes.keep_weights { None } else { weights::apply(cx, node) };
        return later.or_else(|| Some(cx.builder.intern(read(&weight)?)));
    }
    let inputs: Vec<Constant> = node.inputs.iter().map(|value| known(cx, (*value)?)).collect::<Option<_>>()?;
    let inputs: Vec<&Constant> = inputs.iter().collect();
    let constant = evaluate(node.op, &node.attrs, &inputs, &ty)?;
    Some(cx.builder.intern(constant))
}

/// Whether quantized weights become floats, or integers of more bits on the way to them.
fn is_widened(cx: &Rewriter<'_>, node: &Node) -> bool {
    let Some((x, result)) = node.input(0).zip(node.outputs.first().copied().flatten()) else { return false };
    let (from, to) = (cx.dtype(x).bits(), cx.dtype(result).bits());
    node.op == "Cast" && reads_weight(cx, node) && cx.dtype(x).is_int() && from <= 8 && to > 8
}

/// The numbers of an integer tensor that follow from sizes. Models of others compute them with nodes (`Shape`).
fn content(cx: &Rewriter<'_>, node: &Node) -> Option<Constant> {
    let [Some(result)] = node.outputs[..] else { return None };
    let numbers = cx.builder.content(result)?;
    cx.builder.content_as_constant(cx.builder.ty(result), numbers)
}

fn is_known(cx: &Rewriter<'_>, value: Value) -> bool {
    match cx.builder.source(value) {
        Source::Constant(constant) => constant.bytes().len() as u64 <= LIMIT,
        Source::Weight(weight) => weight.byte_len().is_some_and(|len| len <= LIMIT),
        Source::Input | Source::Node => false,
    }
}

/// Whether an input is a weight that counts.
fn reads_weight(cx: &Rewriter<'_>, node: &Node) -> bool {
    node.inputs.iter().flatten().any(|value| match cx.builder.source(*value) {
        Source::Weight(weight) => weight.byte_len().is_some_and(|len| len >= SMALLEST),
        _ => false,
    })
}

/// How many bytes the result of a node that reads weights may have.
fn most(cx: &Rewriter<'_>, node: &Node) -> u64 {
    let is_lookup = node.op == "Gather" && node.input(0).is_some_and(|table| cx.dtype(table).is_float());
    if is_lookup {
        LOOKUP * read_bytes(cx, node, |_| true)
    } else {
        read_bytes(cx, node, |value| cx.is_read_once(value))
    }
}

/// The bytes of the chosen inputs.
fn read_bytes(cx: &Rewriter<'_>, node: &Node, is_chosen: impl Fn(Value) -> bool) -> u64 {
    let bytes = |value: Value| match cx.builder.source(value) {
        Source::Constant(constant) => constant.bytes().len() as u64,
        Source::Weight(weight) => weight.byte_len().unwrap_or(0),
        Source::Input | Source::Node => 0,
    };
    node.inputs.iter().flatten().filter(|value| is_chosen(**value)).map(|value| bytes(*value)).sum()
}

/// The value of a constant or a small weight.
pub(super) fn known(cx: &Rewriter<'_>, value: Value) -> Option<Constant> {
    match cx.builder.source(value) {
        Source::Constant(constant) => Some(constant.clone()),
        Source::Weight(weight) if weight.byte_len()? <= LIMIT => read(weight),
        _ => None,
    }
}

fn read(weight: &Weight) -> Option<Constant> {
    let mut bytes: Vec<u8> = Vec::new();
    Payload::new(weight).ok()?.write(&mut bytes).ok()?;
    Some(Constant::new(weight.dtype, weight.sizes.clone(), bytes)).filter(Constant::is_consistent)
}

fn filled(cx: &mut Rewriter<'_>, node: &Node, count: i64) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    let element = match node.attr("value") {
        Some(aten2onnx_onnx::graph::Attr::Tensor(value)) => cx.builder.constant_of(*value)?.bytes().to_vec(),
        _ => vec![0; 4],
    };
    let bytes = element.repeat(usize::try_from(count).ok()?);
    let constant = Constant::new(cx.dtype(result), cx.known_sizes(result)?, bytes);
    constant.is_consistent().then(|| cx.builder.intern(constant))
}
