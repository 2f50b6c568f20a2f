//! aten2onnx: PyTorch models to ONNX at any opset, from rules that the build proves.
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
//! [`Exporter`] is the way in. The parts, in the order that data flows: [`pt2`] reads archives into a [`program`], [`functional`]
//! makes it free of writes, [`translate`] runs the [`rules`] over it, which call the [`builder`] (with [`infer`] and the
//! [`schema`] tables) to make a [`graph`], [`passes`] shorten it, and [`onnx`] writes it. docs/architecture.md tells more.

pub mod builder;
pub mod check;
pub mod clean;
pub mod cli;
pub mod convert;
pub mod dtype;
pub mod error;
#[cfg(feature = "mappings")]
pub mod examples;
pub mod export;
pub mod externs;
pub mod foreach;
pub mod functional;
pub mod graph;
pub mod infer;
pub mod inline;
pub mod inspect;
#[cfg(feature = "mappings")]
pub mod interpret;
pub mod onnx;
pub mod passes;
pub mod pieces;
pub mod program;
pub mod pt2;
pub mod ready;
pub mod rules;
pub mod schema;
pub mod sym;
pub mod targets;
pub mod translate;
pub mod vmap;
pub mod walk;
pub mod weights;

pub use export::Exporter;
pub use ready::{Ready, Summary};

/// The rules that `aten2onnx_codegen::build_mappings` made of a crate's own mapping files, as the static `MAPPINGS`.
#[macro_export]
macro_rules! include_mappings {
    () => {
        include!(concat!(env!("OUT_DIR"), "/mappings.rs"));
    };
}
