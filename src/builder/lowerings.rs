//! Where a lowering comes from: the tables of the build, or what was added to a builder, which comes first.

use std::fmt;
use std::sync::Arc;

use super::{Builder, Call};
use crate::error::Result;
use crate::graph::Value;
use crate::schema::{Change, LowerFn, Version};

/// Lowerings that are not of the build.
pub trait Lowerings: fmt::Debug + Send + Sync {
    /// Is there a `lower OP before N`?
    fn has(&self, op: &str, before: u32) -> bool;

    /// Is there a `same OP .. as N`?
    fn is_same(&self, op: &str, to: u32) -> bool;

    /// Runs the lowering of a call's operator: gives the outputs in the order of the schema, perhaps fewer.
    fn call(&self, before: u32, cx: &mut Builder, call: &Call) -> Result<Vec<Value>>;
}

/// A lowering that was found.
#[derive(Clone)]
pub(super) enum Lowering {
    Compiled(LowerFn),
    Added(Arc<dyn Lowerings>),
}

impl Lowering {
    pub(super) fn call(&self, before: u32, cx: &mut Builder, call: &Call) -> Result<Vec<Value>> {
        match self {
            Lowering::Compiled(lower) => lower(cx, call),
            Lowering::Added(lowerings) => lowerings.call(before, cx, call),
        }
    }
}

impl Builder {
    /// Adds lowerings, which take the place of those of the build.
    pub fn add_lowerings(&mut self, lowerings: Arc<dyn Lowerings>) {
        self.added.push(lowerings);
    }

    /// The rule for the operator where this version is too new.
    pub(super) fn lower_of(&self, op: &str, version: &'static Version) -> Option<Lowering> {
        self.lower_of_call(op, version, None)
    }

    /// The same for a call that may have the lowering of the build at hand.
    pub(super) fn lower_of_call(
        &self,
        op: &str,
        version: &'static Version,
        at_hand: Option<LowerFn>,
    ) -> Option<Lowering> {
        let added = self.added.iter().rev().find(|l| l.has(op, version.since));
        added.map(|l| Lowering::Added(l.clone())).or(at_hand.or(version.lower).map(Lowering::Compiled))
    }

    /// How a version differs from the one before.
    pub(super) fn change_of(&self, op: &str, version: &'static Version) -> Change {
        match self.added.iter().any(|l| l.is_same(op, version.since)) {
            true => Change::Same,
            false => version.change,
        }
    }
}
