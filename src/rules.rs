//! The compiled rules: what the build makes of `mappings/`. The functions are in OUT_DIR, one file for each mapping file.

pub mod support;

/// What the generated functions are written with.
#[doc(hidden)]
pub mod prelude {
    pub use super::support::{self, BinaryOp};
    pub use super::{Arm, Rule, Support};
    pub use crate::builder::{Args, Builder, Call, In, IntoOuts, Out, Scalar};
    pub use crate::dtype::Dtype;
    pub use crate::error::{Error, Result};
    pub use crate::externs;
    pub use crate::graph::{Attr, Value};
    pub use crate::sym::SymInt;
}

use crate::builder::{Args, Builder, Out};
use crate::error::Result;

/// A `map`.
pub struct Rule {
    /// The overload: `aten::elu`, `aten::add.Tensor`.
    pub name: &'static str,
    /// `mappings/aten/activation.opmap:4`
    pub location: &'static str,
    /// Takes the arguments apart and calls the rule.
    pub call: fn(&mut Builder, &Args) -> Result<Vec<Out>>,
    /// For each opset from [`MIN_OPSET`] on.
    pub support: &'static [Support],
    /// Why it is not supported everywhere, all opsets together.
    pub reasons: &'static [&'static str],
}

/// What a rule can do at an opset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Every path works.
    Full,
    /// Some calls are refused.
    Partial,
    /// All calls are refused.
    No,
}

/// A branch of a rule.
pub struct Arm {
    /// The rule.
    pub rule: &'static str,
    /// The condition or pattern.
    pub text: &'static str,
    /// `mappings/aten/activation.opmap:5`
    pub location: &'static str,
    /// It only refuses.
    pub refuses: bool,
}

#[allow(missing_docs)]
mod generated {
    use super::*;
    include!(concat!(env!("OUT_DIR"), "/rules.rs"));
}

mod tables {
    include!(concat!(env!("OUT_DIR"), "/schemas.rs"));
    include!(concat!(env!("OUT_DIR"), "/facts.rs"));
}

/// The generated functions by name, for the table of schemas.
mod lowerings {
    pub(super) use super::generated::*;
}

pub use generated::{ARMS, RULES, UNSUPPORTED};
pub use tables::*;

/// The rule of an overload.
pub fn find(name: &str) -> Option<&'static Rule> {
    RULES.binary_search_by(|rule| rule.name.cmp(name)).ok().map(|i| &RULES[i])
}

/// Why an overload cannot be had in ONNX, if that is so.
pub fn unsupported(name: &str) -> Option<&'static str> {
    UNSUPPORTED.binary_search_by(|row| row.0.cmp(name)).ok().map(|i| UNSUPPORTED[i].1)
}
