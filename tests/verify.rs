//! `verify`: planted faults are found and shrunk, the same seed makes the same calls, and a slice of the rules has no fault.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use aten2onnx::verify::{FaultKind, Row, Settings, run};
use aten2onnx_opmap::check_dir;
use aten2onnx_rules::interpret::MappingFiles;

mod common;

fn settings(wanted: &[&str], typed: usize, sampled: usize) -> Settings {
    Settings {
        wanted: wanted.iter().map(|name| (*name).to_owned()).collect(),
        seed: 1,
        opsets: vec![9, 13, 18, 23, 28],
        typed,
        sampled,
        budget: None,
        python: common::interpreter(),
        imports: Vec::new(),
        jobs: 2,
    }
}

fn rows(settings: &Settings, set: &Arc<MappingFiles>) -> BTreeMap<String, Row> {
    let rows = Mutex::new(BTreeMap::new());
    let keep = |name: &str, row: Row| {
        rows.lock().unwrap().insert(name.to_owned(), row);
        Ok(())
    };
    run(settings, set, &keep).unwrap_or_else(|error| panic!("{error}"));
    rows.into_inner().unwrap()
}

/// The rules of the project with a change.
fn changed(rule: &str, to: &str) -> (tempfile::TempDir, Arc<MappingFiles>) {
    let folder = tempfile::tempdir().unwrap();
    let mut found = false;
    copy(&common::root().join("mappings"), folder.path(), &mut |text| {
        found |= text.contains(rule);
        text.replace(rule, to)
    });
    assert!(found, "no rule has the text `{rule}`");
    let checked = check_dir(folder.path()).unwrap();
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics.first());
    let set = Arc::new(MappingFiles::replacing(folder.path()).unwrap());
    (folder, set)
}

fn copy(from: &Path, to: &Path, edit: &mut dyn FnMut(&str) -> String) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&path, &target, edit);
        } else if path.extension().is_some_and(|extension| extension == "opmap") {
            std::fs::write(&target, edit(&std::fs::read_to_string(&path).unwrap())).unwrap();
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

mod python {
    use super::*;

    #[test]
    fn a_wrong_value_is_found_and_shrunk() {
        let relu = "map aten::relu(Tensor self) -> Tensor";
        let (_folder, set) = changed(relu, relu);
        let row = &rows(&settings(&["aten::relu"], 200, 20), &set)["aten::relu"];
        assert!(row.faults.is_empty(), "{:?}", row.faults);
        assert!(row.typed >= 200 && row.sampled.values().all(|calls| *calls > 0), "{row:?}");
    }
}
