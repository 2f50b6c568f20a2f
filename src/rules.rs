//! The compiled rules: what the build makes of `mappings/`. The functions are in OUT_DIR, one file for each mapping file.

mod registry;
pub mod support;

pub use registry::{Meaning, Rules, Set};

/// What the generated functions are written with.
#[doc(hidden)]
pub mod prelude {
    pub use super::support;
    pub use crate::builder::{Args, Builder, Call, In, IntoOuts, Out, Scalar, ScalarOp};
    pub use crate::dtype::Dtype;
    pub use crate::error::{Error, Result};
    pub use crate::externs;
    pub use crate::graph::{Attr, Value};
    pub use crate::sym::SymInt;
}

use crate::builder::{Args, Builder, Out};
use crate::error::Result;

/// A `map`.
#[derive(Debug)]
pub struct Rule {
    /// The overload: `aten::elu`, `aten::add.Tensor`.
    pub name: &'static str,
    /// `mappings/aten/activation.opmap:4`
    pub location: &'static str,
    /// Takes the arguments apart and calls the rule.
    pub call: fn(&mut Builder, &Args) -> Result<Vec<Out>>,
    /// For each opset from [`MIN_OPSET`] on a letter: `F` full, `P` partial, `N` none.
    levels: &'static str,
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

impl Rule {
    /// What it can do at an opset.
    pub fn support(&self, opset: u32) -> Support {
        let letter = opset.checked_sub(MIN_OPSET).and_then(|i| self.levels.as_bytes().get(i as usize));
        match letter {
            Some(b'F') => Support::Full,
            Some(b'P') => Support::Partial,
            _ => Support::No,
        }
    }
}

/// For generated code.
#[doc(hidden)]
pub const fn rule(
    name: &'static str,
    location: &'static str,
    call: fn(&mut Builder, &Args) -> Result<Vec<Out>>,
    levels: &'static str,
    reasons: &'static [&'static str],
) -> Rule {
    Rule { name, location, call, levels, reasons }
}

/// For generated code.
#[doc(hidden)]
pub const fn arm(rule: &'static str, text: &'static str, location: &'static str, refuses: bool) -> Arm {
    Arm { rule, text, location, refuses }
}

/// A branch of a rule.
#[derive(Debug)]
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
    include!(concat!(env!("OUT_DIR"), "/views.rs"));
    include!(concat!(env!("OUT_DIR"), "/effects.rs"));
    include!(concat!(env!("OUT_DIR"), "/targets.rs"));
}

/// What mapping files are checked against and run with.
#[cfg(feature = "mappings")]
mod at_run_time {
    use super::prelude::*;
    use crate::interpret::ExternFn;
    include!(concat!(env!("OUT_DIR"), "/externs.rs"));
    /// The files of `mappings/`, by path, sorted.
    pub static MAPPINGS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/mappings.rs"));
}

#[cfg(feature = "mappings")]
pub use at_run_time::{EXTERNS, MAPPINGS};

/// The generated functions by name, for the table of schemas.
mod lowerings {
    pub(super) use super::generated::*;
}

/// The compiled rules as functions, for rules of other crates that call them.
#[doc(hidden)]
pub mod compiled {
    pub use super::generated::*;
}

pub use generated::{ARMS, COMPLEX, RULES, UNSUPPORTED};
pub use tables::*;

/// The rule of an overload.
pub fn find(name: &str) -> Option<&'static Rule> {
    RULES.binary_search_by(|rule| rule.name.cmp(name)).ok().map(|i| &RULES[i])
}

/// May the overload be called with complex numbers? An example shows that it holds for them.
pub fn takes_complex(name: &str) -> bool {
    COMPLEX.binary_search(&name).is_ok()
}

/// May the results of an operator share memory with its first argument?
pub fn is_view(name: &str) -> bool {
    VIEWS.binary_search(&name).is_ok()
}

/// What an operator writes to, by the alias marks of its schema.
#[derive(Debug)]
pub struct Effect {
    /// The overload: `aten::add_.Tensor`.
    pub name: &'static str,
    /// The arguments that it writes to.
    pub writes: &'static [&'static str],
    /// These are there for its results only (`out=`).
    pub is_out: bool,
    /// The operator that gives the same as results.
    pub functional: Option<&'static str>,
    /// Arguments that this one calls otherwise, with its names.
    pub renamed: &'static [(&'static str, &'static str)],
}

/// What an operator writes to; None for nothing.
pub fn effect(name: &str) -> Option<&'static Effect> {
    EFFECTS.binary_search_by(|effect| effect.name.cmp(name)).ok().map(|i| &EFFECTS[i])
}

/// Why an overload cannot be had in ONNX, if that is so.
pub fn unsupported(name: &str) -> Option<&'static str> {
    UNSUPPORTED.binary_search_by(|row| row.0.cmp(name)).ok().map(|i| UNSUPPORTED[i].1)
}
