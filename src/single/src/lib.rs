//! What an exporter for one opset has beside its rules. `aten2onnx-codegen exporter` writes the rules and a workspace around this crate:
//! docs/maintainers.md.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | models | `model` | an exporter, and a model that it has opened |
//! | uses | `command`, `c` | the command line; the functions behind the C interface |

pub mod c;
pub mod command;
mod model;

pub use aten2onnx_core::error::{Error, Result};
pub use aten2onnx_onnx::Summary;
pub use aten2onnx_options::Options;
pub use aten2onnx_rules::CompiledRules;
pub use model::{Exporter, Model};
