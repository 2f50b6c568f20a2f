//! The back half of the opmap compiler, as build scripts use it: it turns checked operator rules into Rust.
//!
//! The front half is the crate `aten2onnx-opmap`; the two meet in its checked tree. A crate with rules of its own calls
//! [`build_mappings`]; the crates of aten2onnx call [`compile_rules`] and [`compile_facts`].
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | emission | `emit` | Rust from the checked tree |
//! | files | `generate` | all generated files of a set of rules |
//! | uses | `build_script`, `single_opset` | build scripts; the rules for one opset alone |

#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "Cargo reads the output of build scripts, and shows their errors"
)]
mod build_script;
pub mod emit;
mod generate;
pub mod single_opset;

pub use build_script::{build_mappings, compile_facts, compile_rules};
pub use generate::generate;

/// The code blocks of the README are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
