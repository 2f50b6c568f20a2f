//! Folds operations per channel after a convolution into its weights and bias: batch normalization, and products and
//! sums with one number per channel. The weights are scaled when they are written.
//!
//! It must not fold if something else uses the elements of the convolution or its weights, if the normalization is in training mode, or
//! if weights must stay unchanged.

use std::sync::Arc;

use super::constants::known;
use super::rewriter::Rewriter;
use crate::build::{Scalar, decode};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Scaled;
use aten2onnx_onnx::graph::{Constant, Node, Source, Value};

pub(super) fn fold_into_convolution(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    let (output, affine) = match node.op {
        "BatchNormalization" => {
            let x = node.input(0).filter(|x| convolution(cx, *x).is_some())?;
            (x, Affine::of_normalisation(cx, node)?)
        }
        "Add" | "Mul" | "Sub" | "Div" => Affine::of_arithmetic(cx, node)?,
        _ => return None,
    };
    let conv = convolution(cx, output)?.clone();
    if !cx.has_one_reader(output) || !cx.same_type(output, result) {
        return None;
    }
    let inputs = [Some(conv.input(0)?), Some(weights(cx, &conv, &affine)?), bias(cx, &conv, &affine)?];
    let inputs: Vec<Value> = inputs.into_iter().flatten().collect();
    if cx.is_read_once(output) {
        return cx.remade(&conv, &inputs);
    }
    cx.rebuild(output, inputs)?;
    Some(output)
}

fn convolution<'a>(cx: &'a Rewriter<'_>, value: Value) -> Option<&'a Node> {
    cx.producer(value).filter(|node| matches!(node.op, "Conv" | "ConvTranspose"))
}

/// `x * factor + shift` per channel.
struct Affine {
    factors: Vec<f64>,
    shifts: Vec<f64>,
}

impl Affine {
    fn of_normalisation(cx: &Rewriter<'_>, node: &Node) -> Option<Affine> {
        if node.int("training_mode").unwrap_or(0) != 0 || node.outputs.len() != 1 {
            return None;
        }
        let list = |i: usize| floats(cx, node.input(i)?);
        let (scale, shift, mean, variance) = (list(1)?, list(2)?, list(3)?, list(4)?);
        let epsilon = node.float("epsilon").unwrap_or(1e-5);
        let factors: Vec<f64> = scale.iter().zip(&variance).map(|(scale, v)| scale / (v + epsilon).sqrt()).collect();
        let shifts = shift.iter().zip(&mean).zip(&factors).map(|((shift, mean), factor)| shift - mean * factor);
        let affine = Affine { shifts: shifts.collect(), factors };
        affine.is_finite().then_some(affine)
    }

    /// One number per channel or one for all, and the other operand.
    fn of_arithmetic(cx: &Rewriter<'_>, node: &Node) -> Option<(Value, Affine)> {
        let (a, b) = (node.input(0)?, node.input(1)?);
        let commutes = matches!(node.op, "Add" | "Mul");
        let pairs = [(a, b), (b, a)].into_iter().take(if commutes { 2 } else { 1 });
        let mut pairs = pairs.filter(|(x, _)| convolution(cx, *x).is_some());
        let (x, numbers) = pairs.find_map(|(x, y)| Some((x, by_channel(cx, x, y)?)))?;
        let count = numbers.len();
        let affine = match node.op {
            "Mul" => Affine { factors: numbers, shifts: vec![0.0; count] },
            "Div" => Affine { factors: numbers.iter().map(|x| x.recip()).collect(), shifts: vec![0.0; count] },
            "Sub" => Affine { factors: vec![1.0; count], shifts: numbers.iter().map(|x| -x).collect() },
            _ => Affine { factors: vec![1.0; count], shifts: numbers },
        };
        affine.is_finite().then_some((x, affine))
    }

    fn is_finite(&self) -> bool {
        self.factors.iter().chain(&self.shifts).all(|x| x.is_finite())
    }

    fn scales(&self) -> bool {
        self.factors.iter().any(|factor| *factor != 1.0)
    }
}

/// The elements of a small constant or weight of floats.
fn floats(cx: &Rewriter<'_>, value: Value) -> Option<Vec<f64>> {
    if !matches!(cx.dtype(value), Dtype::Float32 | Dtype::Float64) {
        return None;
    }
    let constant = known(cx, value)?;
    decode(constant.dtype, constant.bytes())?.iter().map(Scalar::as_float).collect()
}

/// The numbers of a `[C, 1, 1]` or `[1, C, 1, 1]` operand for `[N, C, H, W]`, or a single number.
fn by_channel(cx: &Rewriter<'_>, x: Value, y: Value) -> Option<Vec<f64>> {
    let channels = cx.shape(x)?.get(1)?.known()?;
    let rank = cx.rank(x)?;
    let sizes = cx.known_sizes(y)?;
    let numbers = floats(cx, y)?;
    let after = rank.checked_sub(2)?;
    let is_channel = |i: usize| sizes.len() - i == after + 1;
    let fits =
        sizes.len() <= rank && sizes.iter().enumerate().all(|(i, n)| *n == 1 || (is_channel(i) && *n == channels));
    match numbers.as_slice() {
        [only] if fits => Some(vec![*only; usize::try_from(channels).ok()?]),
        _ => Some(numbers).filter(|numbers| fits && numbers.len() as i64 == channels),
    }
}

fn weights(cx: &mut Rewriter<'_>, conv: &Node, affine: &Affine) -> Option<Value> {
    let value = conv.input(1)?;
    if !affine.scales() {
        return Some(value);
    }
    let axis = match conv.op {
        "Conv" => 0,
        _ if conv.int("group").unwrap_or(1) == 1 => 1,
        _ => return None,
    };
    if cx.passes.keep_weights || !cx.is_read_once(value) {
        return None;
    }
    let Source::Weight(weight) = cx.builder.source(value) else { return None };
    let scaled = Scaled::of(&Arc::clone(weight), axis, affine.factors.as_slice().into())?;
    Some(cx.builder.weight(Arc::new(scaled)))
}

/// The inner option is None if no bias is needed.
fn bias(cx: &mut Rewriter<'_>, conv: &Node, affine: &Affine) -> Option<Option<Value>> {
    let old = match conv.input(2) {
        Some(value) => Some(floats(cx, value)?),
        None if affine.shifts.iter().all(|shift| *shift == 0.0) => return Some(None),
        None => None,
    };
    let dtype = cx.dtype(conv.input(1)?);
    let old = old.unwrap_or_else(|| vec![0.0; affine.shifts.len()]);
    if old.len() != affine.shifts.len() {
        return None;
    }
    let new = old.iter().zip(&affine.factors).zip(&affine.shifts).map(|((b, factor), shift)| b * factor + shift);
    let bytes: Vec<u8> = match dtype {
        Dtype::Float32 => new.flat_map(|x| (x as f32).to_le_bytes()).collect(),
        Dtype::Float64 => new.flat_map(f64::to_le_bytes).collect(),
        _ => return None,
    };
    Some(Some(cx.builder.intern(Constant::new(dtype, vec![old.len() as i64], bytes))))
}
