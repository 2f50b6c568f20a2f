//! Compiled rules: the tables that generated code fills.

#[doc(hidden)]
pub mod prelude;

use aten2onnx_builder::{Args, Builder, Call, LowerFn, Lowerings, Out};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::facts::MIN_OPSET;
use aten2onnx_onnx::graph::Value;

/// The rules of some mapping files: of the build, or of another crate (see `aten2onnx_codegen::build_mappings`).
#[derive(Debug)]
pub struct CompiledRules {
    /// Every `map`, sorted by overload.
    pub rules: &'static [Rule],
    /// Every `lower`: operator, opset, function. Sorted.
    pub lowers: &'static [(&'static str, u32, LowerFn)],
    /// Every `same`: operator, opset. Sorted.
    pub sames: &'static [(&'static str, u32)],
    /// What cannot be said, and why. Sorted.
    pub unsupported: &'static [(&'static str, &'static str)],
    /// The overloads that examples show to hold for complex numbers. Sorted.
    pub complex: &'static [&'static str],
    /// Every branch of every rule, by its number.
    pub arms: &'static [Arm],
    /// The number of the first one.
    pub first_arm: u32,
}

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

#[allow(missing_docs)]
mod generated {
    use super::prelude;
    include!(concat!(env!("OUT_DIR"), "/rules.rs"));
}

/// The compiled rules as functions, for rules of other crates that call them.
#[doc(hidden)]
pub mod functions {
    pub use super::generated::*;
}

/// The rules of the build.
pub static BUILT_IN: CompiledRules = CompiledRules {
    rules: generated::RULES,
    lowers: generated::LOWERS,
    sames: generated::SAMES,
    unsupported: generated::UNSUPPORTED,
    complex: generated::COMPLEX,
    arms: generated::ARMS,
    first_arm: 0,
};

impl CompiledRules {
    /// The rule of exactly this overload.
    pub fn find(&self, name: &str) -> Option<&'static Rule> {
        let at = self.rules.binary_search_by(|rule| rule.name.cmp(name)).ok()?;
        self.rules.get(at)
    }

    /// Why an overload cannot be had in ONNX, if that is so.
    pub fn unsupported(&self, name: &str) -> Option<&'static str> {
        let at = self.unsupported.binary_search_by(|row| row.0.cmp(name)).ok()?;
        self.unsupported.get(at).map(|row| row.1)
    }

    /// May the overload be called with complex numbers? An example shows that it holds for them.
    pub fn takes_complex(&self, name: &str) -> bool {
        self.complex.binary_search(&name).is_ok()
    }

    /// The branch of this number.
    pub fn arm(&self, number: u32) -> Option<&'static Arm> {
        self.arms.get(number.checked_sub(self.first_arm)? as usize)
    }

    fn lower(&self, op: &str, before: u32) -> Option<LowerFn> {
        let at = self.lowers.binary_search_by(|row| (row.0, row.1).cmp(&(op, before))).ok()?;
        self.lowers.get(at).map(|row| row.2)
    }
}

impl Lowerings for &'static CompiledRules {
    fn has(&self, op: &str, before: u32) -> bool {
        self.lower(op, before).is_some()
    }

    fn is_same(&self, op: &str, to: u32) -> bool {
        self.sames.binary_search(&(op, to)).is_ok()
    }

    fn call(&self, before: u32, cx: &mut Builder, call: &Call) -> Result<Vec<Value>> {
        match self.lower(call.op, before) {
            Some(lower) => lower(cx, call),
            None => Err(cx.fault(format!("there is no `lower {} before {before}`", call.op))),
        }
    }
}
