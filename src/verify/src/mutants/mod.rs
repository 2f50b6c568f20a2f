//! Mutation testing of rules: changes one place of a mapping file at a time, and says what finds that.
//!
//! First the rule compiler: types, attributes, opsets, refusals. Then the matrix, which CI compares with docs/operators.md. Then the examples of the
//! rules that the change reaches, and then calls of them that nobody wrote, both against PyTorch. What gives equal graphs for all these calls
//! is equivalent. What gives other graphs that nothing calls wrong has survived: an example is missing, or `mutants.toml` says why it changes nothing.

mod alike;
mod base;
mod explained;
mod expressions;
mod fate;
mod found;
mod kind;
mod made;
mod report;

use std::collections::{BTreeSet, VecDeque};
use std::hash::Hasher;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_opmap::Recheck;
use aten2onnx_opmap::reach::Reach;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

pub use explained::Explained;
pub use fate::{Fate, Row};
pub use kind::Kind;
pub use report::Report;

use crate::in_threads;
use crate::oracle::{self, Oracle};
use base::Base;
use found::found;
use made::{Mutant, mutants_of};

/// Which mutants are made, and how they are judged.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The overloads, operators and helpers whose text is changed. All if it is empty.
    pub wanted: Vec<String>,
    /// The same seed takes the same sample and makes the same calls.
    pub seed: u64,
    /// How many of the mutants are taken; None for all.
    pub sample: Option<usize>,
    /// Calls that are drawn of each rule where graphs differ and nothing was wrong so far.
    pub calls: usize,
    /// Stops after this time; what is done is reported.
    pub budget: Option<Duration>,
    /// A Python interpreter with torch, onnx and onnxruntime.
    pub python: PathBuf,
    /// How many mutants are judged at once.
    pub jobs: usize,
}

/// A digest of mapping files: a report of other rules is not continued.
pub fn digest_of_rules(set: &MappingFiles) -> String {
    let mut hasher = rustc_hash::FxHasher::default();
    set.checked().sources.files.iter().for_each(|file| hasher.write(file.text.as_bytes()));
    format!("{:016x}", hasher.finish())
}

/// Makes mutants of the rules of a set and finds out what finds them. What is known of each goes to the report; `changed` is called when a
/// mutant is begun and when it is done. Returns how many were left out because the time was over.
///
/// # Errors
/// There is no rule of a wanted name, or Python cannot be run.
pub fn run(
    settings: &Settings,
    set: &MappingFiles,
    rules: &Rules,
    explained: &Explained,
    report: &Mutex<Report>,
    changed: &(dyn Fn() -> Result<()> + Sync),
) -> Result<usize> {
    let checked = set.checked();
    let chosen = chosen(settings, mutants_of(&checked.sources, &checked.schemas), &Reach::new(&checked.program))?;
    explained.all_exist(&chosen.iter().map(|mutant| mutant.name.as_str()).collect(), settings)?;
    let folder = tempfile::tempdir()?;
    oracle::write_program(folder.path(), set.folder())?;
    let base = Base::new(set, rules, settings.seed);
    let ended = ended(report);
    let open: Mutex<VecDeque<&Mutant>> = Mutex::new(chosen.iter().filter(|mutant| !has_row(report, mutant)).collect());
    let start = Instant::now();
    let next = || {
        let is_late = settings.budget.is_some_and(|budget| start.elapsed() > budget);
        if is_late { None } else { lock(&open).pop_front() }
    };
    let work = || -> Result<()> {
        let mut recheck = Recheck::new(checked.sources.clone(), checked.schemas.clone());
        let mut oracle = Oracle::new(&settings.python, folder.path(), &[]);
        while let Some(mutant) = next() {
            let row = if ended.contains(&mutant.name) {
                row_of(&base, mutant, found::ended(), explained)
            } else {
                *lock(report).begun.entry(mutant.name.clone()).or_default() += 1;
                changed()?;
                let text = mutant.applied(&checked.sources.file(mutant.span.file).text);
                let files = recheck.checked_with(mutant.span.file, text);
                row_of(&base, mutant, found(&base, mutant, files, settings.calls, &mut oracle)?, explained)
            };
            let mut report = lock(report);
            report.begun.remove(&mutant.name);
            report.rows.insert(mutant.name.clone(), row);
            drop(report);
            changed()?;
        }
        Ok(())
    };
    in_threads(settings.jobs, &work)?;
    Ok(lock(&open).len())
}

/// The mutants that the settings ask for, in a random order if they are a sample.
fn chosen(settings: &Settings, all: Vec<Mutant>, reach: &Reach) -> Result<Vec<Mutant>> {
    let is_of = |mutant: &Mutant, name: &String| {
        mutant.rule.split(' ').any(|word| word == name) || reach.names_in(mutant.item).any(|own| own == name)
    };
    if let Some(missing) = settings.wanted.iter().find(|name| !all.iter().any(|mutant| is_of(mutant, name))) {
        return Err(Error::input(format!("there is no mutant of `{missing}`"))
            .help("name overloads, such as `aten::elu`, operators with lowerings, such as `Gelu`, or helpers, such as `to_float`"));
    }
    let is_wanted =
        |mutant: &Mutant| settings.wanted.is_empty() || settings.wanted.iter().any(|name| is_of(mutant, name));
    let mut found: Vec<Mutant> = all.into_iter().filter(is_wanted).collect();
    if let Some(sample) = settings.sample {
        // By their names, so that a change of a rule changes the sample at that rule alone.
        found.sort_by_cached_key(|mutant| digest_of_name(settings.seed, &mutant.name));
        found.truncate(sample);
    }
    Ok(found)
}

fn digest_of_name(seed: u64, name: &str) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write_u64(seed);
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// The mutants in which two earlier runs ended. One may have been stopped by somebody.
fn ended(report: &Mutex<Report>) -> BTreeSet<String> {
    lock(report).begun.iter().filter(|(_, times)| **times > 1).map(|(name, _)| name.clone()).collect()
}

fn has_row(report: &Mutex<Report>, mutant: &Mutant) -> bool {
    lock(report).rows.contains_key(&mutant.name)
}

fn row_of(base: &Base<'_>, mutant: &Mutant, found: found::Found, explained: &Explained) -> Row {
    let place = base.set.checked().sources.place(mutant.span);
    let why = explained.why(&mutant.name).filter(|_| found.fate == Fate::Survived);
    let (fate, how) = match why {
        Some(why) => (Fate::Explained, why.to_owned()),
        None => (found.fate, found.how),
    };
    Row { kind: mutant.kind, place, fate, how, ill_typed: found.ill_typed }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use aten2onnx_opmap::{Checked, Recheck, check_dir, check_sources};

    use super::{Kind, Mutant, digest_of_name, mutants_of};

    /// Mutants that are checked twice, and as many of lowerings that change what these refuse, which the matrix of other rules shows.
    const SAMPLE: usize = 3;

    /// What a check says: the errors and the matrix.
    fn said(checked: &Checked) -> (Vec<String>, String) {
        let errors = checked.diagnostics.iter().map(|error| format!("{error:?}")).collect();
        (errors, format!("{:?}", checked.matrix.rows))
    }

    #[test]
    fn a_change_is_checked_like_all_files() {
        let base = check_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")).unwrap();
        let mut mutants = mutants_of(&base.sources, &base.schemas);
        mutants.sort_by_cached_key(|mutant| digest_of_name(1, &mutant.name));
        let refuses = |mutant: &&Mutant| {
            let is_of_opset = matches!(mutant.kind, Kind::OpsetMoved | Kind::RefusalDropped | Kind::RefusalAdded);
            is_of_opset && mutant.rule.contains(" before ")
        };
        let chosen = mutants.iter().take(SAMPLE).chain(mutants.iter().filter(refuses).take(SAMPLE));
        let mut recheck = Recheck::new(base.sources.clone(), base.schemas.clone());
        for mutant in chosen {
            let mut changed = base.sources.clone();
            let file = changed.files.get_mut(mutant.span.file.0 as usize).unwrap();
            file.text = mutant.applied(&file.text);
            let again = recheck.checked_with(mutant.span.file, file.text.clone());
            let all = check_sources(changed, base.schemas.clone());
            assert_eq!(said(&again), said(&all), "{}", mutant.name);
        }
    }
}
