//! One Python process for all programs, each of which is a fork of it.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::common::{self, root};

/// The process. It ends when this program does, because that closes its standard input.
struct Host {
    folder: TempDir,
    _process: Child,
}

static HOST: LazyLock<Host> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let (python, socket) = (common::interpreter(), folder.path().join("socket"));
    let mut process = Command::new(&python)
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
    write_client(&folder.path().join("python"), &python, &socket);
    Host { folder, _process: process }
});

/// A program that is called as Python is, and runs what it is given in a fork.
pub(super) fn client() -> PathBuf {
    HOST.folder.path().join("python")
}

/// Without its packages, the client starts in a hundredth of a second.
fn write_client(path: &Path, python: &Path, socket: &Path) {
    let client = root().join("tests/host/client.py");
    let [python, client, socket] = [python, &client, socket].map(|path| format!("'{}'", path.display()));
    let text = format!("#!/bin/sh\nexec {python} -I -S {client} {socket} {python} \"$@\"\n");
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
