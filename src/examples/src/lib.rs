//! Turns the examples of rules into models and compares them with PyTorch and ONNX Runtime, for `try` and the tests.

mod build;
mod call;
mod facts;
mod judge;
mod record;
mod runtime;

use std::collections::BTreeSet;

use aten2onnx_onnx::schema::pattern::is_fusion;
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::syntax::ast::Fuse;
use aten2onnx_opmap::tree::{AVOIDED, Example, Target, is_replaced};

pub use build::{
    Built, Lacks, Observed, Outcome, Typed, build, graph, lowerings, observe, reference_opset, traced, types,
};
pub use call::short_name;
pub use facts::{DIFFERENCES_FILE, checkout_text, differences_file};
pub use judge::{Judge, StartedJudge, no_python, write, write_programs};
pub use record::{Failure, Record, Verdict, record};
pub use runtime::{ForRuntime, for_runtime};

use aten2onnx_builder::passes::Passes;
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_onnx::{schema, targets};
use aten2onnx_rules::Rules;

/// The newest opset of ONNX Runtime, which runs the examples.
pub fn newest_run() -> u32 {
    targets::find("onnxruntime").map_or(MAX_OPSET, |target| target.newest_opset)
}

/// The models of an example, before they are run.
#[derive(Debug)]
pub struct Tried {
    /// The data for the judge; None if no opset has a model.
    pub record: Option<Record>,
    /// Failures so far: texts that start with that of the example.
    pub failures: Vec<String>,
    /// The numbers of the branches that were reached.
    pub reached: BTreeSet<u32>,
    /// The opsets at which the rule refuses.
    pub refused: Vec<u32>,
}

/// The example as written; for a rule family, with its row.
pub fn text(example: &Example) -> String {
    if example.text.contains('{') && !example.text.contains(target(example)) {
        return format!("{} (of {})", example.text, target(example));
    }
    example.text.clone()
}

/// The overload or operator of the example.
pub fn target(example: &Example) -> &str {
    match &example.target {
        Target::Map(name) | Target::Lower(name) | Target::Raise(name, _) => name,
    }
}

/// Builds an example at every opset; keeps the models that differ.
pub fn build_example(id: usize, example: &Example, checked: &Checked, rules: &Rules, passes: Passes) -> Tried {
    let mut tried = Tried { record: None, failures: Vec::new(), reached: BTreeSet::new(), refused: Vec::new() };
    let mut models: Vec<Built> = Vec::new();
    let mut last = String::new();
    let reference = build::reference_opset(&example.target);
    // A `raise` does not concern older opsets, except that of the reference.
    let oldest = if matches!(example.target, Target::Raise(..)) { reference.unwrap_or(MIN_OPSET) } else { MIN_OPSET };
    for opset in oldest..=MAX_OPSET {
        let (outcome, arms) = build(example, checked, rules, opset, passes, Lacks::Usual);
        tried.reached.extend(arms);
        match outcome {
            Outcome::Built(built) => models.push(built),
            Outcome::Refused { needs: Some(needs), .. } if needs > opset && needs <= MAX_OPSET => {
                tried.refused.push(opset);
            }
            Outcome::Refused { reason, .. } | Outcome::Failed(reason) | Outcome::Broken(reason) => {
                let same = reason.replace(&format!("opset {opset}"), "this opset");
                if same != last {
                    tried.failures.push(format!("{}\n    opset {opset}: {reason}", text(example)));
                }
                last = same;
            }
        }
    }
    let native = match replaced(example) {
        Some(before) => built_for_reference(&before, checked, rules, &mut tried),
        None => models.iter().find(|m| Some(m.opset) == reference).map(|m| (m.opset, m.bytes.clone())),
    };
    models.extend(avoided(example, checked, rules, passes, &mut tried));
    if !models.is_empty() {
        tried.record = Some(record::record(id, example, checked, differing(models), native));
    }
    tried
}

/// The call that a `fuse` rule replaces, for an example of one.
pub fn replaced(example: &Example) -> Option<Example> {
    let Target::Map(name) = &example.target else { return None };
    let before = format!("{name}.{}", Fuse::BEFORE);
    (is_fusion(name) && !is_replaced(name)).then(|| Example { target: Target::Map(before), ..example.clone() })
}

/// The model of a call that others are compared with, at the newest opset that the runtime supports.
fn built_for_reference(
    example: &Example,
    checked: &Checked,
    rules: &Rules,
    tried: &mut Tried,
) -> Option<(u32, Vec<u8>)> {
    match build(example, checked, rules, newest_run(), Passes::NONE, Lacks::Usual) {
        (Outcome::Built(built), arms) => {
            tried.reached.extend(arms);
            Some((built.opset, built.bytes))
        }
        (Outcome::Refused { reason, .. } | Outcome::Failed(reason) | Outcome::Broken(reason), _) => {
            tried.failures.push(format!("{}\n    what it replaces: {reason}", text(example)));
            None
        }
    }
}

/// The models in which `lower OP avoided` replaces the operator, at the opsets that have it.
fn avoided(example: &Example, checked: &Checked, rules: &Rules, passes: Passes, tried: &mut Tried) -> Vec<Built> {
    let Target::Lower(op) = &example.target else { return Vec::new() };
    let oldest = schema::find(op).and_then(|op| op.versions.first()).map_or(MIN_OPSET, |v| v.since.max(MIN_OPSET));
    let mut models = Vec::new();
    if checked.program.lower(op, AVOIDED).is_none() {
        return models;
    }
    for opset in oldest..=newest_run() {
        let (outcome, arms) = build(example, checked, rules, opset, passes, Lacks::Operator);
        tried.reached.extend(arms);
        match outcome {
            Outcome::Built(built) => models.push(built),
            Outcome::Refused { .. } => {}
            Outcome::Failed(reason) | Outcome::Broken(reason) => {
                tried.failures.push(format!("{}\n    avoided at opset {opset}: {reason}", text(example)));
            }
        }
    }
    models
}

/// The models that differ: of each run of equal graphs, those at the oldest and the newest opset that the runtime supports.
fn differing(models: Vec<Built>) -> Vec<Built> {
    let mut kept: Vec<Built> = Vec::new();
    let mut newest: Option<Built> = None;
    let newest_run = newest_run();
    for model in models {
        let same = kept.last().is_some_and(|first| first.unversioned == model.unversioned);
        if !same {
            kept.extend(newest.take());
            kept.push(model);
        } else if model.opset <= newest_run {
            newest = Some(model);
        }
    }
    kept.extend(newest);
    kept
}
