//! The report of a run: a row for each mutant, and what they say together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aten2onnx_core::error::{Error, Result};
use serde::{Deserialize, Serialize};

use super::fate::{Fate, Row};
use super::kind::Kind;
use crate::report::replace;

/// The results by the name of the mutant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// A digest of the mapping files.
    pub rules: String,
    /// The seed of the run.
    pub seed: u64,
    /// The mutants that were begun and have no row, and how often: the process ended in one of them.
    pub begun: BTreeMap<String, u32>,
    /// By name.
    pub rows: BTreeMap<String, Row>,
}

impl Report {
    /// Reads the report of an earlier run on the same rules with the same seed; an empty one if there is none.
    ///
    /// # Errors
    /// The file is not a report.
    pub fn read(path: &Path, rules: &str, seed: u64) -> Result<Report> {
        let fresh = Report { rules: rules.to_owned(), seed, ..Report::default() };
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(fresh) };
        let report: Report = serde_json::from_str(&text).map_err(|error| {
            Error::input(format!("no report of `mutants`: {error}"))
                .at(path.display().to_string())
                .help("name another file, or remove this one")
        })?;
        Ok(if (report.rules.as_str(), report.seed) == (rules, seed) { report } else { fresh })
    }

    /// Writes it, in one step.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::internal(error.to_string()))?;
        replace(path, &text)
    }

    /// How many mutants have a fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.rows.values().filter(|row| row.fate == fate).count()
    }

    /// Of the mutants that are ill-typed by what runs them, or refused by `check`, the share that `check` refuses.
    pub fn share_of_check(&self) -> f64 {
        let (check, missed) = (self.count(Fate::Check), self.missed().count());
        share(check, check + missed)
    }

    /// Of the mutants that are not equivalent, the share that something found.
    pub fn share_of_killed(&self) -> f64 {
        let killed: usize =
            [Fate::Check, Fate::Matrix, Fate::Examples, Fate::Verify].into_iter().map(|fate| self.count(fate)).sum();
        share(killed, killed + self.count(Fate::Survived))
    }

    /// Ill-typed mutants that `check` accepts.
    pub fn missed(&self) -> impl Iterator<Item = (&String, &Row)> {
        self.rows.iter().filter(|(_, row)| row.ill_typed && row.fate != Fate::Check)
    }

    /// A table by kind, the shares, and the mutants that need a look.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<20} {:>6} {:>6} {:>8} {:>6} {:>10} {:>9} {:>8}\n",
            "kind", "check", "matrix", "examples", "verify", "equivalent", "explained", "survived"
        );
        let kinds: BTreeSet<Kind> = self.rows.values().map(|row| row.kind).collect();
        for kind in kinds {
            let of = |fate: Fate| self.rows.values().filter(|row| row.kind == kind && row.fate == fate).count();
            text.push_str(&line(&kind.to_string(), &of));
        }
        text.push_str(&line("all", &|fate| self.count(fate)));
        for (name, row) in self.missed() {
            text.push_str(&format!("not refused by check: {}: {name}\n    {:?}: {}\n", row.place, row.fate, row.how));
        }
        for (name, row) in self.rows.iter().filter(|(_, row)| row.fate == Fate::Survived) {
            text.push_str(&format!("survived: {}: {name}\n    {}\n", row.place, row.how));
        }
        let (check, killed) = (self.share_of_check() * 100.0, self.share_of_killed() * 100.0);
        text.push_str(&format!(
            "{} mutants; of those with wrong types, attributes, numbers of values, opsets or refusals `check` refuses {check:.2} %; of those that are not equivalent {killed:.2} % are found\n",
            self.rows.len()
        ));
        text
    }
}

fn line(name: &str, of: &dyn Fn(Fate) -> usize) -> String {
    let counts = [
        of(Fate::Check),
        of(Fate::Matrix),
        of(Fate::Examples),
        of(Fate::Verify),
        of(Fate::Equivalent),
        of(Fate::Explained),
        of(Fate::Survived),
    ];
    let [check, matrix, examples, verify, equivalent, explained, survived] = counts;
    format!(
        "{name:<20} {check:>6} {matrix:>6} {examples:>8} {verify:>6} {equivalent:>10} {explained:>9} {survived:>8}\n"
    )
}

#[allow(clippy::cast_precision_loss)] // counts of mutants
fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}
