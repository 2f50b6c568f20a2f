//! Output and exit codes of commands. Colours are used on terminals only, and NO_COLOR disables them.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use anstream::eprint;

use aten2onnx_opmap::{Checked, check_dir, render};

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Stop {
    /// There are errors or differences, which are printed already.
    Wrong,
    /// The command failed for this reason.
    Unable(String),
    /// The reader of stdout has gone.
    ReaderGone,
}

impl From<String> for Stop {
    fn from(reason: String) -> Stop {
        Stop::Unable(reason)
    }
}

/// The exit code. Prints why the command failed.
pub fn exit_code(done: Result<(), Stop>) -> ExitCode {
    match done {
        Ok(()) | Err(Stop::ReaderGone) => ExitCode::SUCCESS,
        Err(Stop::Wrong) => ExitCode::from(1),
        Err(Stop::Unable(reason)) => {
            eprint!("\x1b[1;31merror\x1b[0m\x1b[1m: {reason}\x1b[0m\n");
            ExitCode::from(2)
        }
    }
}

/// Prints a result to stdout.
pub fn print(text: &str) -> Result<(), Stop> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        ErrorKind::BrokenPipe => Stop::ReaderGone,
        _ => Stop::Unable(format!("stdout: {e}")),
    })
}

/// Prints a message to stderr.
pub fn say(text: &str) {
    eprint!("{text}\n");
}

/// The rules, if they have no errors. Otherwise prints the errors.
pub fn sound_rules(mappings: &Path) -> Result<Checked, Stop> {
    shown_errors(check_dir(mappings)?)
}

/// The same of rules that were checked.
pub fn shown_errors(checked: Checked) -> Result<Checked, Stop> {
    if checked.diagnostics.is_empty() {
        return Ok(checked);
    }
    eprint!("{}", render::render(&checked.sources, &checked.diagnostics, true));
    Err(Stop::Wrong)
}

/// Reads a file. An error names it.
pub fn read(path: &Path) -> Result<String, Stop> {
    std::fs::read_to_string(path).map_err(|e| Stop::Unable(format!("{}: {e}", path.display())))
}

/// Writes a file. An error names it.
pub fn write(path: &Path, text: &str) -> Result<(), Stop> {
    std::fs::write(path, text).map_err(|e| Stop::Unable(format!("{}: {e}", path.display())))
}

/// `1 rule`, `2 rules`
pub fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
