//! The arguments of rules: as values, and in the types of parameters.

#[doc(hidden)]
pub mod parameters;
pub(crate) mod value;

use aten2onnx_builder::{Builder, Out};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Value;

pub use value::{CallArgs, FromVal, Val};

/// An `extern fn` with the signature that the interpreter calls.
pub type ExternFn = fn(&mut Builder, &mut CallArgs) -> Result<Val>;

/// A compiled `map`: takes its arguments from those of a call.
pub type RuleFn = fn(&mut Builder, &mut CallArgs) -> Result<Vec<Out>>;

/// The result of a `fuse` rule, if there is such a rule.
pub(crate) fn replacement(cx: &Builder, rule: &str, outs: Option<&[Out]>) -> Result<Value> {
    match outs {
        Some([Out::Tensor(value)]) => Ok(*value),
        Some(_) => Err(cx.fault(format!("`{rule}` does not return a tensor"))),
        None => Err(cx.fault(format!("there is no rule `{rule}`"))),
    }
}
