//! Runs examples of rules and compares them with PyTorch, for the command `try` and for pages.

use std::collections::BTreeSet;
use std::path::Path;

use aten2onnx_builder::passes::Passes;
use aten2onnx_core::error::Result;
use aten2onnx_examples::{self as examples, StartedJudge};
use aten2onnx_opmap::coverage::Examiner;
use aten2onnx_opmap::tree::{Example, Target};
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;
use rustc_hash::FxHashSet;

use super::text;

/// The examples that cannot pass for external reasons, listed in the tests of this project.
pub fn expected_failures(rules: &Path) -> FxHashSet<String> {
    let path = rules.join("../tests/examples/expected_failures.txt");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once(" => ")).map(|(text, _)| text.to_owned()).collect()
}

/// What became of examples.
#[derive(Debug)]
pub struct Trial {
    outcomes: Vec<Outcome>,
    /// Branches of the rules that no example reaches.
    unreached: Vec<String>,
    /// The same for helpers, which examples of other rules may reach.
    in_helpers: Vec<String>,
}

/// Runs examples at every opset, and has them compared with PyTorch.
///
/// # Errors
/// Python cannot be run, or a file cannot be written.
pub fn try_examples(wanted: &[&Example], set: &MappingFiles, rules: &Rules, judge: StartedJudge) -> Result<Trial> {
    let mut reached = BTreeSet::new();
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut records = Vec::new();
    for (id, example) in wanted.iter().enumerate() {
        let tried = examples::build_example(id, example, set.checked(), rules, Passes::NONE);
        reached.extend(tried.reached);
        outcomes.push(Outcome { text: examples::text(example), failures: tried.failures, refused: tried.refused });
        records.extend(tried.record);
    }
    for (id, verdict) in judge.judge(&records)? {
        if let Some(outcome) = outcomes.get_mut(id) {
            outcome.failures.extend(verdict.lines());
        }
    }
    let unreached = unreached(set, wanted, &reached);
    Ok(Trial { outcomes, unreached, in_helpers: unreached_in_helpers(set, wanted, &reached) })
}

impl Trial {
    /// The text for people, whose last line has no end, and whether all is right. `expected` are examples that may fail.
    pub fn shown(&self, expected: &dyn Fn(&str) -> bool) -> (String, bool) {
        let mut failed = 0;
        let mut shown = String::new();
        for outcome in &self.outcomes {
            let known = expected(&outcome.text);
            failed += usize::from(!outcome.failures.is_empty() && !known);
            shown.push_str(&outcome.shown(known));
        }
        shown.extend(self.unreached.iter().map(|line| format!("{line}\n")));
        shown.extend(self.in_helpers.iter().map(|line| format!("note: {line}\n")));
        let branches = self.unreached.len();
        shown.push_str(&format!(
            "{}, {failed} failed, {} not reached",
            text::count(self.outcomes.len(), "example"),
            if branches == 1 { "1 branch".to_owned() } else { format!("{branches} branches") },
        ));
        (shown, failed == 0 && branches == 0)
    }
}

/// The result of an example.
#[derive(Debug)]
struct Outcome {
    text: String,
    failures: Vec<String>,
    refused: Vec<u32>,
}

impl Outcome {
    fn shown(&self, expected: bool) -> String {
        let refused = match self.refused.is_empty() {
            true => String::new(),
            false => format!("  (not at opset {})", text::ranges(&self.refused)),
        };
        match (self.failures.is_empty(), expected) {
            (true, false) => format!("ok    {}{refused}\n", self.text),
            (true, true) => format!("ok    {}{refused}, which was expected to fail\n", self.text),
            (false, true) => format!("known {}{refused}\n", self.text),
            (false, false) => format!("FAIL  {}{refused}\n{}\n", self.text, self.failures.join("\n")),
        }
    }
}

/// The name of an example's rule; for lowerings, the operator.
fn rule_of(example: &Example) -> String {
    match &example.target {
        Target::Map(name) | Target::Lower(name) => name.clone(),
        Target::Raise(op, from) => format!("{op} from {from}"),
    }
}

/// The branches of helpers in the files that some call of the requested rules reaches, and no example of them does. Examples of other rules may.
fn unreached_in_helpers(set: &MappingFiles, wanted: &[&Example], reached: &BTreeSet<u32>) -> Vec<String> {
    let checked = set.checked();
    let program = &checked.program;
    let mut examiner = Examiner::new(program, &checked.schemas);
    let mut open = BTreeSet::new();
    let rules: BTreeSet<String> = wanted.iter().map(|example| rule_of(example)).collect();
    for rule in &rules {
        let branches = examiner.branches_of(rule).into_iter().zip(aten2onnx_rules::interpret::FIRST_ARM..);
        open.extend(branches.filter(|(at, _)| !at.is_empty()).map(|(_, number)| number));
    }
    let arms = program.arms.iter().zip(aten2onnx_rules::interpret::FIRST_ARM..);
    let missing = arms.filter(|(arm, number)| {
        let is_own = checked.is_own(arm.span.file) && program.helper(&arm.rule).is_some();
        is_own && open.contains(number) && !reached.contains(number) && !arm.refuses
    });
    missing
        .map(|(arm, _)| {
            let place = checked.sources.place(arm.span);
            format!("{place}: the helper `{}` has the branch `{}`, which no example here reaches", arm.rule, arm.text)
        })
        .collect()
}

/// The branches of the requested rules that no example reaches.
fn unreached(set: &MappingFiles, wanted: &[&Example], reached: &BTreeSet<u32>) -> Vec<String> {
    let targets: FxHashSet<String> = wanted.iter().map(|example| rule_of(example)).collect();
    let of_wanted = |rule: &str| {
        let op = rule.split_once(" before ").map_or(rule, |(op, _)| op);
        targets.contains(op)
    };
    let checked = set.checked();
    let missing = checked.program.arms.iter().zip(aten2onnx_rules::interpret::FIRST_ARM..).filter(|(arm, number)| {
        of_wanted(&arm.rule) && checked.is_own(arm.span.file) && !arm.refuses && !reached.contains(number)
    });
    missing
        .map(|(arm, _)| {
            let place = checked.sources.place(arm.span);
            format!("{place}: no example of `{}` reaches the branch `{}`", arm.rule, arm.text)
        })
        .collect()
}
