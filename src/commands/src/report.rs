//! Prints errors, notes and results. Colors are only used on terminals, and NO_COLOR is respected.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Write};

use anstream::eprint;

use aten2onnx_core::error::{Error, Kind, Result};

const ERROR: &str = "\x1b[1;31m";
const HELP: &str = "\x1b[1;36m";
const PLACE: &str = "\x1b[1;34m";
const NOTE: &str = "\x1b[1;32m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Why a command ended.
#[derive(Debug)]
pub enum Stop {
    /// With an error to print.
    Error(Error),
    /// With a failure that was already printed.
    Failed,
    /// The reader of the output is gone.
    ReaderGone,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// Prints the error, if any, and returns the exit code.
pub fn exit_code(done: Result<(), Stop>) -> u8 {
    match done {
        Ok(()) => 0,
        Err(Stop::Failed) => 1,
        Err(Stop::ReaderGone) => 141,
        Err(Stop::Error(error)) => {
            eprint!("{}", rendered(&error));
            error.exit_code()
        }
    }
}

/// Prints the error of something that may be done again. What cannot be printed ends the command.
pub fn print_error(done: Result<(), Stop>) -> Result<(), Stop> {
    match done {
        Err(Stop::ReaderGone) => Err(Stop::ReaderGone),
        done => {
            exit_code(done);
            Ok(())
        }
    }
}

/// The text of an error: what, where, how to fix it.
fn rendered(error: &Error) -> String {
    // The number of a system error does not help the user.
    let message = error.message.split(" (os error").next().unwrap_or_default();
    let mut text = format!("{ERROR}error{PLAIN}{BOLD}: {message}{PLAIN}\n");
    for place in &error.place {
        let _ = writeln!(text, "  {PLACE}-->{PLAIN} {place}");
    }
    let higher = error.needs_opset.map(|opset| format!("use `--opset {opset}`"));
    if let Some(help) = error.help.as_ref().or(higher.as_ref()) {
        let _ = writeln!(text, "{HELP}help{PLAIN}: {help}");
    }
    if error.kind == Kind::Internal {
        let or_else = if error.help.is_some() { "otherwise, " } else { "" };
        let fault = format!("{or_else}this is a bug in aten2onnx; please report it with the model's graph");
        let _ = writeln!(text, "{HELP}help{PLAIN}: {fault}");
    }
    text
}

/// Prints a note.
pub fn note(text: &str) {
    eprint!("{NOTE}note{PLAIN}: {text}\n");
}

/// Prints a result to stderr, because stdout may be the model.
pub fn say(text: &str) {
    eprint!("{text}\n");
}

/// Prints a result to stdout.
pub fn print(text: &str) -> Result<(), Stop> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(stopped)
}

/// Why writing to stdout failed.
pub fn stopped(error: io::Error) -> Stop {
    match error.kind() {
        ErrorKind::BrokenPipe => Stop::ReaderGone,
        _ => Stop::Error(Error::from(error).at("stdout")),
    }
}
