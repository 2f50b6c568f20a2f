//! Runs examples at every opset: what they do, and what contradicts the proof in it.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_builder::ExternRecord;
use aten2onnx_examples::{self as examples, Observed, Outcome};
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_opmap::coverage::{Examiner, Proof};
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;
use aten2onnx_verify::plan;

use super::sides::Sides;

/// What examples do.
#[derive(Default)]
pub struct Survey {
    /// What the proof does not say.
    pub contradictions: Vec<String>,
    /// What each `extern fn` did.
    pub externs: BTreeMap<String, ExternRecord>,
    /// The operators that the builder emitted without a rule.
    pub implicit: BTreeSet<&'static str>,
    /// The opsets at which examples worked and were refused, by overload or operator.
    pub sides: BTreeMap<String, Sides>,
    /// The calls that were held against what the proof says of them.
    pub calls: usize,
    /// How often the proof says that an example works at an opset.
    pub covered: usize,
    /// How often it says that an example is refused.
    pub refused: usize,
    /// How often it says that either may be.
    pub open: usize,
}

impl Survey {
    /// Runs examples of mapping files.
    pub fn of<'a>(examples: impl IntoIterator<Item = &'a Example>, set: &'a MappingFiles, rules: &Rules) -> Survey {
        let checked = set.checked();
        let mut examiner = Examiner::new(&checked.program, &checked.schemas);
        let mut survey = Survey::default();
        for example in examples {
            let proof = examiner.examine(example).unwrap();
            let mut advised: BTreeSet<(u32, u32)> = BTreeSet::new();
            let mut built = BTreeSet::new();
            for opset in MIN_OPSET..=MAX_OPSET {
                let observed = examples::observe(example, checked, rules, opset);
                survey.compare(example, &proof, opset, &observed, set);
                survey.calls += observed.named.len();
                for what in plan::contradictions(&observed.named, opset, &proof.said, examiner.unnamed_calls()) {
                    survey.contradict(example, opset, &what);
                }
                match observed.outcome {
                    Outcome::Built(_) => drop(built.insert(opset)),
                    Outcome::Refused { needs: Some(needs), .. } => drop(advised.insert((opset, needs))),
                    _ => {}
                }
            }
            // What an error advises is the first opset that works.
            for (opset, needs) in advised {
                let first = built.iter().find(|works| **works > opset);
                if first != Some(&needs) {
                    survey.contradict(example, opset, &format!("an error advises {needs}; first works {first:?}"));
                }
            }
        }
        survey
    }

    fn contradict(&mut self, example: &Example, opset: u32, what: &str) {
        self.contradictions.push(format!("{}\n    opset {opset}: {what}", examples::text(example)));
    }

    /// Compares what an example did at an opset with the proof.
    fn compare(&mut self, example: &Example, proof: &Proof, opset: u32, observed: &Observed, set: &MappingFiles) {
        let is_refused = proof.verdict.refusals.values().any(|at| at.has(opset));
        match (proof.verdict.works.has(opset), is_refused) {
            (true, false) => self.covered += 1,
            (true, true) => self.open += 1,
            (false, _) => self.refused += 1,
        }
        if let Some(what) = contradiction(proof, opset, &observed.outcome) {
            self.contradict(example, opset, &what);
        }
        for arm in &observed.arms {
            let Some(number) = arm.checked_sub(aten2onnx_rules::interpret::FIRST_ARM) else { continue };
            if proof.arms.get(number as usize).is_none_or(|at| at.has(opset)) {
                continue;
            }
            let arm = &set.checked().program.arms[number as usize];
            let what = format!("takes the branch `{}` of `{}`, which the proof rules out", arm.text, arm.rule);
            self.contradict(example, opset, &what);
        }
        self.implicit.extend(&observed.implicit);
        for (name, did) in &observed.externs {
            let record = self.externs.entry(name.clone()).or_default();
            record.ops.extend(&did.ops);
            record.refusals.extend(did.refusals.iter().cloned());
        }
        let sides = self.sides.entry(examples::target(example).to_owned()).or_default();
        sides.note(opset, &observed.outcome);
    }
}

/// What contradicts the proof in the outcome of an example at an opset.
pub fn contradiction(proof: &Proof, opset: u32, outcome: &Outcome) -> Option<String> {
    let verdict = &proof.verdict;
    let refusals: Vec<_> = verdict.refusals.iter().filter(|(_, at)| at.has(opset)).map(|(r, _)| r).collect();
    match outcome {
        Outcome::Built(_) if verdict.works.has(opset) => None,
        Outcome::Built(_) => Some("it works, but the proof says that it is refused".to_owned()),
        Outcome::Refused { needs, reason } => {
            // The text of an error also names the rule.
            let is_declared =
                refusals.iter().any(|refusal| Some(refusal.since) == *needs && reason.contains(&*refusal.reason));
            let expected: Vec<String> = refusals.iter().map(|r| format!("`{}` since {}", r.reason, r.since)).collect();
            (!is_declared).then(|| format!("refused until {needs:?}: {reason}\n    the proof expects {expected:?}"))
        }
        Outcome::Failed(reason) | Outcome::Broken(reason) => Some(format!("failed: {reason}")),
    }
}

#[test]
fn an_undeclared_refusal_is_found() {
    let refused = Outcome::Refused { needs: Some(11), reason: "it needs sizes (in the rule for `Resize`)".to_owned() };
    assert!(contradiction(&Proof::default(), 9, &refused).unwrap().contains("the proof expects []"));
    let built = Outcome::Failed("a fault".to_owned());
    assert!(contradiction(&Proof::default(), 9, &built).is_some());
}
