//! Compiled rules: the tables that generated code fills in.

#[doc(hidden)]
pub mod prelude;

use aten2onnx_builder::{Args, Builder, Call, LowerFn, Lowerings, Out};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::facts::MIN_OPSET;
use aten2onnx_onnx::graph::Value;

/// The rules of mapping files, either built in or from another crate (see `aten2onnx_codegen::build_mappings`).
#[derive(Debug)]
pub struct CompiledRules {
    /// Every `map`, sorted by overload.
    pub rules: &'static [Rule],
    /// Every `lower`: operator, opset, function. Sorted.
    pub lowers: &'static [(&'static str, u32, LowerFn)],
    /// Every `raise`: operator, opset, function. Sorted.
    pub raises: &'static [(&'static str, u32, LowerFn)],
    /// Every `same`: operator, opset. Sorted.
    pub sames: &'static [(&'static str, u32)],
    /// Overloads that ONNX cannot express, with the reason. Sorted.
    pub unsupported: &'static [(&'static str, &'static str)],
    /// The overloads whose examples cover complex numbers. Sorted.
    pub complex: &'static [&'static str],
    /// Every branch of every rule, by number.
    pub arms: &'static [Arm],
    /// The number of the first branch.
    pub first_arm: u32,
}

/// A `map`.
#[derive(Debug)]
pub struct Rule {
    /// The overload: `aten::elu`, `aten::add.Tensor`.
    pub name: &'static str,
    /// `mappings/aten/activation.opmap:4`
    pub location: &'static str,
    /// Converts the arguments and calls the rule.
    pub call: fn(&mut Builder, &Args) -> Result<Vec<Out>>,
    /// For each opset from [`MIN_OPSET`] on, a letter: `F` full, `P` partial, `N` none.
    levels: &'static str,
    /// Why it is not supported everywhere, for all opsets.
    pub reasons: &'static [&'static str],
}

/// The support of a rule at an opset.
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
    /// Whether it always refuses.
    pub refuses: bool,
}

impl Rule {
    /// The support at an opset.
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

/// The compiled rules as functions, for calls from rules of other crates.
#[doc(hidden)]
pub mod functions {
    pub use super::generated::*;
}

/// The built-in rules.
pub static BUILT_IN: CompiledRules = CompiledRules {
    rules: generated::RULES,
    lowers: generated::LOWERS,
    raises: generated::RAISES,
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

    /// Why ONNX cannot express an overload, if so.
    pub fn unsupported(&self, name: &str) -> Option<&'static str> {
        let at = self.unsupported.binary_search_by(|row| row.0.cmp(name)).ok()?;
        self.unsupported.get(at).map(|row| row.1)
    }

    /// Whether the overload may be called with complex numbers, which an example must cover.
    pub fn takes_complex(&self, name: &str) -> bool {
        self.complex.binary_search(&name).is_ok()
    }

    /// The branch with this number.
    pub fn arm(&self, number: u32) -> Option<&'static Arm> {
        self.arms.get(number.checked_sub(self.first_arm)? as usize)
    }
}

/// The function of an operator at an opset in a sorted table.
fn function_of(table: &[(&str, u32, LowerFn)], op: &str, opset: u32) -> Option<LowerFn> {
    let at = table.binary_search_by(|row| (row.0, row.1).cmp(&(op, opset))).ok()?;
    table.get(at).map(|row| row.2)
}

impl Lowerings for &'static CompiledRules {
    fn has(&self, op: &str, before: u32) -> bool {
        function_of(self.lowers, op, before).is_some()
    }

    fn has_raise(&self, op: &str, from: u32) -> bool {
        function_of(self.raises, op, from).is_some()
    }

    fn is_same(&self, op: &str, to: u32) -> bool {
        self.sames.binary_search(&(op, to)).is_ok()
    }

    fn call(&self, before: u32, cx: &mut Builder, call: &Call) -> Result<Vec<Value>> {
        match function_of(self.lowers, call.op, before) {
            Some(lower) => lower(cx, call),
            None => Err(cx.fault(format!("there is no `lower {} before {before}`", call.op))),
        }
    }

    fn raise(&self, from: u32, cx: &mut Builder, call: &Call) -> Result<Vec<Value>> {
        match function_of(self.raises, call.op, from) {
            Some(raise) => raise(cx, call),
            None => Err(cx.fault(format!("there is no `raise {} from {from}`", call.op))),
        }
    }
}
