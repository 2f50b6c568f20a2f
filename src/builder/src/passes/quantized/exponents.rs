//! Writes scales of MX formats as FLOAT8E8M0, which opset 24 has: models spell out `2 ** (byte - 127)`, and NaN for the byte 255.
//!
//! It must not change bytes that something else reads.

use std::sync::Arc;

use super::super::constants::known;
use super::super::rewriter::Rewriter;
use super::{own, range, weight};
use crate::build::decode;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Attr, Node, Value};

/// The first opset with the dtype.
const NATIVE: i64 = 24;
/// The exponent of 1.
const BIAS: i64 = 127;
/// The byte of NaN.
const NAN: i64 = 255;

pub(in super::super) fn raise_exponents(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    if cx.passes.keep_weights || cx.builder.opset() < NATIVE || cx.dtype(result) != Dtype::Float32 {
        return None;
    }
    let bytes = match node.op {
        "Pow" => power(cx, node).filter(|bytes| cx.is_read_once(*bytes) && has_no_nan(cx, *bytes))?,
        "Where" => unless_nan(cx, node).filter(|bytes| cx.uses(*bytes) <= 2)?,
        _ => return None,
    };
    let exponents = weight(cx, bytes).filter(|exponents| exponents.dtype == Dtype::Uint8)?;
    let can = cx.shape(bytes) == cx.shape(result) && !exponents.storage.is_computed();
    can.then_some(())?;
    let scales = cx.builder.weight(Arc::new(Weight { dtype: Dtype::Float8E8M0, ..exponents }));
    cx.builder.cast(scales, Dtype::Float32).ok()
}

/// The bytes of `2 ** (byte - 127)`.
fn power(cx: &Rewriter<'_>, node: &Node) -> Option<Value> {
    let is_two = is_filled_with_two(cx, node.input(0)?);
    let floats = own(cx, node.input(1)?, "Cast").filter(|_| is_two)?;
    let difference = own(cx, floats.input(0)?, "Sub")?;
    let number = cx.builder.constant_scalar(difference.input(1)?)?.as_int()?;
    let whole = own(cx, difference.input(0)?, "Cast")?;
    // A signed integer that holds all differences.
    let dtype = cx.dtype(difference.input(0)?);
    let is_wide = dtype.is_signed_int() && dtype.bits() > 8;
    whole.input(0).filter(|_| number == BIAS && is_wide)
}

fn is_filled_with_two(cx: &Rewriter<'_>, value: Value) -> bool {
    if let Some(filled) = cx.made_by(value, "ConstantOfShape") {
        let element = match filled.attr("value") {
            Some(Attr::Tensor(element)) => *element,
            _ => return false,
        };
        return is_filled_with_two(cx, element);
    }
    let numbers = known(cx, value).and_then(|constant| decode(constant.dtype, constant.bytes()));
    numbers.is_some_and(|numbers| !numbers.is_empty() && numbers.iter().all(|number| number.as_float() == Some(2.0)))
}

/// The bytes of a power, and of NaN where they are 255.
fn unless_nan(cx: &Rewriter<'_>, node: &Node) -> Option<Value> {
    let (condition, a, b) = (node.input(0)?, node.input(1)?, node.input(2)?);
    let (equal, power_of, other) = match own(cx, condition, "Not") {
        Some(not) => (own(cx, not.input(0)?, "Equal")?, a, b),
        None => (own(cx, condition, "Equal")?, b, a),
    };
    let bytes = power(cx, &own(cx, power_of, "Pow")?)?;
    let is_nan = cx.builder.constant_scalar(other)?.as_float().is_some_and(f64::is_nan);
    let number = cx.builder.constant_scalar(equal.input(1)?)?.as_int();
    (is_nan && equal.input(0) == Some(bytes) && number == Some(NAN)).then_some(bytes)
}

fn has_no_nan(cx: &Rewriter<'_>, bytes: Value) -> bool {
    weight(cx, bytes).is_some_and(|exponents| range(&exponents, (0, NAN - 1)).is_some())
}
