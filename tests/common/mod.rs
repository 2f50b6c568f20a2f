//! What tests of all crates share: the Python interpreter that has torch, onnx and onnxruntime, and how programs are run with it.
//!
//! Tests that use it are in a module `python` of their file. `tests/run --fast` leaves out all tests whose names contain `python::`
//! or `slow::`, and sets `ATEN2ONNX_PYTHON` to `none`: a test that is in another module then fails here.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The variable that names the interpreter.
const VARIABLE: &str = "ATEN2ONNX_PYTHON";

/// The root of the repository, for the tests of any crate.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("tests/requirements.txt").exists()).expect("the repository is whole")
}

/// The interpreter of `ATEN2ONNX_PYTHON`, or of the environment that `tests/run` creates.
pub fn interpreter() -> PathBuf {
    let chosen = std::env::var_os(VARIABLE);
    assert!(
        chosen.as_deref().is_none_or(|name| name != "none"),
        "this test needs Python, but {VARIABLE} is `none`, as `tests/run --fast` sets it: move the test into a module `python`"
    );
    let python = chosen.map_or_else(|| root().join(".venv/bin/python"), PathBuf::from);
    assert!(
        python.exists(),
        "{} does not exist: run `tests/run` once, or set {VARIABLE} to a Python with the packages of tests/requirements.txt",
        python.display()
    );
    python
}

/// Cargo, in the root of the repository. `tests/run --shuffle` lets test programs take options that are not stable; with that, crates would
/// be compiled again.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).env_remove("RUSTC_BOOTSTRAP");
    cargo
}

/// Runs a Python program with arguments and returns what it printed. Panics with its errors if it fails.
pub fn python(program: &str, arguments: &[&str]) -> String {
    let output: Output = Command::new(interpreter())
        .current_dir(root())
        .arg("-c")
        .arg(program)
        .args(arguments)
        .output()
        .expect("the interpreter starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "Python failed:\n{stderr}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Copies a folder with all that is in it.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// All files below a folder, by their path in it.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut open = vec![folder.to_owned()];
    let mut found = BTreeMap::new();
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}
