//! Constant folding: replaces nodes with constant inputs by their results, unless these are large, and integer tensors
//! by their known contents.
//!
//! It must not make the file grow: a result is small, or no larger than the inputs that nothing else reads. So quantized weights stay
//! integers: their floats are larger.

use super::rewriter::Rewriter;
use super::weights;
use crate::build::evaluate;
use aten2onnx_core::weights::Payload;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Constant, Node, Source, Value};

/// The largest number of bytes of a result, and of a weight that is read.
const LIMIT: u64 = 128 << 10;
/// A result of more bytes must not be larger than what it replaces.
const SMALL: u64 = 4 << 10;
/// Quantized weights of fewer bytes may become larger.
const SMALLEST: u64 = 256;

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
    if bytes > SMALL && bytes > replaced(cx, node) {
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
    let is_weight = match cx.builder.source(x) {
        Source::Weight(weight) => weight.byte_len().is_some_and(|len| len >= SMALLEST),
        _ => false,
    };
    let dtype = cx.dtype(x);
    node.op == "Cast" && is_weight && dtype.is_int() && dtype.bits() <= 8 && cx.dtype(result).bits() > 8
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

/// The bytes of the inputs that nothing else reads.
fn replaced(cx: &Rewriter<'_>, node: &Node) -> u64 {
    let bytes = |value: Value| match cx.builder.source(value) {
        Source::Constant(constant) => constant.bytes().len() as u64,
        Source::Weight(weight) => weight.byte_len().unwrap_or(0),
        Source::Input | Source::Node => 0,
    };
    node.inputs.iter().flatten().filter(|value| cx.is_read_once(**value)).map(|value| bytes(*value)).sum()
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
