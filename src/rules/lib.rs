//! The operator rules: the compiled `mappings/`, the Rust functions behind `extern fn`, and the registry that finds the
//! rule of an overload. The generated functions are in OUT_DIR, one file per mapping file.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | facts | `effects`, `promotion`, `support` | facts about PyTorch's operators and dtypes, helpers of generated code |
//! | functions | `externs` | the functions behind `extern fn` |
//! | compiled rules | `compiled` | the rules as compiled by the build |
//! | interpreted rules | `interpret` | mapping files at run time |
//! | registry | `registry` | finds the rule of an overload |

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
