//! Every example of every rule: built at each opset where its graph differs, run, and compared with PyTorch (a `map`) or with the
//! native operator (a `lower`). Every branch of every rule must be reached by some example.
//!
//! `src/examples/src/judge.py` runs the models. To work on a few rules:
//! `EXAMPLES=aten::elu,Gelu cargo test --test tests examples::`. `PASSES=1` runs the passes over each graph too.

use crate::{common, host};
mod emitted;
mod expected;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use aten2onnx_builder::passes::Passes;
use aten2onnx_examples::{self as examples, Judge, Record};
use aten2onnx_opmap::tree::Example;
use aten2onnx_opmap::{Checked, check_dir};

/// There are more examples than this, and each gives a model at some opset.
const MIN_EXAMPLES: usize = 3000;

/// What is run: all examples, or those of some rules.
struct Selection(Option<Vec<String>>);

impl Selection {
    fn from_environment(checked: &Checked) -> Selection {
        let Ok(names) = std::env::var("EXAMPLES") else { return Selection(None) };
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        for name in &names {
            let exists = checked.program.examples.iter().any(|example| examples::target(example) == name);
            assert!(exists, "EXAMPLES: there is no example of `{name}`");
        }
        Selection(Some(names))
    }

    fn is_all(&self) -> bool {
        self.0.is_none()
    }

    fn has(&self, example: &Example) -> bool {
        self.0.as_ref().is_none_or(|names| names.iter().any(|name| name == examples::target(example)))
    }
}

/// Runs the judge over the records. Returns the failures that are not expected.
fn judged(records: &[Record], folder: &Path, selection: &Selection) -> Vec<String> {
    let judge = Judge {
        python: host::interpreter(),
        imports: Vec::new(),
        folder: folder.to_owned(),
        mappings: Some(common::root().join("mappings")),
    };
    let verdicts = judge.judge(records).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verdicts.len(), records.len());
    let texts: HashMap<usize, &str> = records.iter().map(|record| (record.id, record.text.as_str())).collect();
    let by_text = verdicts.values().map(|verdict| (texts[&verdict.id], verdict));
    expected::unexpected(&by_text.collect::<Vec<_>>(), selection.is_all())
}

fn unreached(reached: &BTreeSet<u32>) -> Vec<String> {
    let compiled = aten2onnx::compiled::COMPILED.as_ref().expect("the rules of this build are compiled");
    let missing = compiled.arms().filter(|(number, arm)| !arm.refuses && !reached.contains(number));
    missing
        .map(|(_, arm)| format!("{}: no example of `{}` reaches the branch `{}`", arm.location, arm.rule, arm.text))
        .collect()
}

mod python {
    use super::*;

    #[test]
    fn examples_give_the_right_numbers_at_every_opset() {
        let checked = check_dir(&common::root().join("mappings")).unwrap();
        assert!(checked.diagnostics.is_empty(), "the rules have errors: run `cargo run -p aten2onnx-codegen -- check`");
        let selection = Selection::from_environment(&checked);
        let rules = aten2onnx::rules();
        let passes = if std::env::var_os("PASSES").is_some() { Passes::ALL } else { Passes::NONE };
        let mut records = Vec::new();
        let mut failures = Vec::new();
        let mut reached = BTreeSet::new();
        for (id, example) in checked.program.examples.iter().enumerate().filter(|(_, e)| selection.has(e)) {
            let tried = examples::build_example(id, example, &checked, &rules, passes);
            // A rule that refuses its example, and an internal error, are never expected.
            failures.extend(tried.failures);
            reached.extend(tried.reached);
            records.extend(tried.record);
        }
        let folder = common::root().join("target/examples");
        failures.extend(judged(&records, &folder, &selection));
        if selection.is_all() {
            failures.extend(unreached(&reached));
            assert!(records.len() > MIN_EXAMPLES, "only {} examples give models", records.len());
        }
        let report = failures.join("\n");
        std::fs::write(folder.join("report.txt"), &report).unwrap();
        assert!(failures.is_empty(), "{report}");
    }
}
