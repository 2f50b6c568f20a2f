//! aten2onnx: converts PyTorch models to ONNX at any opset, by rules that are verified at build time.
//!
//! ```standalone_crate
//! # let folder = tempfile::tempdir()?;
//! # std::fs::copy("tests/data/models/mobilenet_like.pt2", folder.path().join("model.pt2"))?;
//! # std::env::set_current_dir(&folder)?;
//! use aten2onnx::Exporter;
//!
//! let summary = Exporter::new().opset(13).dim("s77", "batch").export("model.pt2", "model.onnx")?;
//! println!("{} nodes in {:?}", summary.nodes, summary.took);
//! summary.notes.iter().for_each(|note| println!("{note}"));
//! # Ok::<(), aten2onnx::error::Error>(())
//! ```
//!
//! This crate has the rules: its build script parses and proves `mappings/` and writes each rule as a Rust function. What a model goes
//! through is in the crates below it, which get the rules as a table; docs/architecture.md lists them. Other crates should only use
//! this one.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | rules | `compiled` | the rules of the build |
//! | uses | `converter`, `exporter`, `custom` | conversions, exports, crates with rules of their own |

#[doc(hidden)]
pub mod compiled;
mod converter;
pub mod custom;
mod exporter;

pub use aten2onnx_convert as convert;
pub use aten2onnx_core::dtype::Dtype;
pub use aten2onnx_core::sym::SymInt;
pub use aten2onnx_core::{error, weights};
pub use aten2onnx_export as export;
pub use aten2onnx_frontend as frontend;
pub use aten2onnx_onnx::facts::{DEFAULT_OPSET, MAX_OPSET, MIN_OPSET};
#[doc(hidden)]
pub use aten2onnx_onnx::proto;
pub use aten2onnx_onnx::{Exported, ExternalData, Functions, Ir, Provenance, Summary, Written, targets};
pub use aten2onnx_options as options;
pub use aten2onnx_options::{ConvertOptions, Options, Precision};
pub use aten2onnx_program as program;
pub use aten2onnx_rules::{Rules, Support};
pub use compiled::rules;
pub use converter::Converter;
pub use exporter::Exporter;

/// Includes the rules that `aten2onnx_build::build_mappings` compiled from a crate's own mapping files, as the static
/// `MAPPINGS`.
#[macro_export]
macro_rules! include_mappings {
    () => {
        include!(concat!(env!("OUT_DIR"), "/mappings.rs"));
    };
}
