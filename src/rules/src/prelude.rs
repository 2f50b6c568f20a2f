//! Imports of the generated functions.

pub use aten2onnx_builder::{Args, Builder, Graph, In, IntoOuts, NodeCall, OperatorForm, Out, Scalar, ScalarOp};
pub use aten2onnx_core::dtype::Dtype;
pub use aten2onnx_core::error::{Error, Result};
pub use aten2onnx_core::sym::SymInt;
pub use aten2onnx_onnx::graph::{Attr, Value};

pub use crate::{externs, support};
