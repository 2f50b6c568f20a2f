//! Python programs of the tests. One process imports PyTorch once, and runs each program in a fork (`host.py`): an import takes seconds. Where
//! there is no `fork`, each program is a process.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::common::root;

#[cfg(unix)]
mod forks;

/// The interpreter of `common::interpreter`, whose programs find PyTorch imported.
#[cfg(unix)]
pub fn interpreter() -> PathBuf {
    forks::client()
}

/// The interpreter of `common::interpreter`.
#[cfg(not(unix))]
pub fn interpreter() -> PathBuf {
    crate::common::interpreter()
}

/// Runs a Python program with arguments and returns what it printed. Panics with its errors if it fails.
pub fn python(program: &str, arguments: &[&str]) -> String {
    let output: Output = command().args(["-c", program]).args(arguments).output().expect("the interpreter starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "Python failed:\n{stderr}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs a script of the folder `tests`, which judges the models that a program (`aten2onnx`) writes, and prints what is wrong.
pub fn judge(script: &str, program: &str, arguments: &[&str]) {
    let mut command = command();
    command.arg(root().join("tests").join(script)).arg(program).args(arguments);
    let status = command.stdout(Stdio::inherit()).stderr(Stdio::inherit()).status().expect("the interpreter starts");
    assert!(status.success(), "tests/{script}: see above");
}

fn command() -> Command {
    let mut command = Command::new(interpreter());
    command.current_dir(root());
    command
}
