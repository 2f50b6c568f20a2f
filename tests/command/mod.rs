//! What tests of the command share: they run it in the root of the repository, on the same model.

#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

/// A small model with weights, in the repository.
pub const MODEL: &str = "tests/data/models/mobilenet_like.pt2";

/// Runs the command, without an input.
pub fn aten2onnx(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aten2onnx")).current_dir(crate::common::root()).args(arguments).output().unwrap()
}

/// What a command says that fails.
pub fn failure(arguments: &[&str]) -> String {
    let output = aten2onnx(arguments);
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

/// What a command says that succeeds.
pub fn done(arguments: &[&str]) -> String {
    let output = aten2onnx(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
