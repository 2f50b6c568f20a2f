//! Fuses patterns of nodes into native operators, if the opset has them.
//!
//! The native operator must compute the same function up to rounding: every constant of the pattern is checked, and
//! anything else stays. Only float32 and float16, for which runtimes have kernels at least as fast as the pattern.

mod activations;
mod attention;
mod heads;
mod norms;
mod rotary;
mod terms;

pub(super) use activations::apply as activation;
pub(super) use attention::apply as attention;
pub(super) use heads::apply as heads;
pub(super) use norms::apply as norm;
pub(super) use rotary::apply as rotary;

use super::rewriter::Rewriter;
use crate::build::Scalar;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Node, Value};

/// The only element of a constant of floats.
fn number(cx: &Rewriter<'_>, value: Value) -> Option<f64> {
    match cx.builder.constant_scalar(value)? {
        Scalar::Float(x) => Some(x),
        _ => None,
    }
}

/// Whether it is this number, at the precision of the dtype.
fn is_near(dtype: Dtype, x: f64, wanted: f64) -> bool {
    let rounding = if dtype == Dtype::Float16 { 1e-3 } else { 1e-6 };
    (x - wanted).abs() <= rounding * wanted.abs()
}

/// Whether the target has an operator that accepts the value.
fn takes(cx: &Rewriter<'_>, op: &str, x: Value) -> bool {
    cx.has(op) && matches!(cx.dtype(x), Dtype::Float32 | Dtype::Float16)
}

/// The node with this operator whose result nothing else uses.
fn own_input(cx: &Rewriter<'_>, value: Value, op: &str) -> Option<Node> {
    cx.made_by(value, op).filter(|_| cx.is_read_once(value))
}

/// The value before a Cast that nothing else uses, and the Cast.
fn uncast(cx: &Rewriter<'_>, value: Value) -> Option<(Value, Option<Node>)> {
    match own_input(cx, value, "Cast") {
        Some(cast) => Some((cast.input(0)?, Some(cast))),
        None => Some((value, None)),
    }
}

fn cast_again(cx: &mut Rewriter<'_>, value: Value, cast: Option<Node>) -> Option<Value> {
    match cast {
        Some(cast) => cx.remade(&cast, &[value]),
        None => Some(value),
    }
}
