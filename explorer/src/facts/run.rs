//! Examples as graphs: each at every opset, with equal graphs kept once.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::Arc;

use aten2onnx_examples as examples;
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_onnx::graph::Graph;
use aten2onnx_opmap::tree::{Example, Target};
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

/// What an example becomes.
#[derive(Debug, Default)]
pub struct Run {
    /// By opset, from the oldest.
    pub states: Vec<(u32, State)>,
    /// The graphs that differ, those of the oldest opsets first.
    pub graphs: Vec<Graph>,
    /// The branches that it reaches at any opset, as indices of the program's list.
    pub arms: BTreeSet<usize>,
}

/// What an example becomes at an opset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The graph of this index.
    Graph(usize),
    /// It is refused, for this reason.
    Refused(String),
}

impl Run {
    /// Whether the example was run: a look at a few operators leaves out the others, of which nothing is known then.
    pub fn is_known(&self) -> bool {
        !self.states.is_empty()
    }

    /// The opsets with the graph of an index.
    pub fn opsets_of(&self, index: usize) -> BTreeSet<u32> {
        self.states.iter().filter(|(_, state)| *state == State::Graph(index)).map(|(opset, _)| *opset).collect()
    }

    /// The reasons of refusals with their opsets.
    pub fn refusals(&self) -> Vec<(&str, BTreeSet<u32>)> {
        let mut all: Vec<(&str, BTreeSet<u32>)> = Vec::new();
        for (opset, state) in &self.states {
            let State::Refused(reason) = state else { continue };
            match all.iter_mut().find(|(known, _)| known == reason) {
                Some((_, opsets)) => drop(opsets.insert(*opset)),
                None => all.push((reason, [*opset].into())),
            }
        }
        all
    }
}

/// Runs the examples of these operators, or all. The others have no states.
pub fn all(set: &Arc<MappingFiles>, only: &[String]) -> Vec<Run> {
    in_parallel(set, |rules, example| match only.is_empty() || only.iter().any(|name| name == super::target(example)) {
        true => run_example(set, rules, example),
        false => Run::default(),
    })
}

/// A function of each example, on all processors.
pub(super) fn in_parallel<T: Send>(set: &Arc<MappingFiles>, of: impl Fn(&Rules, &Example) -> T + Sync) -> Vec<T> {
    let examples = &set.checked().program.examples;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Neighbours cost about the same, so threads take turns.
    let part = |first: usize| {
        let rules = Rules::of_files(Arc::clone(set));
        examples.iter().skip(first).step_by(threads).map(|example| of(&rules, example)).collect::<Vec<T>>()
    };
    let parts: Vec<Vec<T>> = std::thread::scope(|scope| {
        let part = &part;
        let started: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        started.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    (0..examples.len()).filter_map(|i| parts.get_mut(i % threads).and_then(Iterator::next)).collect()
}

fn run_example(set: &MappingFiles, rules: &Rules, example: &Example) -> Run {
    let mut run = Run::default();
    let mut texts: Vec<String> = Vec::new();
    // A `raise` does not concern opsets before the form of its calls.
    let oldest = match example.target {
        Target::Raise(_, from) => from.saturating_sub(1).max(MIN_OPSET),
        _ => MIN_OPSET,
    };
    for opset in oldest..=MAX_OPSET {
        let (made, arms) = examples::traced(example, set.checked(), rules, opset, None);
        run.arms.extend(
            arms.iter()
                .filter_map(|arm| arm.checked_sub(aten2onnx_rules::interpret::FIRST_ARM))
                .map(|arm| arm as usize),
        );
        let state = match made {
            Ok(graph) => State::Graph(run.index_of(graph, &mut texts)),
            Err(error) => State::Refused(error.message.replace(&format!("opset {opset}"), "this opset")),
        };
        run.states.push((opset, state));
    }
    run
}

impl Run {
    /// The index of a graph that is equal but for its opset; adds it if there is none.
    fn index_of(&mut self, graph: Graph, texts: &mut Vec<String>) -> usize {
        let whole = graph.to_string();
        let text = whole.split_once('\n').map_or(whole.as_str(), |(_, text)| text);
        if let Some(known) = texts.iter().position(|other| other == text) {
            return known;
        }
        texts.push(text.to_owned());
        self.graphs.push(graph);
        texts.len() - 1
    }
}
