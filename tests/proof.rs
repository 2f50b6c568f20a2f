//! The proof against the world: what the rule compiler says of each example at each opset is what happens.
#![cfg(feature = "mappings")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use aten2onnx::examples::{self, Outcome};
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::{Examiner, Proof};
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

/// What contradicts the proof in the outcome of an example at an opset.
fn contradiction(proof: &Proof, opset: u32, outcome: &Outcome) -> Option<String> {
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
        Outcome::Failed(reason) => Some(format!("failed: {reason}")),
    }
}

fn list(ops: &BTreeSet<&str>) -> String {
    format!("[{}]", ops.iter().copied().collect::<Vec<_>>().join(", "))
}

/// The functions of Rust, and the builder, whose declared operators are not those that they emitted.
fn wrong_declarations(
    checked: &Checked,
    externs: &BTreeMap<String, BTreeSet<&str>>,
    implicit: &BTreeSet<&str>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, ops) in externs {
        let mut declared = checked.program.emits.get(name).map(|emits| emits.ops.clone()).unwrap_or_default();
        declared.sort();
        if !ops.iter().eq(&declared) {
            wrong.push(format!("extern fn {name} emits {}\n    but declares [{}]", list(ops), declared.join(", ")));
        }
    }
    let mut declared = checked.schemas.opsets.implicit.clone();
    declared.sort();
    if !implicit.iter().eq(&declared) {
        wrong.push(format!("the builder emits {}\n    but opsets.toml has [{}]", list(implicit), declared.join(", ")));
    }
    wrong
}

#[test]
fn an_operator_that_is_not_declared_is_found() {
    let set = Arc::new(MappingFiles::replacing(&Path::new(env!("CARGO_MANIFEST_DIR")).join("mappings")).unwrap());
    let mut rules = Rules::default();
    rules.set_files(set.clone());
    let mut checked = aten2onnx_opmap::check_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("mappings")).unwrap();
    let examples = checked.program.examples.clone();
    let mut emitted = BTreeSet::new();
    for example in examples.iter().filter(|example| examples::target(example) == "AffineGrid") {
        let mut observed = examples::observe(example, &checked, &rules, MIN_OPSET);
        emitted.extend(observed.externs.remove("reshape").unwrap_or_default());
    }
    assert!(emitted.contains("Reshape"), "{emitted:?}");
    let externs = BTreeMap::from([("reshape".to_owned(), emitted)]);
    let found = |checked: &Checked| {
        wrong_declarations(checked, &externs, &BTreeSet::new()).iter().any(|line| line.contains("extern fn reshape"))
    };
    // One is missing, then one too many.
    checked.program.emits.get_mut("reshape").unwrap().ops.retain(|op| op != "Reshape");
    assert!(found(&checked));
    checked.program.emits.get_mut("reshape").unwrap().ops.extend(["Reshape".to_owned(), "Loop".to_owned()]);
    assert!(found(&checked));
}

#[test]
fn an_undeclared_refusal_is_found() {
    let refused = Outcome::Refused { needs: Some(11), reason: "it needs sizes (in the rule for `Resize`)".to_owned() };
    assert!(contradiction(&Proof::default(), 9, &refused).unwrap().contains("the proof expects []"));
    let built = Outcome::Failed("a fault".to_owned());
    assert!(contradiction(&Proof::default(), 9, &built).is_some());
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    #[test]
    fn every_example_does_what_the_proof_says() {
        let set = Arc::new(MappingFiles::replacing(&Path::new(env!("CARGO_MANIFEST_DIR")).join("mappings")).unwrap());
        let mut rules = Rules::default();
        rules.set_files(set.clone());
        let checked = set.checked();
        let mut examiner = Examiner::new(&checked.program, &checked.schemas);
        let mut contradictions = Vec::new();
        let (mut covered, mut refused, mut open) = (0, 0, 0);
        let mut externs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut implicit = BTreeSet::new();
        for example in &checked.program.examples {
            let text = examples::text(example);
            let proof = examiner.examine(example).unwrap();
            let mut advised: BTreeSet<(u32, u32)> = BTreeSet::new();
            let mut built = BTreeSet::new();
            for opset in MIN_OPSET..=MAX_OPSET {
                let observed = examples::observe(example, checked, &rules, opset);
                implicit.extend(&observed.implicit);
                for (name, ops) in &observed.externs {
                    externs.entry(name.clone()).or_default().extend(ops);
                }
                let (outcome, arms) = (observed.outcome, observed.arms);
                let is_refused = proof.verdict.refusals.values().any(|at| at.has(opset));
                match (proof.verdict.works.has(opset), is_refused) {
                    (true, false) => covered += 1,
                    (true, true) => open += 1,
                    (false, _) => refused += 1,
                }
                if let Some(what) = contradiction(&proof, opset, &outcome) {
                    contradictions.push(format!("{text}\n    opset {opset}: {what}"));
                }
                let unforeseen = arms.iter().filter_map(|arm| {
                    let number = arm.checked_sub(set.first_arm())?;
                    let at = proof.arms.get(number as usize)?;
                    (!at.has(opset)).then(|| &checked.program.arms[number as usize])
                });
                for arm in unforeseen {
                    contradictions.push(format!(
                        "{text}\n    opset {opset}: takes the branch `{}` of `{}`, which the proof rules out",
                        arm.text, arm.rule
                    ));
                }
                match outcome {
                    Outcome::Built(_) => drop(built.insert(opset)),
                    Outcome::Refused { needs: Some(needs), .. } => drop(advised.insert((opset, needs))),
                    _ => {}
                }
            }
            // What an error advises is the first opset that works.
            for (opset, needs) in advised {
                let first = built.iter().find(|works| **works > opset);
                if first != Some(&needs) {
                    contradictions
                        .push(format!("{text}\n    at opset {opset} an error advises {needs}; first works {first:?}"));
                }
            }
        }
        contradictions.extend(wrong_declarations(checked, &externs, &implicit));
        // Where the proof says "either", it says little.
        assert!(covered > 50_000 && open * 50 < covered, "{covered} covered, {refused} refused, {open} either");
        assert!(contradictions.is_empty(), "{} contradictions\n{}", contradictions.len(), contradictions.join("\n"));
    }
}
