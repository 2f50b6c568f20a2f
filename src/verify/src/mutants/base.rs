//! The rules as they are: what examples and other calls become with them. Mutants are compared with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aten2onnx_builder::passes::Passes;
use aten2onnx_core::error::Result;
use aten2onnx_examples as examples;
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::by_dtype::{ByDtype, Level, by_dtype_of};
use aten2onnx_opmap::reach::Reach;
use aten2onnx_opmap::tree::{Example, Target};
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

use crate::calls::Calls;
use crate::check::Exporter;
use crate::oracle::{Answer, Oracle};
use crate::{AT_ONCE, record_of};

/// Calls of an overload that nobody wrote.
const DRAWN: usize = 24;
/// The opsets at which they become models.
pub(super) const OPSETS: [u32; 5] = [9, 13, 18, 23, aten2onnx_onnx::facts::MAX_OPSET];

/// A call with the types that PyTorch gives to its results, and whether these are random.
#[derive(Debug)]
pub(super) struct Drawn {
    pub call: Example,
    pub types: Vec<(String, Vec<i64>)>,
}

/// Calls with what they become.
pub(super) type AllDrawn = Arc<Vec<(Drawn, Prints)>>;

/// What a call becomes: the models at some opsets, as digests, or why there is none.
pub(super) type Prints = Vec<(u32, String)>;

/// What the matrix says of a dtype, at each opset.
pub(super) type Levels = BTreeMap<&'static str, Vec<Level>>;

/// The rules as they are.
pub(super) struct Base<'a> {
    pub set: &'a MappingFiles,
    pub rules: &'a Rules,
    pub seed: u64,
    pub reach: Reach,
    /// Examples by the overload or operator.
    examples: BTreeMap<String, Vec<usize>>,
    prints: Mutex<BTreeMap<usize, Arc<Prints>>>,
    levels: Mutex<BTreeMap<String, Arc<Levels>>>,
    drawn: Mutex<BTreeMap<String, AllDrawn>>,
    /// Whether the judge accepts what an example becomes with the rules as they are.
    accepted: Mutex<BTreeMap<String, bool>>,
}

impl<'a> Base<'a> {
    pub fn new(set: &'a MappingFiles, rules: &'a Rules, seed: u64) -> Base<'a> {
        let program = &set.checked().program;
        let mut of: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, example) in program.examples.iter().enumerate() {
            of.entry(examples::target(example).to_owned()).or_default().push(number);
        }
        Base {
            set,
            rules,
            seed,
            reach: Reach::new(program),
            examples: of,
            prints: Mutex::default(),
            levels: Mutex::default(),
            drawn: Mutex::default(),
            accepted: Mutex::default(),
        }
    }

    pub fn exporter(&self) -> Exporter<'a> {
        Exporter { checked: self.set.checked(), rules: self.rules }
    }

    /// What the matrix by dtype says of an overload.
    pub fn levels_of(&self, name: &str) -> Arc<Levels> {
        if let Some(known) = locked(&self.levels).get(name) {
            return known.clone();
        }
        let found = levels_of(self.set.checked(), &|other| other == name).remove(name);
        let found = Arc::new(found.unwrap_or_default());
        locked(&self.levels).insert(name.to_owned(), found.clone());
        found
    }

    /// The examples of an overload or operator.
    pub fn examples_of(&self, target: &str) -> impl Iterator<Item = (usize, &'a Example)> {
        let all = &self.set.checked().program.examples;
        let numbers = self.examples.get(target).into_iter().flatten();
        numbers.filter_map(|number| Some((*number, all.get(*number)?)))
    }

    /// What an example becomes with the rules as they are.
    pub fn prints_of_example(&self, number: usize, example: &Example) -> Arc<Prints> {
        if let Some(known) = locked(&self.prints).get(&number) {
            return known.clone();
        }
        let prints = Arc::new(prints_of_example(example, self.exporter()));
        locked(&self.prints).insert(number, prints.clone());
        prints
    }

    /// Whether the judge accepts what a call becomes with the rules as they are.
    pub fn is_accepted(&self, example: &Example, is_written: bool, oracle: &mut Oracle<'_>) -> Result<bool> {
        let key = format!("{is_written} {}", examples::text(example));
        if let Some(known) = locked(&self.accepted).get(&key) {
            return Ok(*known);
        }
        let record = match is_written {
            true => examples::build_example(0, example, self.set.checked(), self.rules, Passes::NONE).record,
            false => {
                let models = OPSETS.iter().filter_map(|opset| self.exporter().model(example, *opset).ok().flatten());
                Some(record_of(self.exporter(), examples::target(example), 0, example, models.collect()))
            }
        };
        let verdict = oracle.judge(record.as_slice())?.into_iter().next().flatten();
        let accepted = verdict.is_some_and(|verdict| verdict.failures.is_empty());
        locked(&self.accepted).insert(key, accepted);
        Ok(accepted)
    }

    /// Calls of an overload or operator that PyTorch takes, with what they become. The same seed makes the same.
    pub fn drawn(&self, target: &str, oracle: &mut Oracle<'_>) -> Result<AllDrawn> {
        if let Some(known) = locked(&self.drawn).get(target) {
            return Ok(known.clone());
        }
        let mut found = Vec::new();
        if let Some(mut calls) = Calls::new(&self.set.checked().program, target, self.seed) {
            let batch: Vec<Example> = std::iter::from_fn(|| calls.next()).take(AT_ONCE).collect();
            let records: Vec<_> = batch
                .iter()
                .enumerate()
                .map(|(id, call)| record_of(self.exporter(), target, id, call, Vec::new()))
                .collect();
            for (call, answer) in batch.into_iter().zip(oracle.types(&records)?) {
                let Some(Answer::Types { types, .. }) = answer else { continue };
                if found.len() == DRAWN {
                    break;
                }
                let prints = prints_of(&call, self.exporter());
                found.push((Drawn { call, types }, prints));
            }
        }
        let found = Arc::new(found);
        locked(&self.drawn).insert(target.to_owned(), found.clone());
        Ok(found)
    }
}

/// What the matrix by dtype says of some overloads.
pub(super) fn levels_of(checked: &Checked, wanted: &dyn Fn(&str) -> bool) -> BTreeMap<String, Levels> {
    let all = by_dtype_of(&checked.program, &checked.schemas, wanted).into_iter();
    let opsets = || checked.schemas.opsets.range();
    let levels = |by: &ByDtype| {
        by.rows.iter().map(|(dtype, _)| (*dtype, opsets().map(|opset| by.level(dtype, opset)).collect())).collect()
    };
    all.map(|(name, by)| (name, levels(&by))).collect()
}

/// What an example becomes at all opsets.
pub(super) fn prints_of_example(example: &Example, exporter: Exporter<'_>) -> Prints {
    let oldest = match &example.target {
        Target::Raise(_, from) => from.saturating_sub(1),
        _ => aten2onnx_onnx::facts::MIN_OPSET,
    };
    let mut prints: Prints = (oldest..=aten2onnx_onnx::facts::MAX_OPSET)
        .map(|opset| (opset, exporter.print(example, opset, false)))
        .collect();
    if matches!(example.target, Target::Lower(_)) {
        // What stands in place of the operator where a runtime does without it.
        prints.extend(OPSETS.iter().map(|opset| (*opset, exporter.print(example, *opset, true))));
    }
    prints
}

/// What a call becomes at some opsets.
pub(super) fn prints_of(call: &Example, exporter: Exporter<'_>) -> Prints {
    OPSETS.iter().map(|opset| (*opset, exporter.print(call, *opset, false))).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
