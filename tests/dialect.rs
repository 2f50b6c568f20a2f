//! What torch.export writes beyond plain calls of operators, against PyTorch: see `tests/dialect/`.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::Command;

fn judge(script: &str, args: &[&str]) {
    let python = std::env::var("ATEN2ONNX_PYTHON").unwrap_or_else(|_| ".venv/bin/python".to_owned());
    let status = Command::new(&python)
        .args([&format!("tests/dialect/{script}"), env!("CARGO_BIN_EXE_aten2onnx")])
        .args(args)
        .status()
        .unwrap_or_else(|e| panic!("{python}: {e}; `tests/run` makes the environment, or set ATEN2ONNX_PYTHON"));
    assert!(status.success(), "some programs are wrong: see above");
}

#[test]
fn programs_give_the_numbers_of_pytorch() {
    judge("judge.py", &["--opsets", "9,18"]);
}
