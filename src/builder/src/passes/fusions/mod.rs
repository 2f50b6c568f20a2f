//! Fuses patterns of nodes into native operators, if the opset has them.
//!
//! The native operator must compute the same function up to rounding: every constant of the pattern is checked, and
//! anything else stays. Only float32 and float16, for which runtimes have kernels at least as fast as the pattern.

mod attention;
mod heads;
mod rotary;

pub(super) use attention::fuse_attention;
pub(super) use heads::fuse_heads;
pub(super) use rotary::fuse_rotary_embedding;

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
