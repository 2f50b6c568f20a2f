//! Arithmetic on weights alone, as weight_norm and spectral_norm spell it: sums, norms and products of weights become constants if they are
//! small, and a weight times one number for each index of an axis is scaled when it is written.
//!
//! It must not make the file larger, write a weight twice, read more than a limit, nor change weights that must stay as they are.

use std::sync::Arc;

use super::constants::{self, ARITHMETIC, known};
use super::rewriter::Rewriter;
use super::weights;
use crate::build::{Scalar, bytes_of, decode, encoded_floats, multiplied, read};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Reduction, Scaled, Weight};
use aten2onnx_onnx::graph::{Constant, Node, Source, Value};

/// The largest result in bytes that may be larger than what it follows from.
const SMALL: u64 = 4 << 10;
/// The part of what it follows from that a result may take beside it.
const SHARE: u64 = 8;
/// The largest weight that is read in chunks, in bytes.
const MOST_READ: u64 = 128 << 20;
/// The largest weight that is held in memory, in bytes.
const MOST_HELD: u64 = 32 << 20;

/// How many operators on weights are followed.
const DEPTH: usize = 6;

/// Sums, norms and products of weights.
pub(super) fn compute_weights(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    let size = |value: &Value| bytes_of(cx.builder.ty(*value)).unwrap_or(0);
    let inputs = || node.inputs.iter().flatten();
    let given: u64 = inputs().map(size).sum();
    let replaced: u64 = inputs().filter(|value| cx.is_read_once(**value)).map(size).sum();
    let most = SMALL.max(given / SHARE).max(replaced);
    bytes_of(cx.builder.ty(result)).filter(|bytes| (1..=most).contains(bytes))?;
    let constant = match node.op {
        "MatMul" => product(cx, node, result),
        _ => reduction(cx, node, result),
    }?;
    Some(constants::stored(cx, node, constant))
}

fn reduction(cx: &Rewriter<'_>, node: &Node, result: Value) -> Option<Constant> {
    let (reduction, finish): (Reduction, fn(f64, f64) -> f64) = match node.op {
        "ReduceL1" => (Reduction::SumOfSizes, |sum, _| sum),
        "ReduceL2" => (Reduction::SumOfSquares, |sum, _| sum.sqrt()),
        "ReduceSumSquare" => (Reduction::SumOfSquares, |sum, _| sum),
        "ReduceSum" => (Reduction::Sum, |sum, _| sum),
        "ReduceMean" => (Reduction::Sum, |sum, count| sum / count),
        "ReduceMax" => (Reduction::Most, |most, _| most),
        "ReduceMin" => (Reduction::Least, |least, _| least),
        _ => return None,
    };
    let weight = stored(cx, node.input(0)?, MOST_READ).or_else(|| held(cx, node.input(0)?, DEPTH)?.to_weight(""))?;
    let axes = axes_of(cx, node, weight.sizes.len())?;
    let count: i64 = axes.iter().filter_map(|axis| weight.sizes.get(*axis)).product();
    if count == 0 {
        return None;
    }
    let results = weight.reduced(&axes, reduction)?;
    let results: Vec<f64> = results.into_iter().map(|result| finish(result, count as f64)).collect();
    encoded_floats(&results, cx.builder.ty(result))
}

/// The axes of a reduction, which are not empty.
fn axes_of(cx: &Rewriter<'_>, node: &Node, rank: usize) -> Option<Vec<usize>> {
    let given = match (node.ints("axes"), node.input(1)) {
        (Some(axes), _) => axes.to_vec(),
        (None, Some(axes)) => cx.ints(axes)?,
        (None, None) => Vec::new(),
    };
    if given.is_empty() {
        return (node.int("noop_with_empty_axes").unwrap_or(0) == 0).then(|| (0..rank).collect());
    }
    given.iter().map(|axis| counted_from_start(*axis, rank)).collect()
}

fn product(cx: &Rewriter<'_>, node: &Node, result: Value) -> Option<Constant> {
    let operands: Vec<Weight> =
        node.inputs.iter().map(|value| stored(cx, (*value)?, MOST_HELD)).collect::<Option<_>>()?;
    let [a, b] = operands.as_slice() else { return None };
    multiplied(&read(a)?, &read(b)?, cx.builder.ty(result))
}

/// A weight or a constant, also in another shape or layout; floats of at most this many bytes.
fn stored(cx: &Rewriter<'_>, value: Value, most: u64) -> Option<Weight> {
    let weight = match cx.builder.source(value) {
        Source::Weight(weight) => (**weight).clone(),
        Source::Constant(constant) => constant.to_weight("")?,
        Source::Input => return None,
        Source::Node => weights::view_of(cx, cx.producer(value)?)?,
    };
    let is_float = matches!(weight.dtype, Dtype::Float32 | Dtype::Float64);
    (is_float && weight.byte_len()? <= most).then_some(weight)
}

/// Operators on each element of weights whose results nothing else reads, such as those of a weight that low ranks were added to.
pub(super) fn compute_chains(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    if cx.passes.keep_weights || !ARITHMETIC.contains(&node.op) || !follows_nodes(cx, node) {
        return None;
    }
    let bytes = bytes_of(cx.builder.ty(result))?;
    let replaced = node.inputs.iter().flatten().filter(|value| cx.is_read_once(**value)).filter_map(|value| {
        if let Source::Weight(weight) = cx.builder.source(*value) { weight.byte_len() } else { None }
    });
    if bytes > MOST_HELD || bytes > replaced.sum::<u64>() {
        return None;
    }
    let constant = evaluated(cx, node, result, DEPTH)?;
    Some(constants::stored(cx, node, constant))
}

/// Whether an input is the result of a node, and all follow from what is stored.
fn follows_nodes(cx: &Rewriter<'_>, node: &Node) -> bool {
    let is_node = |value: &Value| matches!(cx.builder.source(*value), Source::Node);
    node.inputs.iter().flatten().any(is_node)
        && node.inputs.iter().all(|value| value.is_some_and(|v| is_held(cx, v, DEPTH)))
}

/// Whether a value follows from weights by operators that are computed here.
fn is_held(cx: &Rewriter<'_>, value: Value, depth: usize) -> bool {
    match cx.builder.source(value) {
        Source::Weight(weight) => weight.byte_len().is_some_and(|len| len <= MOST_HELD),
        Source::Constant(constant) => constant.bytes().len() as u64 <= MOST_HELD,
        Source::Input => false,
        Source::Node => cx.producer(value).filter(|_| depth > 0).is_some_and(|node| {
            let is_small = bytes_of(cx.builder.ty(value)).is_some_and(|bytes| bytes <= MOST_HELD);
            let is_computed =
                ARITHMETIC.contains(&node.op) || node.op == "MatMul" || weights::view_of(cx, node).is_some();
            let inputs =
                if ARITHMETIC.contains(&node.op) || node.op == "MatMul" { node.inputs.as_slice() } else { &[] };
            is_small && is_computed && inputs.iter().all(|input| input.is_some_and(|v| is_held(cx, v, depth - 1)))
        }),
    }
}

/// The elements of such a value.
fn held(cx: &Rewriter<'_>, value: Value, depth: usize) -> Option<Constant> {
    if !is_held(cx, value, depth) {
        return None;
    }
    match cx.builder.source(value) {
        Source::Weight(weight) => read(weight),
        Source::Constant(constant) => Some(constant.clone()),
        Source::Input => None,
        Source::Node => evaluated(cx, cx.producer(value)?, value, depth - 1),
    }
}

fn evaluated(cx: &Rewriter<'_>, node: &Node, result: Value, depth: usize) -> Option<Constant> {
    if let Some(view) = weights::view_of(cx, node) {
        return read(&view);
    }
    let inputs: Vec<Constant> = node.inputs.iter().map(|value| held(cx, (*value)?, depth)).collect::<Option<_>>()?;
    constants::result(node, &inputs, cx.builder.ty(result))
}

/// A weight times, or over, one number for each index of an axis. Smaller ones become constants.
pub(super) fn scale_weights(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    let (weight, numbers) = match node.op {
        "Mul" if matches!(cx.builder.source(a), Source::Weight(_)) && known(cx, b).is_some() => (a, b),
        "Mul" => (b, a),
        "Div" => (a, b),
        _ => return None,
    };
    let Source::Weight(source) = cx.builder.source(weight) else { return None };
    let source = Arc::clone(source);
    if source.byte_len()? <= constants::LIMIT {
        return None;
    }
    if cx.passes.keep_weights
        || !cx.is_read_once(weight)
        || !cx.same_type(weight, node.outputs.first().copied().flatten()?)
    {
        return None;
    }
    let (axis, mut factors) = along_axis(cx, &source.sizes, numbers)?;
    if node.op == "Div" {
        factors.iter_mut().for_each(|factor| *factor = factor.recip());
    }
    if !factors.iter().all(|factor| factor.is_finite()) {
        return None;
    }
    Some(cx.builder.weight(Arc::new(Scaled::of(&source, axis, factors.as_slice().into())?)))
}

/// The axis of a weight along which a constant differs, and its numbers there.
fn along_axis(cx: &Rewriter<'_>, sizes: &[i64], numbers: Value) -> Option<(usize, Vec<f64>)> {
    let constant = known(cx, numbers)?;
    if !matches!(constant.dtype, Dtype::Float32 | Dtype::Float64) {
        return None;
    }
    let floats: Vec<f64> =
        decode(constant.dtype, constant.bytes())?.iter().map(Scalar::as_float).collect::<Option<_>>()?;
    if let [only] = floats.as_slice() {
        return Some((0, vec![*only; usize::try_from(*sizes.first()?).ok()?]));
    }
    let added = sizes.len().checked_sub(constant.sizes.len())?;
    let mut wide = constant.sizes.iter().enumerate().filter(|(_, size)| **size != 1);
    match (wide.next(), wide.next()) {
        (Some((axis, size)), None) if sizes.get(axis + added) == Some(size) => Some((axis + added, floats)),
        _ => None,
    }
}
