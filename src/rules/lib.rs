//! The operator rules: what the build makes of `mappings/`, the Rust functions behind `extern fn`, and the registry that finds the
//! rule of an overload. The generated functions are in OUT_DIR, one file for each mapping file.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | facts | `effects`, `promotion`, `support` | facts about PyTorch's operators and dtypes, helpers of generated code |
//! | functions | `externs` | the functions behind `extern fn` |
//! | compiled rules | `compiled` | what the build makes of the rules |
//! | interpreted rules | `interpret` | mapping files at run time |
//! | registry | `registry` | which rule an overload has |

mod compiled;
pub mod effects;
pub mod externs;
#[cfg(feature = "mappings")]
pub mod interpret;
pub mod promotion;
mod registry;
pub mod support;

pub use compiled::{Arm, BUILT_IN, CompiledRules, Rule, Support};
#[doc(hidden)]
pub use compiled::{arm, functions, prelude, rule};
pub use registry::{RuleRef, Rules};
