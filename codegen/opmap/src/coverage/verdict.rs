//! What walking a rule has found: the status at each opset, with the reasons of refusals.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Frame;
use super::opsets::Opsets;
use crate::tree::Map;

/// How far an opset supports a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Every path works.
    Full,
    /// Some paths are refused.
    Partial(Reasons),
    /// Every path is refused, for these reasons.
    No(Vec<String>),
}

/// Why some paths of a rule are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Newer opsets do not refuse them.
    pub by_opset: Vec<String>,
    /// No opset takes them: the reasons, with the conditions.
    pub by_arguments: Vec<String>,
}

impl Reasons {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.by_opset.iter().chain(&self.by_arguments).map(String::as_str)
    }
}

/// The support matrix: for each `map`, by overload, the status at each opset, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// Oldest opset.
    pub oldest: u32,
    /// Newest opset.
    pub newest: u32,
    /// Sorted by overload.
    pub rows: BTreeMap<String, Vec<Status>>,
}

/// Why a path is refused at some opsets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Refusal {
    /// The first opset that needs no refusal.
    pub since: u32,
    /// The text of the error.
    pub reason: Rc<str>,
}

/// Why a path ends whatever the opset is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Failure {
    /// The text of the error.
    pub reason: Rc<str>,
    /// When: the conditions of the branches around it.
    pub condition: Option<Rc<str>>,
    /// Whether an operator has no such dtype: the matrix by dtype tells of that.
    pub is_of_dtype: bool,
}

impl Failure {
    /// ``never 0 (if `n == 0`)``
    pub(super) fn text(&self) -> String {
        match &self.condition {
            Some(condition) => format!("{} (if `{condition}`)", self.reason),
            None => self.reason.to_string(),
        }
    }
}

/// The result of walking a rule: what is refused at which opsets, and the opsets at which some path works.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Why paths are refused, and where.
    pub refusals: BTreeMap<Refusal, Opsets>,
    /// Why calls fail whatever the opset is, and where.
    pub fails: BTreeMap<Failure, Opsets>,
    /// The opsets at which some path works.
    pub works: Opsets,
    /// The opsets at which some call is lowered or cast.
    pub lowered: Opsets,
}

impl Verdict {
    pub(super) fn of(frame: Frame, works: Opsets) -> Verdict {
        Verdict { refusals: frame.refusals, fails: frame.fails, works, lowered: frame.lowered }
    }

    /// The status at an opset.
    pub fn status(&self, opset: u32) -> Status {
        let refusals = self.refusals.iter().filter(|(_, at)| at.has(opset)).map(|(refusal, _)| &*refusal.reason);
        let refusals: BTreeSet<&str> = refusals.collect();
        let fails = self.fails.iter().filter(|(_, at)| at.has(opset)).map(|(failure, _)| failure);
        if self.works.has(opset) {
            let fails: BTreeSet<String> = fails.filter(|failure| !failure.is_of_dtype).map(Failure::text).collect();
            let by_opset: Vec<String> = refusals.into_iter().map(str::to_owned).collect();
            let reasons = Reasons { by_opset, by_arguments: fails.into_iter().collect() };
            return if reasons == Reasons::default() { Status::Full } else { Status::Partial(reasons) };
        }
        let all: BTreeSet<&str> = fails.map(|failure| &*failure.reason).chain(refusals).collect();
        if all.is_empty() { Status::Full } else { Status::No(all.into_iter().map(str::to_owned).collect()) }
    }
}

impl Verdict {
    /// Why calls are refused, and at which opsets.
    pub fn reasons(&self) -> Vec<(Opsets, String)> {
        let refusals = self.refusals.iter().map(|(refusal, at)| (*at, refusal.reason.to_string()));
        let fails = self.fails.iter().map(|(failure, at)| match failure.is_of_dtype {
            true => (at.without(self.works), failure.reason.to_string()),
            false => (*at, failure.text()),
        });
        refusals.chain(fails).filter(|(at, _)| !at.is_empty()).collect()
    }
}

impl Verdict {
    /// The verdict with the `since` of a rule's header.
    pub(super) fn with_since(self, map: &Map, all: Opsets) -> Verdict {
        let Some((since, reason)) = &map.since else { return self };
        let below = all.below(*since);
        let mut verdict = self.without(below);
        verdict.refusals.insert(Refusal { since: *since, reason: reason.as_str().into() }, below);
        verdict
    }

    fn without(self, opsets: Opsets) -> Verdict {
        let left = self.refusals.into_iter().map(|(refusal, at)| (refusal, at.without(opsets)));
        Verdict {
            refusals: left.filter(|(_, at)| !at.is_empty()).collect(),
            fails: self.fails.into_iter().map(|(reason, at)| (reason, at.without(opsets))).collect(),
            works: self.works.without(opsets),
            lowered: self.lowered.without(opsets),
        }
    }
}
