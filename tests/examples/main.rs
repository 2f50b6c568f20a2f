//! Every example of every rule: built at each opset where its graph differs, run, and compared with PyTorch (a `map`) or with the
//! native operator (a `lower`). Every branch of every rule must be reached by some example.
//!
//! `src/examples/judge.py` runs the models; the interpreter is that of `ATEN2ONNX_PYTHON`, else `.venv/bin/python`. To work on a few rules:
//! `EXAMPLES=aten::elu,Gelu cargo test --test examples`. `PASSES=1` runs the passes over each graph too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod emitted;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use aten2onnx::examples::{self, Judge, Record};
use aten2onnx_builder::passes::Passes;
use aten2onnx_opmap::{Checked, check_dir};
use aten2onnx_rules::{BUILT_IN, Rules};

/// Examples that fail for a reason that is not ours: the text, and why. One that starts to pass fails the test.
const EXPECTED_FAILURES: &str = include_str!("expected_failures.txt");

#[test]
fn examples_give_the_right_numbers_at_every_opset() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let checked = check_dir(&root.join("mappings")).unwrap();
    assert!(checked.diagnostics.is_empty(), "the mappings have errors: run `cargo run -p aten2onnx-codegen -- check`");
    let wanted: Option<Vec<String>> = std::env::var("EXAMPLES").ok().map(|e| e.split(',').map(str::to_owned).collect());
    let rules = Rules::default();
    let mut records = Vec::new();
    let mut failures = Vec::new();
    let mut reached = BTreeSet::new();
    let passes = if std::env::var_os("PASSES").is_some() { Passes::ALL } else { Passes::NONE };
    for (id, example) in checked.program.examples.iter().enumerate() {
        if wanted.as_ref().is_some_and(|w| !w.iter().any(|n| n == examples::target(example))) {
            continue;
        }
        let tried = examples::run(id, example, &checked, &rules, passes);
        failures.extend(tried.failures);
        reached.extend(tried.reached);
        records.extend(tried.record);
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
        BUILT_IN.arms.len()
    );
    let report = failures.iter().chain(&unreached).cloned().collect::<Vec<_>>().join("\n");
    std::fs::write(folder.join("report.txt"), &report).unwrap();
    assert!(failures.is_empty() && unreached.is_empty(), "{report}");
}

/// Runs the judge over the records.
fn judged(records: &[Record], folder: &Path) -> Vec<String> {
    let python = PathBuf::from(std::env::var_os("ATEN2ONNX_PYTHON").unwrap_or(".venv/bin/python".into()));
    let judge = Judge { python, imports: Vec::new(), folder: folder.to_owned() };
    let verdicts = judge.judge(records).unwrap_or_else(|error| panic!("{error}; `tests/run` makes the environment"));
    let texts: HashMap<usize, &str> = records.iter().map(|r| (r.id, r.text.as_str())).collect();
    let failed = verdicts.values().filter(|v| !v.failures.is_empty());
    failed.map(|verdict| format!("{}\n{}", texts[&verdict.id], verdict.lines().join("\n"))).collect()
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
        let exists = checked.program.examples.iter().any(|e| examples::text(e) == **text);
        let what = if exists { "passes now" } else { "is no example" };
        left.push(format!("{text}\n    {what}: remove it from expected_failures.txt"));
    }
    left
}

fn unreached(reached: &BTreeSet<u32>) -> Vec<String> {
    let missing = BUILT_IN.arms.iter().enumerate().filter(|(i, arm)| !arm.refuses && !reached.contains(&(*i as u32)));
    missing
        .map(|(_, arm)| format!("{}: no example of `{}` reaches the branch `{}`", arm.location, arm.rule, arm.text))
        .collect()
}
