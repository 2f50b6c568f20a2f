//! Tables of lowerings and upward rules, which the builder is given.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::build::{Args, Builder, NodeCall};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Value;
use aten2onnx_onnx::schema::pattern::Fusion;
use aten2onnx_onnx::schema::plan::Difference;
use aten2onnx_onnx::schema::{Change, Version};
use aten2onnx_onnx::targets::Avoid;

/// In place of the N of `before N`: a `lower OP avoided`.
pub const AVOIDED: u32 = u32::MAX;

/// A generated `lower` or `raise`. Returns the outputs in the order of the schema, possibly fewer.
pub type LowerFn = fn(&mut Builder, &NodeCall) -> Result<Vec<Value>>;

/// A table of lowerings and upward rules.
pub trait Lowerings: fmt::Debug + Send + Sync {
    /// Whether there is a `lower OP before N`, or with [`AVOIDED`] a `lower OP avoided`.
    fn has(&self, op: &str, before: u32) -> bool;

    /// Whether there is a `same OP .. as N`.
    fn is_same(&self, op: &str, to: u32) -> bool;

    /// Runs the lowering of a call's operator. Returns the outputs in the order of the schema, possibly fewer.
    fn call(&self, before: u32, cx: &mut Builder, call: &NodeCall) -> Result<Vec<Value>>;

    /// Whether there is a `raise OP from N`.
    fn has_raise(&self, op: &str, from: u32) -> bool;

    /// Runs the upward rule of a call's operator. Returns the outputs in the order of the schema, possibly fewer.
    fn raise(&self, from: u32, cx: &mut Builder, call: &NodeCall) -> Result<Vec<Value>>;

    /// What its `fuse` rules look for.
    fn fusions(&self) -> &[Fusion] {
        &[]
    }

    /// The replacement by a `fuse` rule: `fuse::quotient`.
    ///
    /// # Errors
    /// There is no such rule, or it refuses.
    fn fuse(&self, rule: &str, cx: &mut Builder, args: &Args) -> Result<Value>;
}

/// The tables of a builder.
#[derive(Default)]
pub(crate) struct LoweringTables {
    /// The lowerings compiled into the program.
    build: Option<Arc<dyn Lowerings>>,
    /// Lowerings that take precedence; the last one added is tried first.
    overrides: Vec<Arc<dyn Lowerings>>,
    /// The nesting depth of running lowerings and upward rules.
    pub(crate) depth: u32,
    /// The operators whose `lower OP avoided` is running.
    pub(crate) replacing: Vec<&'static str>,
    /// Whether calls that the runtime should not be given are refused instead of replaced.
    pub(crate) refuses: bool,
    /// What was replaced because of the runtime, and how often.
    pub(crate) replaced: BTreeMap<String, usize>,
    /// Nodes by their outputs, with forms of which a note tells.
    pub(crate) warned: Vec<(Vec<Value>, &'static Avoid)>,
}

/// The lowering found for a call.
#[derive(Clone)]
pub(crate) enum Lowering {
    /// A function that the caller provided.
    Function(LowerFn),
    /// One from a table.
    Table(Arc<dyn Lowerings>),
}

impl Lowering {
    pub(crate) fn call(&self, before: u32, cx: &mut Builder, call: &NodeCall) -> Result<Vec<Value>> {
        match self {
            Lowering::Function(lower) => lower(cx, call),
            Lowering::Table(lowerings) => lowerings.call(before, cx, call),
        }
    }
}

impl Builder {
    /// Sets the compiled lowerings.
    pub fn set_lowerings(&mut self, lowerings: Arc<dyn Lowerings>) {
        self.lowerings.build = Some(lowerings);
    }

    /// Adds lowerings that take precedence over all earlier ones.
    pub fn override_lowerings(&mut self, lowerings: Arc<dyn Lowerings>) {
        self.lowerings.overrides.push(lowerings);
    }

    /// All tables, those that take precedence first.
    pub(crate) fn rule_tables(&self) -> impl Iterator<Item = &Arc<dyn Lowerings>> {
        self.lowerings.overrides.iter().rev().chain(&self.lowerings.build)
    }

    /// The replacement by a `fuse` rule, if it does not refuse, and the opset and the runtime have its operators.
    pub(crate) fn fused(&mut self, table: &dyn Lowerings, rule: &str, args: &Args) -> Option<Value> {
        let before = std::mem::replace(&mut self.lowerings.refuses, true);
        let value = table.fuse(rule, self, args);
        self.lowerings.refuses = before;
        value.ok()
    }

    /// The lowering for a version that is too new; `provided` is the compiled one, if the caller has it.
    pub(crate) fn lower_of(&self, op: &str, version: &'static Version, provided: Option<LowerFn>) -> Option<Lowering> {
        self.lower_at(op, version.since, provided)
    }

    /// The `lower OP before N`, or with [`AVOIDED`] the `lower OP avoided`.
    pub(crate) fn lower_at(&self, op: &str, before: u32, provided: Option<LowerFn>) -> Option<Lowering> {
        let has = |l: &&Arc<dyn Lowerings>| l.has(op, before);
        let of = |l: &Arc<dyn Lowerings>| Lowering::Table(l.clone());
        let overriding = self.lowerings.overrides.iter().rev().find(has).map(of);
        overriding
            .or_else(|| provided.map(Lowering::Function))
            .or_else(|| self.lowerings.build.as_ref().filter(has).map(of))
    }

    /// The table with the upward rule to a version.
    pub(crate) fn raise_of(&self, op: &str, version: &'static Version) -> Option<Arc<dyn Lowerings>> {
        self.rule_tables().find(|l| l.has_raise(op, version.since)).cloned()
    }

    /// How a version differs from the previous one.
    pub(crate) fn difference(&self, op: &str, version: &'static Version) -> Difference {
        match self.lowerings.build.iter().chain(&self.lowerings.overrides).any(|l| l.is_same(op, version.since)) {
            true => Difference::Same,
            false => match version.change {
                Change::Appeared => Difference::Appeared,
                Change::Shape => Difference::Changed,
                Change::Types => Difference::Types,
            },
        }
    }
}
