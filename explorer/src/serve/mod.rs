//! The pages on localhost while rules are edited.
//!
//! [`watch`] sees that a file was saved, [`state`] checks the rules and keeps the last ones without errors, [`view`] shows a rule at
//! two opsets beside what it was before, [`call`] runs a call that was typed, [`bench`] is an editor, [`connections`] takes requests, and [`http`] answers those of this machine.

mod bench;
mod call;
mod connections;
mod http;
mod state;
mod view;
mod watch;

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use aten2onnx_core::error::{Error, Result};

use state::State;

/// What to serve.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of rules.
    pub rules: PathBuf,
    /// The port of 127.0.0.1; 0 for any.
    pub port: u16,
    /// The interpreter with PyTorch and ONNX Runtime.
    pub python: PathBuf,
}

/// Serves until the process ends. `started` gets the address.
///
/// # Errors
/// The rules cannot be read, or the port is in use.
pub fn run(options: &Options, started: impl FnOnce(&str)) -> Result<()> {
    let state = Arc::new(State::new(&options.rules, &options.python));
    let _watcher = watch::watch(&options.rules, Arc::clone(&state))?;
    let failed = |error: std::io::Error| {
        Error::new(aten2onnx_core::error::Kind::Io, format!("port {} cannot be used: {error}", options.port))
            .help("choose another with `--port`, or any with `--port 0`")
    };
    let listener = TcpListener::bind(("127.0.0.1", options.port)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    started(&format!("http://127.0.0.1:{port}/live/"));
    let building = Arc::clone(&state);
    std::thread::spawn(move || building.build_pages());
    connections::listen(listener, &state, port).map_err(failed)
}
