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
//! The crates below this one are `aten2onnx-core`, `aten2onnx-onnx`, `aten2onnx-builder` and `aten2onnx-rules`; other
//! crates should only use this one. docs/architecture.md describes how a model is processed.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | programs | `program`, `options` | the ATen program that front ends return; options |
//! | stages | `prepare`, `translate`, `convert` | to functional programs, to ONNX; from ONNX to ONNX |
//! | readers | `frontend` | from files to programs |
//! | uses | `export`, `examples` | whole exports; the examples of rules |
//! | pages | `report` | a page about a model |
//! | checks | `verify` | calls of rules that nobody wrote, compared with PyTorch |
//! | interfaces | `cli`, `custom`, `tch` | the command `aten2onnx`; crates with custom rules; models of the crate `tch` |

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod convert;
pub mod custom;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod examples;
pub mod export;
pub mod frontend;
pub mod options;
#[doc(hidden)]
pub mod prepare;
pub mod program;
#[doc(hidden)]
pub mod report;
#[cfg(feature = "tch")]
pub mod tch;
#[doc(hidden)]
pub mod translate;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod verify;

pub use aten2onnx_core::dtype::Dtype;
pub use aten2onnx_core::sym::SymInt;
pub use aten2onnx_core::{error, weights};
pub use aten2onnx_onnx::facts::{DEFAULT_OPSET, MAX_OPSET, MIN_OPSET};
#[doc(hidden)]
pub use aten2onnx_onnx::proto;
pub use aten2onnx_onnx::{Exported, ExternalData, Functions, Ir, Provenance, Summary, Written, targets};
pub use aten2onnx_rules::{Rules, Support};
pub use convert::Converter;
pub use export::Exporter;
pub use options::{ConvertOptions, Options};

/// Includes the rules that `aten2onnx_codegen::build_mappings` compiled from a crate's own mapping files, as the static
/// `MAPPINGS`.
#[macro_export]
macro_rules! include_mappings {
    () => {
        include!(concat!(env!("OUT_DIR"), "/mappings.rs"));
    };
}
