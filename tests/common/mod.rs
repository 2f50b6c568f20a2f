//! What several tests need: the Python interpreter that has onnx, onnxruntime and torch.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The interpreter of `ATEN2ONNX_PYTHON`, or of the environment that `tests/run` makes.
pub fn interpreter() -> PathBuf {
    let python = std::env::var_os("ATEN2ONNX_PYTHON").map_or_else(|| root().join(".venv/bin/python"), PathBuf::from);
    assert!(
        python.exists(),
        "{} is not there: run `tests/run` once, or set ATEN2ONNX_PYTHON to a Python with tests/requirements.txt",
        python.display()
    );
    python
}

/// Runs a Python program with arguments and gives what it printed; panics with its errors if it fails.
pub fn python(program: &str, arguments: &[&str]) -> String {
    let output: Output =
        Command::new(interpreter()).arg("-c").arg(program).args(arguments).output().expect("the interpreter starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "Python failed:\n{stderr}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
