//! Holds the support matrix against exports. Cells of it are drawn at random, as many of each level: an overload, a dtype of its first tensor, an
//! opset. Calls of the overload that nobody wrote and that PyTorch takes are exported at this opset, and what becomes of them must be what the cell says.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use aten2onnx_builder::{AVOIDED, Became};
use aten2onnx_core::error::Result;
use aten2onnx_examples::{self as examples, Lacks, Observed, Outcome};
use aten2onnx_opmap::coverage::Examiner;
use aten2onnx_opmap::coverage::by_dtype::{ByDtype, Level, by_dtype};
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;
use fastrand::Rng;

use crate::calls::Calls;
use crate::check::Exporter;
use crate::edit::{dtype_of, set_dtype, values_of, visit};
use crate::oracle::{self, Answer, Oracle};
use crate::{AT_ONCE, in_threads, matrix, plan, record_of};

/// Calls of a cell that are exported.
const CALLS: usize = 8;
/// How many times calls are made before a cell counts as one without calls.
const TIMES: usize = 6;

/// What is audited.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The overloads whose rows are drawn from. All if it is empty.
    pub wanted: Vec<String>,
    /// How many cells of the matrix.
    pub cells: usize,
    /// The same seed draws the same cells and makes the same calls.
    pub seed: u64,
    /// A Python interpreter with torch, onnx and onnxruntime.
    pub python: PathBuf,
    /// For how many cells calls are made at once.
    pub jobs: usize,
}

/// What an audit found.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// By level, in the words of docs/operators.md.
    pub tallies: BTreeMap<&'static str, Tally>,
    /// What contradicts the matrix: the call, the opset, and how.
    pub faults: Vec<String>,
}

/// The cells of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that were drawn.
    pub cells: usize,
    /// Those of which no call was found that PyTorch takes.
    pub idle: usize,
    /// Calls that were exported.
    pub calls: usize,
    /// Those whose nodes are all those that the rule names.
    pub native: usize,
    /// Those of which some call of an operator was lowered.
    pub lowered: usize,
    /// Those that were refused.
    pub refused: usize,
}

impl Audit {
    /// A table by level, and the faults.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<8} {:>6} {:>13} {:>6} {:>7} {:>8} {:>8}\n",
            "matrix", "cells", "without calls", "calls", "native", "lowered", "refused"
        );
        for (level, tally) in &self.tallies {
            let Tally { cells, idle, calls, native, lowered, refused } = tally;
            text.push_str(&format!(
                "{level:<8} {cells:>6} {idle:>13} {calls:>6} {native:>7} {lowered:>8} {refused:>8}\n"
            ));
        }
        self.faults.iter().for_each(|fault| text.push_str(&format!("{fault}\n")));
        text
    }

    /// How many calls were exported.
    pub fn calls(&self) -> usize {
        self.tallies.values().map(|tally| tally.calls).sum()
    }
}

/// A cell of the matrix.
#[derive(Debug, Clone)]
struct Cell {
    overload: String,
    /// PyTorch's name; empty for a rule without tensors.
    dtype: &'static str,
    opset: u32,
    level: Level,
    /// Why the cell says that calls are refused.
    reasons: Vec<String>,
}

/// The words of docs/operators.md.
fn name_of(level: Level) -> &'static str {
    match level {
        Level::Native => "native",
        Level::Lowered => "lowered",
        Level::Partial => "partly",
        Level::Refused => "refused",
        Level::Absent => "absent",
    }
}

/// Audits the matrix of mapping files.
///
/// # Errors
/// Python cannot be run.
pub fn audit(settings: &Settings, set: &MappingFiles, rules: &Rules) -> Result<Audit> {
    let cells = drawn_cells(settings, set);
    let folder = tempfile::tempdir()?;
    oracle::write_program(folder.path(), set.folder())?;
    let exporter = Exporter { checked: set.checked(), rules };
    let called = calls_of(settings, cells, exporter, folder.path())?;
    let mut oracle = Oracle::new(&settings.python, folder.path(), &[]);
    let mut audit = Audit::default();
    let mut examiner = Examiner::new(&set.checked().program, &set.checked().schemas);
    for (cell, calls) in &called {
        let tally = audit.tallies.entry(name_of(cell.level)).or_default();
        tally.cells += 1;
        tally.idle += usize::from(calls.is_empty());
        for call in calls {
            let observed = examples::observe(call, set.checked(), rules, cell.opset);
            tally.note(&observed);
            let proof = examiner.examine(call).unwrap_or_default();
            let planned = plan::contradictions(&observed.named, cell.opset, &proof.said, examiner.unnamed_calls());
            let found =
                cell.contradiction(&observed).into_iter().chain(planned).chain(as_exported(cell, call, exporter));
            let found: Vec<String> = found.collect();
            if found.is_empty() || oracle.doubts(record_of(exporter, &cell.overload, 0, call, Vec::new()))? {
                continue;
            }
            audit.faults.extend(found.iter().map(|what| cell.described(call, what)));
        }
        audit.faults.extend(invalid_models(cell, calls, exporter, &mut oracle)?);
    }
    Ok(audit)
}

impl Tally {
    fn note(&mut self, observed: &Observed) {
        self.calls += 1;
        match observed.outcome {
            Outcome::Built(_) if is_lowered(observed) => self.lowered += 1,
            Outcome::Built(_) => self.native += 1,
            _ => self.refused += 1,
        }
    }
}

/// Whether a call that the rule names is lowered because the opset lacks it.
fn is_lowered(observed: &Observed) -> bool {
    observed.named.iter().any(|call| matches!(call.became, Some(Became::Lowered(before)) if before != AVOIDED))
}

impl Cell {
    /// What an export does that the cell does not say.
    fn contradiction(&self, observed: &Observed) -> Option<String> {
        match &observed.outcome {
            Outcome::Built(_) if self.level == Level::Refused => Some("it works".to_owned()),
            Outcome::Built(_) if self.level == Level::Native => {
                let lowered = observed
                    .named
                    .iter()
                    .find(|call| matches!(call.became, Some(Became::Lowered(before)) if before != AVOIDED))?;
                Some(format!("`{}` is lowered", lowered.op))
            }
            Outcome::Built(_) => None,
            Outcome::Refused { reason, .. } if matches!(self.level, Level::Partial | Level::Refused) => {
                let is_known = self.reasons.iter().any(|known| matrix::says(reason, known));
                (!is_known).then(|| format!("it is refused for another reason: {reason}"))
            }
            Outcome::Refused { reason, .. } => Some(format!("it is refused: {reason}")),
            Outcome::Failed(what) | Outcome::Broken(what) => Some(format!("it fails: {what}")),
        }
    }

    fn described(&self, call: &Example, what: &str) -> String {
        let dtype = if self.dtype.is_empty() { String::new() } else { format!(" in {}", self.dtype) };
        format!(
            "`{}`{dtype} is {} at opset {}, but\n    {}\n        {what}",
            self.overload,
            name_of(self.level),
            self.opset,
            call.text
        )
    }
}

/// What an export for ONNX Runtime does otherwise than one by the standard alone: what this runtime lacks is replaced, and never a reason to refuse.
fn as_exported(cell: &Cell, call: &Example, exporter: Exporter<'_>) -> Option<String> {
    let passes = aten2onnx_builder::passes::Passes::ALL;
    let (outcome, _) = examples::build(call, exporter.checked, exporter.rules, cell.opset, passes, Lacks::Usual);
    match (outcome, cell.level) {
        (Outcome::Refused { reason, .. }, Level::Native | Level::Lowered) => {
            Some(format!("for ONNX Runtime it is refused: {reason}"))
        }
        (Outcome::Built(_), Level::Refused) => Some("for ONNX Runtime it works".to_owned()),
        (Outcome::Failed(what) | Outcome::Broken(what), _) => Some(format!("for ONNX Runtime it fails: {what}")),
        _ => None,
    }
}

/// Models of a cell that contradict ONNX's schemas at their opset.
fn invalid_models(
    cell: &Cell,
    calls: &[Example],
    exporter: Exporter<'_>,
    oracle: &mut Oracle<'_>,
) -> Result<Vec<String>> {
    let mut records = Vec::new();
    for (id, call) in calls.iter().enumerate().take(2) {
        if let Ok(Some(model)) = exporter.model(call, cell.opset) {
            records.push(record_of(exporter, &cell.overload, id, call, vec![model]));
        }
    }
    let mut found = Vec::new();
    for verdict in oracle.judge(&records)?.into_iter().flatten() {
        let Some(call) = calls.get(verdict.id) else { continue };
        let invalid = verdict.failures.into_iter().filter(|failure| failure.invalid);
        found.extend(invalid.map(|failure| cell.described(call, &format!("its model is invalid: {}", failure.what))));
    }
    Ok(found)
}

/// Cells of the matrix: as many of each level, each drawn by its overload first, so that overloads with many dtypes do not count more.
fn drawn_cells(settings: &Settings, set: &MappingFiles) -> Vec<Cell> {
    let checked = set.checked();
    let said = by_dtype(&checked.program, &checked.schemas);
    let is_wanted = |name: &&str| settings.wanted.is_empty() || settings.wanted.iter().any(|own| own == name);
    let names = checked.program.operator_maps().map(|map| map.function.name.as_str()).filter(is_wanted);
    let rows: Vec<(&str, &ByDtype)> = names.filter_map(|name| Some((name, said.get(name)?))).collect();
    let mut rng = Rng::with_seed(settings.seed);
    let levels = [Level::Native, Level::Lowered, Level::Partial, Level::Refused];
    let having = levels.map(|level| {
        let has = |row: &&(&str, &ByDtype)| {
            let mut cells = row.1.rows.iter().flat_map(|(dtype, _)| opsets(set).map(move |opset| (*dtype, opset)));
            cells.any(|(dtype, opset)| row.1.level(dtype, opset) == level)
        };
        rows.iter().filter(has).collect::<Vec<_>>()
    });
    let mut cells: BTreeMap<(String, &str, u32), Cell> = BTreeMap::new();
    // A draw may be one that was drawn before.
    for turn in 0..settings.cells * 16 {
        if cells.len() == settings.cells {
            break;
        }
        let (Some(level), Some(having)) = (levels.get(turn % levels.len()), having.get(turn % levels.len())) else {
            continue;
        };
        let Some((name, row)) = rng.choice(having) else { continue };
        let own = row.rows.iter().flat_map(|(dtype, verdict)| opsets(set).map(move |opset| (*dtype, opset, verdict)));
        let own: Vec<_> = own.filter(|(dtype, opset, _)| row.level(dtype, *opset) == *level).collect();
        let Some((dtype, opset, verdict)) = rng.choice(&own) else { continue };
        let cell = Cell {
            overload: (*name).to_owned(),
            dtype,
            opset: *opset,
            level: *level,
            reasons: matrix::reasons(verdict, *opset),
        };
        cells.insert(((*name).to_owned(), dtype, *opset), cell);
    }
    cells.into_values().collect()
}

fn opsets(set: &MappingFiles) -> std::ops::RangeInclusive<u32> {
    let opsets = &set.checked().schemas.opsets;
    opsets.min..=opsets.max
}

/// The cells with calls of each.
fn calls_of(
    settings: &Settings,
    cells: Vec<Cell>,
    exporter: Exporter<'_>,
    folder: &Path,
) -> Result<Vec<(Cell, Vec<Example>)>> {
    let count = cells.len();
    let open: Mutex<VecDeque<(usize, Cell)>> = Mutex::new(cells.into_iter().enumerate().collect());
    let done = Mutex::new(BTreeMap::new());
    let work = || -> Result<()> {
        let mut oracle = Oracle::new(&settings.python, folder, &[]);
        loop {
            let next = open.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((number, cell)) = next else { return Ok(()) };
            let calls = found_calls(&cell, exporter, settings.seed, &mut oracle)?;
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(number, (cell, calls));
        }
    };
    in_threads(settings.jobs.min(count), &work)?;
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect())
}

/// Calls with the dtype of a cell that PyTorch takes. Complex numbers beside real ones have a rule of their own, or count as its calls.
fn found_calls(cell: &Cell, exporter: Exporter<'_>, seed: u64, oracle: &mut Oracle<'_>) -> Result<Vec<Example>> {
    let program = &exporter.checked.program;
    let Some(mut calls) = Calls::new(program, &cell.overload, seed) else { return Ok(Vec::new()) };
    let first = matrix::first_tensor(program, &cell.overload).unwrap_or_default();
    let mut found: Vec<Example> = Vec::new();
    for _ in 0..TIMES {
        let made = std::iter::from_fn(|| calls.next()).take(AT_ONCE);
        let is_of_cell = |call: &Example| cell.dtype.starts_with("complex") || !matrix::has_complex(call);
        let batch = made.filter_map(|call| of_dtype(&call, &first, cell.dtype)).filter(is_of_cell);
        let batch: Vec<Example> = batch.collect();
        let batch: Vec<Example> = batch.into_iter().filter_map(|call| calls.call(call.args, call.with)).collect();
        let records: Vec<_> = batch
            .iter()
            .enumerate()
            .map(|(id, call)| record_of(exporter, &cell.overload, id, call, Vec::new()))
            .collect();
        for (call, answer) in batch.into_iter().zip(oracle.types(&records)?) {
            if !matches!(answer, Some(Answer::Types { .. })) {
                continue;
            }
            if !found.iter().any(|known| known.text == call.text) {
                found.push(call.clone());
            }
            calls.keep(call);
        }
        if found.len() >= CALLS {
            break;
        }
    }
    // From everywhere: the first ones are examples, and like one another.
    let step = found.len().div_ceil(CALLS).max(1);
    Ok(found.into_iter().step_by(step).collect())
}

/// A call with another dtype of its first tensor, and of those that have the same. None if it has no such tensor.
fn of_dtype(call: &Example, first: &str, dtype: &str) -> Option<Example> {
    if first.is_empty() {
        return Some(call.clone());
    }
    let own = call.args.iter().find(|(name, _)| name == first)?;
    let old = values_of(std::slice::from_ref(own)).into_iter().find_map(dtype_of)?.clone();
    let new = examples::short_name(dtype)?;
    let mut call = call.clone();
    if old != new {
        visit(&mut call, &mut |value| {
            if dtype_of(value).is_some_and(|own| *own == old) {
                set_dtype(value, new);
            }
        });
    }
    Some(call)
}
