//! What an overload becomes for each runtime: its examples are built with what is known of the newest release.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aten2onnx_examples as examples;
use aten2onnx_onnx::targets::{self, Target};
use aten2onnx_opmap::tree;
use aten2onnx_rules::interpret::MappingFiles;

use super::run::in_parallel;

/// An overload in a runtime.
#[derive(Debug, Clone)]
pub struct Use {
    /// The newest known release.
    pub target: &'static Target,
    /// The opset that an export takes.
    pub opset: u32,
    /// How many examples are exported as for any runtime.
    pub plain: usize,
    /// How many are exported in another form, which the runtime takes.
    pub replaced: usize,
    /// How many are refused.
    pub refused: usize,
    /// What is replaced.
    pub what: BTreeSet<String>,
    /// Why examples are refused.
    pub reasons: BTreeSet<String>,
}

/// The newest release of each runtime: those that were measured or of which kernels are known, then the others, by name.
pub fn newest() -> Vec<&'static Target> {
    let mut seen = BTreeMap::new();
    for target in targets::all() {
        seen.entry(target.runtime).or_insert(target);
    }
    let mut all: Vec<&Target> = seen.into_values().collect();
    all.sort_by_key(|target| (!target.kernels, target.avoids.is_empty(), target.what));
    all
}

/// What an example becomes for a runtime.
enum Made {
    Plain,
    Replaced(Vec<String>),
    Refused(String),
}

/// By overload, for those with examples among the wanted ones, or all.
pub fn uses(set: &Arc<MappingFiles>, only: &[String]) -> BTreeMap<String, Vec<Use>> {
    let targets = newest();
    let is_wanted = |example: &tree::Example| {
        let name = super::target(example);
        let is_map = matches!(example.target, tree::Target::Map(_));
        is_map && (only.is_empty() || only.iter().any(|wanted| wanted == name))
    };
    let made = in_parallel(set, |rules, example| {
        if !is_wanted(example) {
            return Vec::new();
        }
        let build = |target: &&'static Target| {
            let opset = target.opset(None).unwrap_or(target.newest_opset);
            match examples::traced(example, set.checked(), rules, opset, Some(target)).0 {
                Ok(graph) => match target.check_values(&graph) {
                    Err(error) => Made::Refused(error.message.clone()),
                    Ok(()) if graph.replaced.is_empty() => Made::Plain,
                    Ok(()) => Made::Replaced(graph.replaced.into_keys().collect()),
                },
                Err(error) => Made::Refused(error.message.clone()),
            }
        };
        targets.iter().map(build).collect()
    });
    let mut all: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for (example, made) in set.checked().program.examples.iter().zip(made) {
        if made.is_empty() {
            continue;
        }
        let uses =
            all.entry(super::target(example).to_owned()).or_insert_with(|| targets.iter().map(|t| none(t)).collect());
        uses.iter_mut().zip(made).for_each(|(use_, made)| use_.add(made));
    }
    all
}

fn none(target: &'static Target) -> Use {
    let opset = target.opset(None).unwrap_or(target.newest_opset);
    Use { target, opset, plain: 0, replaced: 0, refused: 0, what: BTreeSet::new(), reasons: BTreeSet::new() }
}

impl Use {
    /// Whether more is known of the runtime than the opsets that it takes.
    pub fn is_known(&self) -> bool {
        let target = self.target;
        target.kernels || !(target.lacks.is_empty() && target.avoids.is_empty() && target.forms.is_empty())
    }

    fn add(&mut self, made: Made) {
        match made {
            Made::Plain => self.plain += 1,
            Made::Replaced(what) => {
                self.replaced += 1;
                self.what.extend(what);
            }
            Made::Refused(reason) => {
                self.refused += 1;
                self.reasons.insert(reason);
            }
        }
    }
}
