//! `aten2onnx convert`: models at other opsets, judged by onnx and ONNX Runtime. See `tests/convert/*.py`.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::Command;

mod common;
#[path = "convert/fuzz.rs"]
mod fuzz;

/// Runs one of the scripts, which says what is wrong.
fn judged_by(script: &str, arguments: &[&str]) {
    let status = Command::new(common::interpreter())
        .arg(common::root().join("tests/convert").join(script))
        .arg(env!("CARGO_BIN_EXE_aten2onnx"))
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success(), "{script}: see above");
}

#[test]
fn whole_models_give_the_numbers_of_pytorch() {
    let folder = common::root().join("tests/data/convert");
    judged_by("models.py", &[folder.to_str().unwrap()]);
}

#[test]
fn what_a_model_has_is_kept_changed_or_refused() {
    judged_by("features.py", &[]);
}
