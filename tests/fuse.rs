//! Each `fuse` rule replaces what it says: the passes make of its pattern what they make of its replacement.

use std::collections::BTreeMap;

use aten2onnx_builder::passes::Passes;
use aten2onnx_examples::{Lacks, Outcome, build, replaced};
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_opmap::tree::Example;
use aten2onnx_opmap::{Checked, resolve_dir};

use crate::common;

/// The model of a call without its opset, if there is one.
fn model(example: &Example, checked: &Checked, opset: u32, passes: Passes) -> Option<Vec<u8>> {
    match build(example, checked, &aten2onnx::rules(), opset, passes, Lacks::Usual).0 {
        Outcome::Built(built) => Some(built.unversioned),
        _ => None,
    }
}

#[test]
fn each_fusion_applies_to_each_of_its_examples() {
    let checked = resolve_dir(&common::root().join("mappings")).unwrap();
    let mut missed: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut count = 0;
    for after in &checked.program.examples {
        let Some(before) = replaced(after) else { continue };
        count += 1;
        let opsets = MIN_OPSET..=MAX_OPSET;
        let applies = |opset: &u32| {
            let with = |example: &Example| model(example, &checked, *opset, Passes::ALL);
            with(&before).is_some_and(|model| Some(model) == with(after))
                && with(&before) != model(&before, &checked, *opset, Passes::NONE)
        };
        let found: Vec<u32> = opsets.filter(applies).collect();
        if !found.contains(&MAX_OPSET) {
            missed.insert(after.text.clone(), found);
        }
    }
    assert!(count > 10, "only {count} examples");
    assert!(missed.is_empty(), "where they apply: {missed:#?}");
}
