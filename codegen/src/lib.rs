//! The back half of the opmap compiler: it turns checked operator rules into Rust.
//!
//! The front half is the crate `aten2onnx-opmap`; the two meet in its checked tree. Build scripts call [`build`] or
//! [`build_mappings`]. The feature `cli` (on by default) adds the command `aten2onnx-codegen` and what only it needs.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | emission | `emit` | Rust from the checked tree, tables from the schemas |
//! | files | `generate` | all generated files of a set of rules |
//! | uses | `build_script`, `single_opset` | build scripts; the rules for one opset alone |
//! | reports | `expand`, `matrix`, `mentions`, `stats`, `upgrade` | what the command prints |

#[allow(clippy::print_stdout, reason = "Cargo reads the output of build scripts")]
mod build_script;
pub mod emit;
#[cfg(feature = "cli")]
pub mod expand;
mod generate;
#[cfg(feature = "cli")]
pub mod matrix;
#[cfg(feature = "cli")]
pub mod mentions;
pub mod single_opset;
#[cfg(feature = "cli")]
pub mod stats;
#[cfg(feature = "cli")]
pub mod upgrade;

pub use build_script::{build_interpreted, build_mappings, build_rules, build_schemas, fill_out_dir};
pub use generate::generate;

/// The code blocks of the README are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
