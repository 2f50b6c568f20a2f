//! One Python process for all programs, each of which is a fork of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use serde_json::json;
use tempfile::TempDir;

use super::{Program, Ran};
use crate::common::{interpreter, root};

/// The process. It ends when this program does, because that closes its standard input.
struct Host {
    socket: PathBuf,
    _process: Child,
    _folder: TempDir,
}

static HOST: LazyLock<Host> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let mut process = Command::new(interpreter())
        .arg(root().join("tests/host/host.py"))
        .arg(&socket)
        .current_dir(root())
        // The order of sets does not change from run to run.
        .env("PYTHONHASHSEED", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the interpreter starts");
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready", "tests/host/host.py does not start");
    Host { socket, _process: process, _folder: folder }
});

/// Runs a program. What it prints is returned or, if it is shown, goes where this program prints errors, line by line.
pub(super) fn run(program: &Program<'_>, arguments: &[&str], is_shown: bool) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| (!is_shown).then(|| folder.path().join(name)));
    let (script, code) = match program {
        Program::Script(path) => (Some(path), None),
        Program::Code(text) => (None, Some(text)),
    };
    let asked = json!({
        "script": script, "code": code, "arguments": arguments, "folder": root(), "stdout": stdout, "stderr": stderr,
    });
    let mut connection = UnixStream::connect(&HOST.socket).expect("tests/host/host.py runs");
    connection.write_all(asked.to_string().as_bytes()).unwrap();
    connection.shutdown(Shutdown::Write).unwrap();
    // A fork that dies gives no answer.
    let mut code = String::new();
    connection.read_to_string(&mut code).unwrap();
    let printed = |path: Option<PathBuf>| path.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    Ran { stdout: printed(stdout), stderr: printed(stderr), succeeded: code == "0" }
}
