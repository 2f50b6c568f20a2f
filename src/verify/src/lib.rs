//! Checks rules on calls that nobody wrote: it makes them from headers, examples and constants of the rules, asks PyTorch for the
//! answer, and shrinks what is wrong to an `example` line.
//!
//! Level *typed* compares dtypes and shapes, *sampled* values in ONNX Runtime, *exact* the places of elements that all differ, where a rule
//! only moves data.

pub mod audit;
mod calls;
mod check;
mod digest;
mod domain;
mod edit;
mod levels;
mod matrix;
mod moves;
pub mod mutants;
mod mutate;
mod oracle;
mod pattern;
pub mod plan;
mod relations;
mod report;
mod rule;
mod shrink;
mod uniform;
mod work;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

use aten2onnx_examples::{Record, record};
use check::Exporter;
pub use check::{Fault, FaultKind};
pub use digest::graph_digests;
pub use levels::{Levels, MOST_STALE};
use oracle::Oracle;
pub use report::{Found, Report, Row};
use rule::Rule;
pub use uniform::Uniform;
use work::{Work, record_of};

/// What the command takes unless it is told otherwise: the seed,
pub const SEED: u64 = 0;
/// the calls of level typed for each overload,
pub const TYPED: usize = 1000;
/// those of level sampled,
pub const SAMPLED: usize = 100;
/// and the opsets of level sampled.
pub const OPSETS: [u32; 5] = [9, 13, 18, 23, aten2onnx_onnx::facts::MAX_OPSET];

/// How many calls are asked about at once.
const AT_ONCE: usize = 64;

/// What is checked, and how much of it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The overloads.
    pub wanted: Vec<String>,
    /// The same seed makes the same calls.
    pub seed: u64,
    /// The opsets of level sampled.
    pub opsets: Vec<u32>,
    /// Calls of level typed for each overload.
    pub typed: usize,
    /// Calls of level sampled for each overload.
    pub sampled: usize,
    /// Stops after this time; what is done is reported.
    pub budget: Option<Duration>,
    /// A Python interpreter with torch, onnx and onnxruntime.
    pub python: PathBuf,
    /// Modules to import first.
    pub imports: Vec<String>,
    /// How many overloads are checked at once.
    pub jobs: usize,
}

/// Whether calls of an overload or operator can be made.
pub fn can_check(program: &aten2onnx_opmap::tree::Program, name: &str) -> bool {
    Rule::find(program, name).is_some()
}

/// Checks the overloads. `done` is told of each.
///
/// # Errors
/// Python cannot be run. What a thread found before is told to `done`.
pub fn run(
    settings: &Settings,
    set: &MappingFiles,
    rules: &Rules,
    done: &(dyn Fn(&str, Row) -> Result<()> + Sync),
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    oracle::write_program(folder.path(), set.folder())?;
    let start = Instant::now();
    let open: Mutex<VecDeque<&String>> = Mutex::new(settings.wanted.iter().collect());
    let is_late = || settings.budget.is_some_and(|budget| start.elapsed() > budget);
    let next = || {
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if is_late() { None } else { open.pop_front() }
    };
    let work = || -> Result<()> {
        let exporter = Exporter { checked: set.checked(), rules };
        let mut oracle = Oracle::new(&settings.python, folder.path(), &settings.imports);
        while let Some(name) = next() {
            let mut work = Work::new(settings, exporter, &mut oracle, name)?;
            work.typed(&is_late)?;
            work.sampled()?;
            done(name, work.finished(set))?;
        }
        Ok(())
    };
    in_threads(settings.jobs, &work)
}

/// Does work in some threads at once, in which panics are noted and not printed.
fn in_threads(count: usize, work: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
    let hook = std::panic::take_hook();
    check::note_panics();
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count.max(1)).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Error::internal("a thread ended"))))
            .collect()
    });
    std::panic::set_hook(hook);
    results.into_iter().collect()
}

/// The operators none of whose examples keeps the relations of relations.toml, each with a relation that is broken.
///
/// # Errors
/// Python cannot be run.
pub fn unkept_relations(python: &Path, set: &MappingFiles) -> Result<BTreeMap<String, String>> {
    let folder = tempfile::tempdir()?;
    oracle::write_program(folder.path(), set.folder())?;
    let mut oracle = Oracle::new(python, folder.path(), &[]);
    let checked = set.checked();
    let (mut broken, mut kept) = (BTreeMap::new(), BTreeSet::new());
    for examples in checked.program.examples.chunks(AT_ONCE) {
        let records: Vec<Record> =
            examples.iter().enumerate().map(|(id, example)| record(id, example, checked, Vec::new(), None)).collect();
        let needs = oracle.broken_relations(&records)?;
        for (record, need) in records.into_iter().zip(needs) {
            match need {
                Some(need) => drop(broken.insert(record.op, need)),
                None => drop(kept.insert(record.op)),
            }
        }
    }
    broken.retain(|op, _| !kept.contains(op));
    Ok(broken)
}
