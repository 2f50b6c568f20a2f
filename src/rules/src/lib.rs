//! What operator rules run on: the Rust functions behind `extern fn`, the interpreter, the table that compiled rules fill in, and the
//! registry that finds the rule of an overload. The rules of `mappings/` are compiled by the crate `aten2onnx`, which hands its table down.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | facts | `effects`, `level`, `promotion`, `support` | facts about PyTorch's operators and dtypes, helpers of generated code |
//! | functions | `externs` | the functions behind `extern fn` |
//! | imports | `prelude` | what generated code imports |
//! | arguments | `arguments` | the arguments of rules as values, and in the types of parameters |
//! | interpreted rules | `interpret` | mapping files at run time |
//! | compiled rules | `table` | the table of compiled rules |
//! | registry | `registry` | finds the rule of an overload |

mod arguments;
pub mod effects;
pub mod externs;
#[cfg(not(aten2onnx_single))]
pub mod interpret;
#[cfg(aten2onnx_single)]
#[path = "interpret/absent.rs"]
#[allow(missing_docs, reason = "as in `interpret`")]
pub mod interpret;
mod level;
#[doc(hidden)]
pub mod prelude;
pub mod promotion;
mod registry;
pub mod support;
mod table;

pub use arguments::{CallArgs, ExternFn, FromVal, RuleFn, Val};
pub use level::Support;
pub use registry::{RuleRef, Rules};
#[doc(hidden)]
pub use table::imports as tables;
pub use table::{Arm, CompiledRules, LEFT_OUT, Lines, Rule, Words};
