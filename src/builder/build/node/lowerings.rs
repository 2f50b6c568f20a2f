//! Where lowerings come from: tables that are given to the builder. It knows none by itself.

use std::fmt;
use std::sync::Arc;

use crate::build::{Builder, Call};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Value;
use aten2onnx_onnx::schema::{Change, Version};

/// A lowering as generated: it gives the outputs in the order of the schema, perhaps fewer.
pub type LowerFn = fn(&mut Builder, &Call) -> Result<Vec<Value>>;

/// A table of lowerings.
pub trait Lowerings: fmt::Debug + Send + Sync {
    /// Is there a `lower OP before N`?
    fn has(&self, op: &str, before: u32) -> bool;

    /// Is there a `same OP .. as N`?
    fn is_same(&self, op: &str, to: u32) -> bool;

    /// Runs the lowering of a call's operator: gives the outputs in the order of the schema, perhaps fewer.
    fn call(&self, before: u32, cx: &mut Builder, call: &Call) -> Result<Vec<Value>>;
}

/// The tables of a builder.
#[derive(Default)]
pub(crate) struct LoweringTables {
    /// The lowerings of the build.
    build: Option<Arc<dyn Lowerings>>,
    /// Lowerings that take their place; the last added is asked first.
    overrides: Vec<Arc<dyn Lowerings>>,
    /// Lowerings that are running.
    pub(crate) depth: u32,
}

/// How a version differs from the one before, rules taken into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// As the schemas say.
    Schema(Change),
    /// They differ, but a `same` rule says that a call that both can say means the same.
    Same,
}

/// A lowering that was found.
#[derive(Clone)]
pub(crate) enum Lowering {
    /// The function is at hand.
    Function(LowerFn),
    /// One of a table.
    Table(Arc<dyn Lowerings>),
}

impl Lowering {
    pub(crate) fn call(&self, before: u32, cx: &mut Builder, call: &Call) -> Result<Vec<Value>> {
        match self {
            Lowering::Function(lower) => lower(cx, call),
            Lowering::Table(lowerings) => lowerings.call(before, cx, call),
        }
    }
}

impl Builder {
    /// Sets the lowerings of the build.
    pub fn set_lowerings(&mut self, lowerings: Arc<dyn Lowerings>) {
        self.lowerings.build = Some(lowerings);
    }

    /// Adds lowerings that take the place of those of the build and of those that were added before.
    pub fn override_lowerings(&mut self, lowerings: Arc<dyn Lowerings>) {
        self.lowerings.overrides.push(lowerings);
    }

    /// The rule for the operator where this version is too new; `at_hand` is the build's, where the caller has it.
    pub(crate) fn lower_of(&self, op: &str, version: &'static Version, at_hand: Option<LowerFn>) -> Option<Lowering> {
        let has = |l: &&Arc<dyn Lowerings>| l.has(op, version.since);
        let of = |l: &Arc<dyn Lowerings>| Lowering::Table(l.clone());
        let overriding = self.lowerings.overrides.iter().rev().find(has).map(of);
        overriding
            .or_else(|| at_hand.map(Lowering::Function))
            .or_else(|| self.lowerings.build.as_ref().filter(has).map(of))
    }

    /// How a version differs from the one before.
    pub(crate) fn difference(&self, op: &str, version: &'static Version) -> Difference {
        match self.lowerings.build.iter().chain(&self.lowerings.overrides).any(|l| l.is_same(op, version.since)) {
            true => Difference::Same,
            false => Difference::Schema(version.change),
        }
    }
}
