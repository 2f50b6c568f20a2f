//! Python programs of the tests. One process imports PyTorch once, and runs each program in a fork (`host.py`): an import takes seconds. Where
//! there is no `fork`, each program is a process.

use crate::common::root;

#[cfg(unix)]
mod forks;

/// What a program printed, and whether it succeeded.
struct Ran {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    succeeded: bool,
}

/// A program.
enum Program<'p> {
    /// A file.
    Script(&'p str),
    /// A text.
    Code(&'p str),
}

/// Runs a Python program with arguments and returns what it printed. Panics with its errors if it fails.
pub fn python(program: &str, arguments: &[&str]) -> String {
    let ran = run(&Program::Code(program), arguments, false);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.succeeded, "Python failed:\n{stderr}");
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// Runs a script of the folder `tests`, which judges the models that a program (`aten2onnx`) writes, and prints what is wrong.
pub fn judge(script: &str, program: &str, arguments: &[&str]) {
    let path = root().join("tests").join(script);
    let ran = run(&Program::Script(path.to_str().unwrap()), &[&[program], arguments].concat(), true);
    assert!(ran.succeeded, "tests/{script}: see above");
}

#[cfg(unix)]
fn run(program: &Program<'_>, arguments: &[&str], is_shown: bool) -> Ran {
    forks::run(program, arguments, is_shown)
}

#[cfg(not(unix))]
fn run(program: &Program<'_>, arguments: &[&str], is_shown: bool) -> Ran {
    use crate::common::interpreter;
    use std::process::{Command, Stdio};

    let mut command = Command::new(interpreter());
    match program {
        Program::Script(path) => command.arg(path),
        Program::Code(text) => command.arg("-c").arg(text),
    };
    if is_shown {
        command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
    }
    let output = command.args(arguments).current_dir(root()).output().expect("the interpreter starts");
    Ran { stdout: output.stdout, stderr: output.stderr, succeeded: output.status.success() }
}
