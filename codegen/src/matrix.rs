//! The support matrix: every overload at every opset, as Markdown, JSON and HTML. `coverage` computes it.

mod groups;
mod html;
mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Map, Value, json};

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::by_dtype::{self, by_dtype};
use aten2onnx_opmap::coverage::{Status, ranges};
use groups::Group;

/// The content of the matrix.
#[derive(Debug)]
pub struct Table {
    /// All opsets, oldest first.
    opsets: Vec<u32>,
    /// Sorted by overload.
    rows: Vec<Row>,
    /// Overloads that ONNX cannot express, and why, sorted.
    unsupported: Vec<(String, String)>,
}

/// An overload.
#[derive(Debug)]
struct Row {
    name: String,
    /// `mappings/aten/activation.opmap:4`
    location: String,
    /// The dtypes of its examples.
    dtypes: BTreeSet<String>,
    /// The level at each opset.
    levels: Vec<Level>,
    /// Reasons for refusals, with their opsets.
    reasons: Vec<(String, BTreeSet<u32>)>,
    /// The levels by dtype, the largest group first.
    groups: Vec<Group>,
    /// How far `verify` checked it: `exact 1000/100`.
    verified: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Full,
    Partial,
    None,
}

impl Level {
    const ALL: [Level; 3] = [Level::Full, Level::Partial, Level::None];

    fn name(self) -> &'static str {
        match self {
            Level::Full => "full",
            Level::Partial => "partial",
            Level::None => "none",
        }
    }
}

impl Row {
    fn new(name: &str, location: String, opsets: &[u32], statuses: &[Status]) -> Row {
        let mut row = Row {
            name: name.to_owned(),
            location,
            dtypes: BTreeSet::new(),
            levels: Vec::new(),
            reasons: Vec::new(),
            groups: Vec::new(),
            verified: String::new(),
        };
        for (opset, status) in opsets.iter().zip(statuses) {
            let (level, reasons) = match status {
                Status::Full => (Level::Full, Vec::new()),
                Status::Partial(reasons) => (Level::Partial, reasons.iter().collect()),
                Status::No(reasons) => (Level::None, reasons.iter().map(String::as_str).collect()),
            };
            row.levels.push(level);
            for reason in reasons {
                match row.reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, opsets)) => drop(opsets.insert(*opset)),
                    None => row.reasons.push((reason.to_owned(), [*opset].into())),
                }
            }
        }
        row
    }

    /// The opsets of one level: `9 to 12, 15`.
    fn opsets_of(&self, level: Level, opsets: &[u32]) -> String {
        ranges(&opsets.iter().zip(&self.levels).filter(|(_, l)| **l == level).map(|(opset, _)| *opset).collect())
    }
}

/// The level of a rule, its calls at level typed, those of which values were compared at each opset, and the digest of its graphs.
fn verified(reached: &Value) -> String {
    let count = |name: &str| reached.get(name).and_then(Value::as_u64).unwrap_or(0);
    let uniform = |name: &str| reached.get("uniform").and_then(|uniform| uniform.get(name)).and_then(Value::as_bool);
    let level = match (count("wrong"), count("exact"), count("sampled")) {
        (1.., _, _) => return "faults".to_owned(),
        (_, 1.., _) => "exact",
        (_, _, 1..) => "sampled",
        _ => "typed",
    };
    let marks = [("size", "s"), ("rank", "r")].map(|(name, mark)| if uniform(name) == Some(true) { mark } else { "" });
    let graphs = reached.get("graphs").and_then(Value::as_str).unwrap_or_default();
    let calls = format!("{level} {}/{}", count("typed"), count("sampled"));
    let marks = marks.concat();
    [calls.as_str(), &marks, graphs].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

impl Table {
    /// The matrix of rules without errors.
    pub fn new(checked: &Checked) -> Table {
        let matrix = &checked.matrix;
        let opsets: Vec<u32> = (matrix.oldest..=matrix.newest).collect();
        let maps = checked.program.operator_maps();
        let mut proven = page::tested_dtypes(checked);
        let verdicts = by_dtype(&checked.program, &checked.schemas);
        let rows = maps.filter_map(|map| {
            let function = &map.function;
            let statuses = matrix.rows.get(&function.name)?;
            let line = checked.sources.line(function.span);
            let location = format!("{}:{line}", checked.sources.file(function.span.file).path);
            let dtypes = proven.remove(&function.name).unwrap_or_default();
            let groups = verdicts.get(&function.name).map(|rule| groups::groups(rule, &opsets)).unwrap_or_default();
            Some(Row { dtypes, groups, ..Row::new(&function.name, location, &opsets, statuses) })
        });
        let unsupported = checked.program.unsupported.iter().map(|u| (u.name.clone(), u.reason.clone()));
        Table { rows: rows.collect(), unsupported: unsupported.collect(), opsets }
    }

    /// Adds how far rules are verified: the JSON that `aten2onnx verify --levels` writes.
    ///
    /// # Errors
    /// It is not such JSON.
    pub fn add_verified(&mut self, levels: &str) -> serde_json::Result<()> {
        let levels: BTreeMap<String, Value> = serde_json::from_str(levels)?;
        for row in &mut self.rows {
            row.verified = levels.get(&row.name).map(verified).unwrap_or_default();
        }
        Ok(())
    }

    /// The number of overloads with a level at the opset of this index.
    fn count(&self, index: usize, level: Level) -> usize {
        self.rows.iter().filter(|row| row.levels.get(index) == Some(&level)).count()
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Support of PyTorch's operators\n\n{} overloads have a rule, {} cannot be expressed in ONNX.\n\n",
            self.rows.len(),
            self.unsupported.len()
        );
        text.push_str("| opset | full | partial | none |\n|---|---|---|---|\n");
        for (index, opset) in self.opsets.iter().enumerate() {
            let counts = Level::ALL.map(|level| self.count(index, level).to_string()).join(" | ");
            let _ = writeln!(text, "| {opset} | {counts} |");
        }
        text.push_str("\n## Overloads\n\n| overload | full | partial | none | reasons |\n|---|---|---|---|---|\n");
        for row in &self.rows {
            let levels = Level::ALL.map(|level| row.opsets_of(level, &self.opsets)).join(" | ");
            let reasons = row.reasons.iter().map(|(reason, at)| format!("{}: {}", ranges(at), cell(reason)));
            let _ = writeln!(text, "| `{}` | {levels} | {} |", row.name, reasons.collect::<Vec<_>>().join("; "));
        }
        if !self.unsupported.is_empty() {
            text.push_str("\n## Not in ONNX\n\n| overload | why |\n|---|---|\n");
        }
        for (name, reason) in &self.unsupported {
            let _ = writeln!(text, "| `{name}` | {} |", cell(reason));
        }
        text
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let counts: Map<String, Value> =
            self.opsets.iter().enumerate().map(|(i, o)| (o.to_string(), self.counts(i))).collect();
        let rules: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        let unsupported = self.unsupported.iter().map(|(name, reason)| json!({"name": name, "reason": reason}));
        let all = json!({
            "opsets": self.opsets,
            "counts": counts,
            "rules": rules,
            "unsupported": unsupported.collect::<Vec<_>>(),
        });
        format!("{all:#}\n")
    }

    fn counts(&self, index: usize) -> Value {
        Level::ALL
            .iter()
            .map(|level| (level.name().to_owned(), json!(self.count(index, *level))))
            .collect::<Map<_, _>>()
            .into()
    }

    fn row_json(&self, row: &Row) -> Value {
        let levels = self.opsets.iter().zip(&row.levels).map(|(opset, level)| (opset.to_string(), json!(level.name())));
        let reasons = row.reasons.iter().map(|(reason, opsets)| json!({"reason": reason, "opsets": opsets}));
        let groups = row.groups.iter().map(|group| {
            let levels =
                self.opsets.iter().zip(&group.levels).map(|(o, level)| (o.to_string(), json!(level_name(*level))));
            json!({"dtypes": group.dtypes, "levels": levels.collect::<Map<_, _>>()})
        });
        json!({
            "by_dtype": groups.collect::<Vec<_>>(),
            "name": row.name,
            "location": row.location,
            "levels": levels.collect::<Map<_, _>>(),
            "reasons": reasons.collect::<Vec<_>>(),
        })
    }
}

fn level_name(level: by_dtype::Level) -> &'static str {
    match level {
        by_dtype::Level::Native => "native",
        by_dtype::Level::Lowered => "lowered",
        by_dtype::Level::Partial => "partial",
        by_dtype::Level::Refused => "none",
        by_dtype::Level::Absent => "absent",
    }
}

/// A text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
