//! The front half of the opmap compiler: it reads operator rules, checks them, and proves that they hold at every opset.
//!
//! A rule file goes through these passes: `syntax`, `collect`, `check`, `coverage`. Each pass takes the result of the one before,
//! states at its top what holds afterwards, and adds errors to one list of diagnostics. [`check_dir`] runs all of them.
//! The crate `aten2onnx-codegen` turns the result into Rust at build time; the exporter interprets it when rule files are given
//! at run time.
//!
//! The schemas of PyTorch and ONNX are the crate `aten2onnx-schemas`.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | text | `source`, `types`, `returned`, `explain` | files and places, the types of the language, what results of functions in Rust are, pages of error codes |
//! | errors | `diagnostic`, `effects` | errors as data; facts about memory |
//! | input | `syntax`, `render`, `suppress` | parser and formatter, errors as text |
//! | trees | `collect`, `tree` | items by name, the checked tree |
//! | walks | `visit` | walks over the checked tree |
//! | meaning | `check` | names, types and schemas of calls |
//! | one opset | `specialize`, `reach` | a rule as it is at one opset; who calls whom |
//! | all opsets | `coverage` | the proof, and the support matrix |
//! | passes | `checked` | all passes in order |
//! | again | `recheck` | the passes after a change of a file |
//! | words | `vocabulary` | the words of the language, for editors |
//! | results | `examples` | examples as JSON |

mod check;
mod checked;
pub mod collect;
pub mod coverage;
pub mod diagnostic;
pub mod effects;
pub mod examples;
pub mod explain;
pub mod reach;
mod recheck;
pub mod render;
pub mod returned;
pub mod source;
pub mod specialize;
mod suppress;
pub mod syntax;
pub mod tree;
pub mod types;
pub mod visit;
pub mod vocabulary;

pub use check::lower_header;
pub use checked::{Checked, check_dir, check_sources, check_with_base, resolve_dir, resolve_dir_with};
pub use recheck::Recheck;

/// The code blocks of the README are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
