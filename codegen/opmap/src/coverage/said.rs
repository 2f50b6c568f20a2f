//! What the proof says of each call that a rule names: a test holds the calls of real exports against it.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Coverage;
use super::call::{AbstractCall, Given};
use super::misuse::requested;
use super::opsets::Opsets;
use super::values::{Abs, Ranks};
use crate::source::Span;
use crate::tree::Node;
use aten2onnx_schemas::dtypes::DtypeSet;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// A node in the version of this opset.
    Node(u32),
    /// What the lowering before this opset makes of it.
    Lowered(u32),
}

/// The tensors that may be at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensors {
    /// Their dtypes.
    pub dtypes: DtypeSet,
    /// Their ranks.
    pub ranks: Ranks,
}

/// What the proof says of all calls at a place of a rule.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// By position, up to a list of tensors.
    pub inputs: Vec<Option<Tensors>>,
    /// Those from a list of tensors on.
    pub rest: Option<Tensors>,
    /// The results; None if it says nothing of them.
    pub results: Vec<Option<Tensors>>,
    /// The bounds of the number of outputs that are requested.
    pub outputs: (i64, i64),
    /// What becomes of it, and where.
    pub fates: BTreeMap<Fate, Opsets>,
}

/// By the place of the call.
pub type AllSaid = HashMap<usize, Said>;

/// The place of a call: where it is written, and its operator. `a != b` are two at one place.
pub fn place_of(node: &Node, written: Span) -> usize {
    let mut hasher = DefaultHasher::new();
    (written.file.0, written.start, written.end, &node.op).hash(&mut hasher);
    hasher.finish() as usize
}

fn either(a: Option<Tensors>, b: Option<Tensors>) -> Option<Tensors> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Tensors { dtypes: a.dtypes.or(b.dtypes), ranks: a.ranks.or(b.ranks) }),
        (a, b) => a.or(b),
    }
}

fn tensors(value: &Abs) -> Option<Tensors> {
    value.tensor().map(|tensor| Tensors { dtypes: tensor.dtypes, ranks: tensor.ranks })
}

impl Said {
    /// Adds a call.
    fn add_call(&mut self, call: &AbstractCall<'_>, results: &Abs) {
        let list = call.inputs.iter().position(|given| matches!(given, Given::Spread(_)));
        let (single, rest) = call.inputs.split_at(list.unwrap_or(call.inputs.len()));
        for (i, given) in single.iter().enumerate() {
            let own = given.tensor().map(|tensor| Tensors { dtypes: tensor.dtypes, ranks: tensor.ranks });
            match self.inputs.get_mut(i) {
                Some(known) => *known = either(*known, own),
                None => self.inputs.push(own),
            }
        }
        for given in rest {
            let own = match given {
                Given::Spread(list) => tensors(&list.each),
                other => other.tensor().map(|tensor| Tensors { dtypes: tensor.dtypes, ranks: tensor.ranks }),
            };
            self.rest = either(self.rest, own);
        }
        let (low, high) = requested(call);
        self.outputs =
            if self.outputs == (0, 0) { (low, high) } else { (self.outputs.0.min(low), self.outputs.1.max(high)) };
        let results = match results {
            Abs::Tuple(parts) => parts.iter().map(tensors).collect(),
            Abs::Tensor(_) => vec![tensors(results)],
            _ => Vec::new(),
        };
        for (i, own) in results.into_iter().enumerate() {
            match self.results.get_mut(i) {
                Some(known) => *known = either(*known, own),
                None => self.results.push(own),
            }
        }
    }

    /// What it says of an input.
    pub fn input(&self, i: usize) -> Option<Tensors> {
        self.inputs.get(i).copied().flatten().or(self.rest)
    }

    /// Adds what is said of the same place elsewhere.
    pub fn merge(&mut self, other: &Said) {
        for (i, own) in other.inputs.iter().enumerate() {
            match self.inputs.get_mut(i) {
                Some(known) => *known = either(*known, *own),
                None => self.inputs.push(*own),
            }
        }
        for (i, own) in other.results.iter().enumerate() {
            match self.results.get_mut(i) {
                Some(known) => *known = either(*known, *own),
                None => self.results.push(*own),
            }
        }
        self.rest = either(self.rest, other.rest);
        self.outputs = (self.outputs.0.min(other.outputs.0), self.outputs.1.max(other.outputs.1));
        for (fate, at) in &other.fates {
            let all = self.fates.entry(*fate).or_default();
            *all = all.or(*at);
        }
    }
}

impl<'a> Coverage<'a> {
    /// Notes a call that a rule names.
    pub(super) fn say(&mut self, call: &AbstractCall<'a>, results: &Abs) {
        let Some(said) = self.said.as_mut() else { return };
        said.entry(call.place).or_default().add_call(call, results);
    }

    /// Notes what becomes of the call.
    pub(super) fn say_fate(&mut self, call: &AbstractCall<'a>, fate: Fate, at: Opsets) {
        let Some(said) = self.said.as_mut().filter(|_| call.place != 0 && !at.is_empty()) else { return };
        let all = said.entry(call.place).or_default().fates.entry(fate).or_default();
        *all = all.or(at);
    }
}
