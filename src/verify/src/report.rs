//! What is known of each overload after a run: how many calls of which level, and what was wrong.

use std::collections::BTreeMap;
use std::path::Path;

use aten2onnx_core::error::{Error, Result};
use serde::{Deserialize, Serialize};

use super::check::{Fault, FaultKind};
use super::uniform::Uniform;

/// The share of all results that one entry of the table of differences may accept,
const MOST_ACCEPTED: f64 = 0.03;
/// where there are as many results as this.
const FEW_RESULTS: usize = 5000;

/// The results by overload.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Report {
    /// The seed of the run.
    pub seed: u64,
    /// By overload.
    pub rows: BTreeMap<String, Row>,
}

/// What is known of an overload.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Row {
    /// Different calls that PyTorch takes whose results have PyTorch's dtypes and shapes.
    pub typed: usize,
    /// Whether hardly any other call is left in the domain.
    pub exhausted: bool,
    /// By opset: calls whose values were compared.
    pub sampled: BTreeMap<u32, usize>,
    /// Calls that only move data, compared element by element with inputs whose elements all differ.
    pub exact: usize,
    /// Calls of a lowering in float64, compared with the operator to the level of rounding.
    #[serde(default)]
    pub double: usize,
    /// Whether its decisions depend on sizes and ranks.
    #[serde(default)]
    pub uniform: Uniform,
    /// Whether every sampled call only moves data.
    pub moves: bool,
    /// Calls that PyTorch refuses.
    pub invalid: usize,
    /// Calls that make PyTorch crash.
    pub crashed: usize,
    /// Calls that PyTorch takes and the rule refuses, by reason.
    pub refused: BTreeMap<String, usize>,
    /// Results that differ and are accepted, by the entry of the table of differences.
    #[serde(default)]
    pub accepted: BTreeMap<String, usize>,
    /// Models that were run, by what ran them: `runtime` is ONNX Runtime, `reference` onnx's reference evaluator.
    #[serde(default)]
    pub engines: BTreeMap<String, usize>,
    /// The branches of the rule that calls reached, and how many it has.
    pub arms: (usize, usize),
    /// What is wrong.
    pub faults: Vec<Found>,
    /// The digest of the graphs of its examples, as they were.
    #[serde(default)]
    pub graphs: String,
}

/// A fault with the smallest call that shows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// As a line of a mapping file.
    pub example: String,
    /// What is wrong.
    #[serde(flatten)]
    pub fault: Fault,
    /// How many calls were wrong in this way.
    pub calls: usize,
}

impl Row {
    /// The number of calls that were wrong.
    pub fn wrong(&self) -> usize {
        self.faults.iter().map(|found| found.calls).sum()
    }

    /// A line for a table.
    pub fn line(&self, name: &str) -> String {
        let sampled = self.sampled.values().copied().min().unwrap_or(0);
        let state = match (self.faults.is_empty(), self.typed) {
            (false, _) => "WRONG",
            // No call was made, or PyTorch refused them all.
            (true, 0) => "none ",
            (true, _) => "ok   ",
        };
        let mut parts = vec![format!("typed {}", self.typed), format!("sampled {sampled}")];
        if self.moves {
            parts.push(format!("exact {}", self.exact));
        }
        if self.double > 0 {
            parts.push(format!("to rounding {}", self.double));
        }
        if !self.uniform.text().is_empty() {
            parts.push(self.uniform.text().to_owned());
        }
        parts.push(format!("branches {}/{}", self.arms.0, self.arms.1));
        let refused: usize = self.refused.values().sum();
        if refused > 0 {
            parts.push(format!("refused {refused}"));
        }
        parts.extend(self.accepted.iter().map(|(entry, results)| format!("{entry} {results}")));
        parts.extend(self.engines.get("reference").map(|models| format!("by the reference evaluator {models}")));
        if !self.faults.is_empty() {
            parts.push(format!("wrong {}", self.wrong()));
        }
        format!("{state} {name}: {}", parts.join(", "))
    }

    /// The faults, each with its call.
    pub fn lines(&self) -> Vec<String> {
        let shown = |found: &Found| {
            let opset = if found.fault.opset > 0 { format!(" at opset {}", found.fault.opset) } else { String::new() };
            format!("    {}\n        {}{opset}: {}", found.example, kind(found.fault.kind), found.fault.what)
        };
        self.faults.iter().map(shown).collect()
    }
}

fn kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Panic => "panic",
        FaultKind::Internal => "internal error",
        FaultKind::Input => "refused as a wrong input",
        FaultKind::Refusal => "refused, against the matrix",
        FaultKind::Type => "wrong type",
        FaultKind::Value => "wrong value",
    }
}

impl Report {
    /// Reads the report of an earlier run; an empty one if there is no file, or if the seed was another one.
    ///
    /// # Errors
    /// The file is not a report.
    pub fn read(path: &Path, seed: u64) -> Result<Report> {
        let fresh = Report { seed, rows: BTreeMap::new() };
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(fresh) };
        let report: Report = serde_json::from_str(&text).map_err(|error| {
            Error::input(format!("no report of `verify`: {error}"))
                .at(path.display().to_string())
                .help("name another file, or remove this one")
        })?;
        Ok(if report.seed == seed { report } else { fresh })
    }

    /// The counters of all rows together.
    pub fn counters(&self) -> String {
        let sum = |of: &dyn Fn(&Row) -> usize| self.rows.values().map(of).sum::<usize>();
        let models = |engine: &str| sum(&|row: &Row| row.engines.get(engine).copied().unwrap_or(0));
        let mut text = format!(
            "typed {}, refused {}, invalid {}, crashed {}, wrong {}; models run by ONNX Runtime {}, by the reference evaluator {}\n",
            sum(&|row| row.typed),
            sum(&|row| row.refused.values().sum()),
            sum(&|row| row.invalid),
            sum(&|row| row.crashed),
            sum(&Row::wrong),
            models("runtime"),
            models("reference"),
        );
        let mut accepted: BTreeMap<&str, usize> = BTreeMap::new();
        for (entry, results) in self.rows.values().flat_map(|row| &row.accepted) {
            *accepted.entry(entry).or_default() += results;
        }
        accepted.iter().for_each(|(entry, results)| text.push_str(&format!("accepted by {entry}: {results}\n")));
        text
    }

    /// The entry of the table of differences that accepts too many of the results, with its share. Few results say nothing.
    pub fn overused(&self) -> Vec<(String, f64)> {
        let all: usize = self.rows.values().flat_map(|row| row.engines.values()).sum();
        let mut found: BTreeMap<&String, usize> = BTreeMap::new();
        for (entry, results) in self.rows.values().flat_map(|row| &row.accepted) {
            *found.entry(entry).or_default() += results;
        }
        #[allow(clippy::cast_precision_loss)] // counts of results
        let shares = found.into_iter().map(|(entry, results)| (entry.clone(), results as f64 / all.max(1) as f64));
        shares.filter(|(_, share)| all >= FEW_RESULTS && *share > MOST_ACCEPTED).collect()
    }

    /// Writes it, in one step.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::internal(error.to_string()))?;
        replace(path, &text)
    }
}

/// Writes a file in one step.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    let at = |error: std::io::Error| Error::from(error).at(path.display().to_string());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::NamedTempFile::new_in(folder).map_err(at)?;
    std::fs::write(file.path(), text).map_err(at)?;
    file.persist(path).map_err(|error| at(error.error))?;
    Ok(())
}
