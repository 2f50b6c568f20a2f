//! Whole models at many opsets, with fixed and symbolic sizes, against PyTorch: see `tests/models/judge.py`.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::Command;

#[test]
fn whole_models_give_the_numbers_of_pytorch() {
    let python = std::env::var("ATEN2ONNX_PYTHON").unwrap_or_else(|_| ".venv/bin/python".to_owned());
    let wanted = std::env::var("MODELS").unwrap_or_default();
    let status = Command::new(&python)
        .args(["tests/models/judge.py", env!("CARGO_BIN_EXE_aten2onnx")])
        .args(wanted.split_whitespace())
        .status()
        .unwrap_or_else(|e| panic!("{python}: {e}; `tests/run` makes the environment, or set ATEN2ONNX_PYTHON"));
    assert!(status.success(), "some models are wrong: see above");
}
