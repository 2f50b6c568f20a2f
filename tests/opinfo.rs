//! PyTorch's own samples of its operators against PyTorch: see `tests/opinfo/opinfo.py`.
//!
//! CI takes one sample of every seventh operator. With `--ignored` it is one of every operator (half an hour), or what `OPINFO` says:
//! `OPINFO="--samples 8"` takes eight of each dtype at four opsets, which takes hours, and `OPINFO="--ops add,sort"` some
//! operators alone. All verdicts go to `opinfo.jsonl` in the folder `tmp` of the target.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::process::Command;

fn judge(options: &str) {
    let status = Command::new(common::interpreter())
        .args([
            "tests/opinfo/opinfo.py",
            env!("CARGO_BIN_EXE_aten2onnx"),
            "--out",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/opinfo.jsonl"),
        ])
        .args(options.split_whitespace())
        .status()
        .expect("the interpreter starts");
    assert!(status.success(), "see above: operators that fail, or that no longer do");
}

#[test]
fn samples_of_some_operators_give_the_numbers_of_pytorch() {
    judge("--slice 7");
}

#[ignore = "it takes half an hour"]
#[test]
fn samples_of_all_operators_give_the_numbers_of_pytorch() {
    judge(&std::env::var("OPINFO").unwrap_or_default());
}
