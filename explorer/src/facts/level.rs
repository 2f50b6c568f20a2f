//! How opsets support an overload: by dtype, and for overviews.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::{Status, Verdict, by_dtype};

use super::Facts;

/// How far an opset supports something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As the rule is written.
    Native,
    /// By other operators.
    Lowered,
    /// Some calls are refused.
    Partial,
    /// All calls are refused.
    Refused,
    /// The opset lacks the dtype.
    Absent,
}

impl Level {
    /// All that pages explain.
    pub const ALL: [Level; 4] = [Level::Native, Level::Lowered, Level::Partial, Level::Refused];

    /// Its class in the style sheet and its letter in the search index.
    pub fn letter(self) -> char {
        match self {
            Level::Native => 'n',
            Level::Lowered => 'l',
            Level::Partial => 'p',
            Level::Refused => 'x',
            Level::Absent => 'a',
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Level::Native => "native",
            Level::Lowered => "lowered",
            Level::Partial => "partly",
            Level::Refused => "refused",
            Level::Absent => "no such dtype",
        }
    }

    /// The sign in tables, so that colour is not all that tells.
    pub fn sign(self) -> &'static str {
        match self {
            Level::Native => "✓",
            Level::Lowered => "↓",
            Level::Partial => "◐",
            Level::Refused => "✕",
            Level::Absent => "",
        }
    }
}

impl From<by_dtype::Level> for Level {
    fn from(level: by_dtype::Level) -> Level {
        match level {
            by_dtype::Level::Native => Level::Native,
            by_dtype::Level::Lowered => Level::Lowered,
            by_dtype::Level::Partial => Level::Partial,
            by_dtype::Level::Refused => Level::Refused,
            by_dtype::Level::Absent => Level::Absent,
        }
    }
}

/// How the opsets support an overload for one dtype of its first tensor.
#[derive(Debug, Clone)]
pub struct OfDtype {
    /// PyTorch's name; empty for an overload without tensors.
    pub dtype: &'static str,
    /// The level at each opset.
    pub levels: Vec<Level>,
    /// Why calls are refused, with the opsets.
    pub refusals: Vec<(BTreeSet<u32>, String)>,
}

/// The proof, by overload.
pub fn by_dtype(checked: &Checked, opsets: &[u32]) -> BTreeMap<String, Vec<OfDtype>> {
    let all = by_dtype::by_dtype(&checked.program, &checked.schemas);
    all.iter().map(|(name, rule)| (name.clone(), rows(rule, opsets))).collect()
}

/// The same for one overload. None if there is no rule for it.
pub fn levels_by_dtype(checked: &Checked, name: &str, opsets: &[u32]) -> Option<Vec<OfDtype>> {
    let found = by_dtype::by_dtype_of(&checked.program, &checked.schemas, &|own| own == name);
    found.get(name).map(|rule| rows(rule, opsets))
}

fn rows(rule: &by_dtype::ByDtype, opsets: &[u32]) -> Vec<OfDtype> {
    let row = |(dtype, verdict): &(&'static str, Verdict)| OfDtype {
        dtype,
        levels: opsets.iter().map(|opset| rule.level(dtype, *opset).into()).collect(),
        refusals: verdict.reasons().into_iter().map(|(at, why)| (at.iter().collect(), why)).collect(),
    };
    rule.rows.iter().map(row).collect()
}

/// The dtype that stands for an overload in overviews: the first of these that it takes, or else its first.
const USUAL: [&str; 4] = ["float32", "complex64", "int64", "bool"];

/// The level at each opset for the usual dtype; partly or refused if the opset refuses calls with any dtype.
pub fn levels(facts: &Facts, overload: &str) -> Vec<Level> {
    let Some(statuses) = facts.checked().matrix.rows.get(overload) else { return Vec::new() };
    let rows = facts.by_dtype.get(overload).map_or(&[][..], Vec::as_slice);
    let usual = USUAL.into_iter().find_map(|usual| rows.iter().find(|row| row.dtype == usual)).or_else(|| rows.first());
    let of = |(index, status): (usize, &Status)| match status {
        Status::Full if usual.and_then(|row| row.levels.get(index)) == Some(&Level::Native) => Level::Native,
        Status::Full => Level::Lowered,
        Status::Partial(_) => Level::Partial,
        Status::No(_) => Level::Refused,
    };
    statuses.iter().enumerate().map(of).collect()
}
