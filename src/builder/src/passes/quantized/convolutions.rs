//! Writes convolutions between dequantized activations and a quantization as QLinearConv, where that is needed to keep the scales of channels.
//!
//! It must not drop an activation function that saturation does not replace, nor take activations or scales that are not known.

use super::super::constants::known;
use super::super::rewriter::Rewriter;
use super::{Dequantized, has_integer_forms, limits, own, range, stored, weight};
use crate::build::{Scalar, decode};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Constant, Node, Value};

pub(in super::super) fn quantize_convolutions(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if cx.passes.keep_weights || !has_integer_forms(cx) || node.op != "QuantizeLinear" {
        return None;
    }
    let result = Parameters::of(cx, node)?;
    let mut value = node.input(0)?;
    if let Some(bounded) = own(cx, value, "Relu").or_else(|| own(cx, value, "Clip")) {
        result.saturates(cx, &bounded).then_some(())?;
        value = bounded.input(0)?;
    }
    let conv = own(cx, value, "Conv")?;
    let x = cx.made_by(conv.input(0)?, "DequantizeLinear")?;
    let given = Parameters::of(cx, &x)?;
    let parts = Dequantized::of(cx, conv.input(1)?)?;
    let channels = *parts.codes.sizes.first()?;
    let is_middle = parts.zero.as_ref().is_none_or(|zero| range(zero, (0, 0)).is_some());
    let is_by_channel = parts.scale.sizes.iter().skip(1).all(|n| *n == 1)
        && matches!(parts.scale.sizes.first(), Some(n) if *n == channels);
    if parts.codes.dtype != Dtype::Int8 || parts.scale.dtype != Dtype::Float32 || !is_middle || !is_by_channel {
        return None;
    }
    let scale = stored(cx, parts.scale.reshaped(&[channels])?);
    let bias = match conv.input(2) {
        Some(bias) => Some(whole_bias(cx, bias, scale, given.scale)?),
        None => None,
    };
    let zero = Constant::new(Dtype::Int8, vec![channels], vec![0; usize::try_from(channels).ok()?]);
    let zero = cx.builder.intern(zero);
    let codes = stored(cx, parts.codes);
    let mut inputs = vec![x.input(0)?, x.input(1)?, x.input(2)?, codes, scale, zero, node.input(1)?, node.input(2)?];
    inputs.extend(bias);
    cx.make("QLinearConv", &inputs, conv.attrs.clone())
}

/// The bias in steps of the products, as the operator adds it.
pub(in super::super) fn whole_bias(cx: &mut Rewriter<'_>, bias: Value, scale: Value, given: f64) -> Option<Value> {
    let (bias, scales) = (floats(cx, bias)?, floats(cx, scale)?);
    let whole = |(bias, scale): (&f64, &f64)| {
        let steps = (bias / (scale * given)).round_ties_even();
        (f64::from(i32::MIN) <= steps && steps <= f64::from(i32::MAX)).then_some(steps as i32)
    };
    let numbers: Vec<i32> = bias.iter().zip(&scales).map(whole).collect::<Option<_>>()?;
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let sizes = vec![i64::try_from(numbers.len()).ok()?];
    (numbers.len() == scales.len()).then(|| cx.builder.intern(Constant::new(Dtype::Int32, sizes, bytes)))
}

/// The numbers of a value that is known.
pub(in super::super) fn floats(cx: &Rewriter<'_>, value: Value) -> Option<Vec<f64>> {
    let constant = known(cx, value)?;
    decode(constant.dtype, constant.bytes())?.iter().map(Scalar::as_float).collect()
}

/// One scale and one zero point, both known.
struct Parameters {
    scale: f64,
    zero: i64,
    dtype: Dtype,
}

impl Parameters {
    fn of(cx: &Rewriter<'_>, node: &Node) -> Option<Parameters> {
        let (scale, zero) = (node.input(1)?, node.input(2)?);
        let dtype = cx.dtype(zero);
        let is_one =
            |value: Value| weight(cx, value).is_some() && cx.known_sizes(value).is_some_and(|sizes| sizes.is_empty());
        (is_one(scale) && is_one(zero) && matches!(dtype, Dtype::Int8 | Dtype::Uint8)).then_some(())?;
        let scale = cx.builder.constant_scalar(scale)?.as_float()?;
        Some(Parameters { scale, zero: cx.builder.constant_scalar(zero)?.as_int()?, dtype })
    }

    /// Whether the quantized numbers cannot lie outside what an activation function gives.
    fn saturates(&self, cx: &Rewriter<'_>, node: &Node) -> bool {
        let bound = |name: &str, i: usize| match node.float(name) {
            Some(bound) => Some(bound),
            None => node.input(i).and_then(|value| cx.builder.constant_scalar(value)?.as_float()),
        };
        let (least, most) = match node.op {
            "Relu" => (Some(0.0), None),
            _ => (bound("min", 1), bound("max", 2)),
        };
        let Some((low, high)) = limits(self.dtype) else { return false };
        let step = |bound: f64| (bound / self.scale).round_ties_even() + self.zero as f64;
        least.is_none_or(|bound| step(bound) <= low as f64) && most.is_none_or(|bound| step(bound) >= high as f64)
    }
}
