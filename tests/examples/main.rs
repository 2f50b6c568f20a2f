//! Every example of every rule: built at each opset where its graph differs, run, and compared with PyTorch (a `map`) or with the
//! native operator (a `lower`). Every branch of every rule must be reached by some example.
//!
//! `judge.py` runs the models; the interpreter is that of `ATEN2ONNX_PYTHON`, else `.venv/bin/python`. To work on a few rules:
//! `EXAMPLES=aten::elu,Gelu cargo test --test examples`. `PASSES=1` runs the passes over each graph too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod build;
mod record;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use aten2onnx::rules;
use aten2onnx_codegen::tree::{Example, Target};
use aten2onnx_codegen::{Checked, check_dir};

use build::{Built, Outcome};
use record::Record;

/// Examples that fail for a reason that is not ours: the text, and why. One that starts to pass fails the test.
const EXPECTED_FAILURES: &str = include_str!("expected_failures.txt");

#[test]
fn examples_give_the_right_numbers_at_every_opset() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let checked = check_dir(&root.join("mappings")).unwrap();
    assert!(checked.diagnostics.is_empty(), "the mappings have errors: run `cargo run -p aten2onnx-codegen -- check`");
    let wanted: Option<Vec<String>> = std::env::var("EXAMPLES").ok().map(|e| e.split(',').map(str::to_owned).collect());
    let mut records = Vec::new();
    let mut failures = Vec::new();
    let mut reached = BTreeSet::new();
    for (id, example) in checked.program.examples.iter().enumerate() {
        if wanted.as_ref().is_some_and(|w| !w.iter().any(|n| n == name(&example.target))) {
            continue;
        }
        let (record, mut wrong) = run(id, example, &checked, &mut reached);
        failures.append(&mut wrong);
        records.extend(record);
    }
    let folder = root.join("target/examples");
    failures.extend(judged(&records, &folder));
    let failures = without_expected(failures, &checked, wanted.is_none());
    let unreached = if wanted.is_none() { unreached(&reached) } else { Vec::new() };
    println!(
        "{} examples, {} failures, {} of {} branches reached",
        records.len(),
        failures.len(),
        reached.len(),
        rules::ARMS.len()
    );
    let report = failures.iter().chain(&unreached).cloned().collect::<Vec<_>>().join("\n");
    std::fs::write(folder.join("report.txt"), &report).unwrap();
    assert!(failures.is_empty() && unreached.is_empty(), "{report}");
}

/// The example as written; one of a family says which row it is.
fn text(example: &Example) -> String {
    if example.text.contains("{") && !example.text.contains(name(&example.target)) {
        return format!("{} (of {})", example.text, name(&example.target));
    }
    example.text.clone()
}

fn name(target: &Target) -> &str {
    match target {
        Target::Map(name) | Target::Lower(name) => name,
    }
}

/// Builds an example at every opset; gives what the judge needs, and what went wrong already.
fn run(id: usize, example: &Example, checked: &Checked, reached: &mut BTreeSet<u32>) -> (Option<Record>, Vec<String>) {
    let mut failures = Vec::new();
    let mut models: Vec<Built> = Vec::new();
    let mut last = String::new();
    for opset in rules::MIN_OPSET..=rules::MAX_OPSET {
        let (outcome, arms) = build::build(example, checked, opset);
        reached.extend(arms);
        match outcome {
            Outcome::Built(built) => models.push(built),
            Outcome::Refused { needs: Some(needs), .. } if needs > opset && needs <= rules::MAX_OPSET => {}
            Outcome::Refused { reason, .. } | Outcome::Failed(reason) => {
                let same = reason.replace(&format!("opset {opset}"), "this opset");
                if same != last {
                    failures.push(format!("{}\n    opset {opset}: {reason}", text(example)));
                }
                last = same;
            }
        }
    }
    let native = match &example.target {
        Target::Map(_) => None,
        Target::Lower(op) => {
            models.iter().find(|m| m.opset == build::native_opset(op)).map(|m| (m.opset, m.bytes.clone()))
        }
    };
    if models.is_empty() {
        return (None, failures);
    }
    let models = differing(models);
    (Some(record::record(id, example, checked, models, native)), failures)
}

/// The opsets at which the graph differs: the oldest and the newest that the runtime takes of each run of equal graphs.
fn differing(models: Vec<Built>) -> Vec<Built> {
    let mut runs: Vec<Vec<Built>> = Vec::new();
    for model in models {
        match runs.last_mut() {
            Some(run) if run[0].unversioned == model.unversioned => run.push(model),
            _ => runs.push(vec![model]),
        }
    }
    let mut kept = Vec::new();
    for mut run in runs {
        let newest = run.iter().rposition(|m| m.opset <= 26).filter(|at| *at > 0);
        let last = newest.map(|at| run.remove(at));
        kept.push(run.remove(0));
        kept.extend(last);
    }
    kept
}

/// Runs the judge over the records.
fn judged(records: &[Record], folder: &Path) -> Vec<String> {
    std::fs::create_dir_all(folder).unwrap();
    let (cases, verdicts) = (folder.join("cases.jsonl"), folder.join("verdicts.jsonl"));
    let lines: Vec<String> = records.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
    std::fs::write(&cases, lines.join("\n")).unwrap();
    if records.is_empty() {
        return Vec::new();
    }
    let python = std::env::var("ATEN2ONNX_PYTHON").unwrap_or_else(|_| ".venv/bin/python".to_owned());
    let status = Command::new(&python)
        .arg("tests/examples/judge.py")
        .args([&cases, &verdicts])
        .status()
        .unwrap_or_else(|e| panic!("{python}: {e}; `tests/run` makes the environment, or set ATEN2ONNX_PYTHON"));
    assert!(status.success(), "the judge failed");
    let texts: HashMap<usize, &str> = records.iter().map(|r| (r.id, r.text.as_str())).collect();
    let mut sorted = BTreeMap::new();
    for line in std::fs::read_to_string(&verdicts).unwrap().lines() {
        let verdict: record::Verdict = serde_json::from_str(line).unwrap();
        sorted.insert(verdict.id, verdict);
    }
    assert_eq!(sorted.len(), records.len(), "the judge left records out");
    let mut failures = Vec::new();
    for verdict in sorted.values().filter(|v| !v.failures.is_empty()) {
        let lines: Vec<String> =
            verdict.failures.iter().map(|f| format!("    opset {}: {}", f.opset, f.what)).collect();
        failures.push(format!("{}\n{}", texts[&verdict.id], lines.join("\n")));
    }
    failures
}

fn without_expected(failures: Vec<String>, checked: &Checked, whole: bool) -> Vec<String> {
    let expected: BTreeMap<&str, &str> = EXPECTED_FAILURES
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'))
        .map(|l| l.split_once(" => ").unwrap_or_else(|| panic!("expected_failures.txt: no reason in `{l}`")))
        .collect();
    let failed: BTreeSet<&str> = failures.iter().map(|f| f.lines().next().unwrap_or("")).collect();
    let mut left: Vec<String> =
        failures.iter().filter(|f| !expected.contains_key(f.lines().next().unwrap_or(""))).cloned().collect();
    for text in expected.keys().filter(|t| whole && !failed.contains(*t)) {
        let exists = checked.program.examples.iter().any(|e| self::text(e) == **text);
        let what = if exists { "passes now" } else { "is no example" };
        left.push(format!("{text}\n    {what}: remove it from expected_failures.txt"));
    }
    left
}

fn unreached(reached: &BTreeSet<u32>) -> Vec<String> {
    let missing = rules::ARMS.iter().enumerate().filter(|(i, arm)| !arm.refuses && !reached.contains(&(*i as u32)));
    missing
        .map(|(_, arm)| format!("{}: no example of `{}` reaches the branch `{}`", arm.location, arm.rule, arm.text))
        .collect()
}
