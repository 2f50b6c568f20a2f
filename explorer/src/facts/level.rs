//! How an opset supports an overload, for overviews.

use aten2onnx_opmap::coverage::Status;
use aten2onnx_opmap::coverage::by_dtype;

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

/// The dtype that stands for an overload in overviews: the first of these that it takes, or else its first.
const USUAL: [&str; 4] = ["float32", "complex64", "int64", "bool"];

/// The level at each opset for the usual dtype; partly or refused if the opset refuses calls with any dtype.
pub fn levels(facts: &Facts, overload: &str) -> Vec<Level> {
    let Some(statuses) = facts.checked().matrix.rows.get(overload) else { return Vec::new() };
    let rule = facts.by_dtype.get(overload);
    let rows = || rule.into_iter().flat_map(|rule| rule.rows.iter().map(|row| row.0));
    let usual = USUAL.into_iter().find(|usual| rows().any(|dtype| dtype == *usual)).or_else(|| rows().next());
    let native = |opset: u32| {
        let level = rule.zip(usual).map(|(rule, dtype)| rule.level(dtype, opset));
        if level == Some(by_dtype::Level::Native) { Level::Native } else { Level::Lowered }
    };
    let of = |(opset, status): (u32, &Status)| match status {
        Status::Full => native(opset),
        Status::Partial(_) => Level::Partial,
        Status::No(_) => Level::Refused,
    };
    facts.opsets().into_iter().zip(statuses).map(of).collect()
}
