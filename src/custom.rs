//! Items for crates with custom mapping files: those that `extern fn`s use, and those that generated code refers to.
//! See docs/custom-operators.md.

pub use aten2onnx_builder::{Builder, Graph, In, Scalar};
pub use aten2onnx_onnx::graph::{Attr, Value};
pub use aten2onnx_rules::CompiledRules;

#[doc(hidden)]
pub use crate::compiled;
#[doc(hidden)]
pub use crate::compiled::{prelude, tables};
