//! Compiled rules: the tables that generated code fills in. The crate `aten2onnx` and crates with rules of their own have one each.

use std::sync::OnceLock;

use crate::arguments::parameters::{Param, call_args};
use crate::arguments::{RuleFn, replacement};
use crate::level::Support;
use aten2onnx_builder::{Args, Builder, LowerFn, Lowerings, NodeCall, Out};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::facts::MIN_OPSET;
use aten2onnx_onnx::graph::Value;
use aten2onnx_onnx::schema::pattern::Fusion;

/// The rules of mapping files that a build compiled (see `aten2onnx_build::build_mappings`).
#[derive(Debug)]
pub struct CompiledRules {
    /// Every `map`: overload, parameters, function. Sorted.
    pub maps: &'static [(&'static str, &'static [Param], RuleFn)],
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
    /// What the `fuse` rules look for.
    pub fusions: Fusions,
    /// Overloads that have rules elsewhere, but not in this exporter for one opset. Sorted.
    pub left_out: Words,
    /// A line for each `map`: where it is, a letter for each opset (`F` full, `P` partial, `N` none), reasons. Tabs between.
    pub facts: Lines,
    /// A line for each branch of each rule: the rule, the condition or pattern, where it is, `refuses` if it always does. Tabs between.
    pub arms: Lines,
    /// The number of the first branch.
    pub first_arm: u32,
}

/// What `fuse` rules look for, as JSON.
#[derive(Debug)]
pub struct Fusions {
    text: &'static str,
    read: OnceLock<Vec<Fusion>>,
}

impl Fusions {
    /// The patterns of a text, which the build has written.
    pub const fn of(text: &'static str) -> Fusions {
        Fusions { text, read: OnceLock::new() }
    }

    fn all(&self) -> &[Fusion] {
        self.read.get_or_init(|| serde_json::from_str(self.text).unwrap_or_default())
    }
}

/// A text whose lines are found by number.
#[derive(Debug)]
pub struct Lines {
    text: &'static str,
    lines: OnceLock<Vec<&'static str>>,
}

impl Lines {
    /// The lines of a text.
    pub const fn of(text: &'static str) -> Lines {
        Lines { text, lines: OnceLock::new() }
    }

    fn get(&self, number: usize) -> Option<&'static str> {
        self.all().get(number).copied()
    }

    fn all(&self) -> &[&'static str] {
        self.lines.get_or_init(|| self.text.lines().collect())
    }
}

/// A text of words.
#[derive(Debug)]
pub struct Words {
    text: &'static str,
    words: OnceLock<Vec<&'static str>>,
}

impl Words {
    /// The words of a text, which are sorted.
    pub const fn of(text: &'static str) -> Words {
        Words { text, words: OnceLock::new() }
    }

    fn has(&self, word: &str) -> bool {
        self.words.get_or_init(|| self.text.split_whitespace().collect()).binary_search(&word).is_ok()
    }
}

/// Why a rule that was left out cannot be used.
pub const LEFT_OUT: &str = "it is not part of this exporter";

/// A compiled `map`.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The overload: `aten::elu`, `aten::add.Tensor`.
    pub name: &'static str,
    /// What a call passes.
    pub params: &'static [Param],
    function: RuleFn,
    facts: &'static str,
}

/// A branch of a rule.
#[derive(Debug, Clone, Copy)]
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
    /// `mappings/aten/activation.opmap:4`
    pub fn location(&self) -> &'static str {
        self.facts.split('\t').next().unwrap_or_default()
    }

    /// The support at an opset.
    pub fn support(&self, opset: u32) -> Support {
        let levels = self.facts.split('\t').nth(1).unwrap_or_default();
        let letter = opset.checked_sub(MIN_OPSET).and_then(|i| levels.as_bytes().get(i as usize));
        match letter {
            Some(b'F') => Support::Full,
            Some(b'P') => Support::Partial,
            _ => Support::No,
        }
    }

    /// Why it is not supported everywhere, for all opsets.
    pub fn reasons(&self) -> Vec<&'static str> {
        self.facts.split('\t').skip(2).collect()
    }

    /// Converts the arguments and calls the rule.
    ///
    /// # Errors
    /// An argument of another type, or the refusal of the rule.
    pub fn call(&self, cx: &mut Builder, args: &Args) -> Result<Vec<Out>> {
        let mut args = call_args(cx, self.params, args)?;
        (self.function)(cx, &mut args)
    }
}

impl CompiledRules {
    /// All `map`s, sorted by overload.
    pub fn rules(&self) -> impl Iterator<Item = Rule> {
        (0..self.maps.len()).filter_map(|at| self.rule(at))
    }

    /// The rule of exactly this overload.
    pub fn find(&self, name: &str) -> Option<Rule> {
        self.rule(self.maps.binary_search_by(|row| row.0.cmp(name)).ok()?)
    }

    fn rule(&self, at: usize) -> Option<Rule> {
        let &(name, params, function) = self.maps.get(at)?;
        Some(Rule { name, params, function, facts: self.facts.get(at)? })
    }

    /// Why an overload cannot be exported, if that is known.
    pub fn unsupported(&self, name: &str) -> Option<&'static str> {
        if self.left_out.has(name) {
            return Some(LEFT_OUT);
        }
        let at = self.unsupported.binary_search_by(|row| row.0.cmp(name)).ok()?;
        self.unsupported.get(at).map(|row| row.1)
    }

    /// Whether the overload may be called with complex numbers, which an example must cover.
    pub fn takes_complex(&self, name: &str) -> bool {
        self.complex.binary_search(&name).is_ok()
    }

    /// Every branch of every rule, with its number.
    pub fn arms(&self) -> impl Iterator<Item = (u32, Arm)> {
        self.arms.all().iter().zip(self.first_arm..).map(|(line, number)| (number, arm_of(line)))
    }

    /// The branch with this number.
    pub fn arm(&self, number: u32) -> Option<Arm> {
        self.arms.get(number.checked_sub(self.first_arm)? as usize).map(arm_of)
    }
}

fn arm_of(line: &'static str) -> Arm {
    let mut parts = line.split('\t');
    let mut next = || parts.next().unwrap_or_default();
    Arm { rule: next(), text: next(), location: next(), refuses: next() == "refuses" }
}

/// Imports of the generated tables.
pub mod imports {
    pub use super::{CompiledRules, Fusions, Lines, Words};
    pub use crate::arguments::parameters::{Default, Kind, Param, Shape, given, omitted, sized};
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

    fn call(&self, before: u32, cx: &mut Builder, call: &NodeCall) -> Result<Vec<Value>> {
        match function_of(self.lowers, call.op, before) {
            Some(lower) => lower(cx, call),
            None => Err(cx.fault(format!("there is no `lower {} before {before}`", call.op))),
        }
    }

    fn raise(&self, from: u32, cx: &mut Builder, call: &NodeCall) -> Result<Vec<Value>> {
        match function_of(self.raises, call.op, from) {
            Some(raise) => raise(cx, call),
            None => Err(cx.fault(format!("there is no `raise {} from {from}`", call.op))),
        }
    }

    fn fusions(&self) -> &[Fusion] {
        self.fusions.all()
    }

    fn fuse(&self, rule: &str, cx: &mut Builder, args: &Args) -> Result<Value> {
        let outs = self.find(rule).map(|found| found.call(cx, args)).transpose()?;
        replacement(cx, rule, outs.as_deref())
    }
}
