//! The level that each rule reached, with the digest of the graphs that it was of: the file that docs/operators.md shows.

use std::collections::BTreeMap;
use std::path::Path;

use aten2onnx_core::error::{Error, Result};
use serde::{Deserialize, Serialize};

use super::report::{Row, replace};
use super::uniform::Uniform;

/// The share of all rules whose level may be of other graphs than they emit now.
pub const MOST_STALE: f64 = 0.05;

/// How far rules are verified, by overload or operator.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Levels(BTreeMap<String, Reached>);

/// How far a rule is verified.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Reached {
    typed: usize,
    /// At the opset with the fewest.
    sampled: usize,
    /// 0 if the rule does more than moving data.
    exact: usize,
    /// Calls that are wrong.
    wrong: usize,
    uniform: Uniform,
    /// The digest of its graphs; none of a row of an earlier release.
    #[serde(default)]
    graphs: String,
}

impl Levels {
    /// Reads the file; no level if there is none.
    ///
    /// # Errors
    /// It is no such file.
    pub fn read(path: &Path) -> Result<Levels> {
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(Levels::default()) };
        serde_json::from_str(&text).map_err(|error| {
            Error::input(format!("no levels of `verify`: {error}"))
                .at(path.display().to_string())
                .help("name another file, or remove this one")
        })
    }

    /// Whether the level of a rule is of graphs with this digest.
    pub fn is_of(&self, name: &str, digest: &str) -> bool {
        self.0.get(name).is_some_and(|reached| reached.graphs == digest)
    }

    /// Whether a rule had no fault, with graphs of this digest.
    pub fn is_right_of(&self, name: &str, digest: &str) -> bool {
        self.is_of(name, digest) && self.0.get(name).is_some_and(|reached| reached.wrong == 0)
    }

    /// Takes the levels of rules in the place of earlier ones.
    pub fn add<'r>(&mut self, rows: impl Iterator<Item = (&'r String, &'r Row)>) {
        self.0.extend(rows.map(|(name, row)| (name.clone(), reached(row))));
    }

    /// Leaves out what is none of these rules.
    pub fn keep(&mut self, names: &[String]) {
        self.0.retain(|name, _| names.contains(name));
    }

    /// Writes the file, a line for each rule, in one step.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let line = |(name, reached): (&String, &Reached)| Ok(format!("{}: {}", json(name)?, json(reached)?));
        let lines: Vec<String> = self.0.iter().map(line).collect::<Result<_>>()?;
        replace(path, &format!("{{\n{}\n}}\n", lines.join(",\n")))
    }
}

fn reached(row: &Row) -> Reached {
    let sampled = row.sampled.values().copied().min().unwrap_or(0);
    let exact = if row.moves { row.exact } else { 0 };
    let graphs = row.graphs.clone();
    Reached { typed: row.typed, sampled, exact, wrong: row.wrong(), uniform: row.uniform, graphs }
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal(error.to_string()))
}
