//! Sees that rule files are saved.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use aten2onnx_core::error::{Error, Kind, Result};
use notify::{EventKind, RecursiveMode, Watcher};

use super::state::State;

/// Editors save in several steps: what happens within this time is one change.
const QUIET: Duration = Duration::from_millis(60);

/// Checks the rules again whenever a file of the folder changes, as long as the watcher exists.
pub fn watch(rules: &Path, state: Arc<State>) -> Result<notify::RecommendedWatcher> {
    let failed = |error: notify::Error| {
        Error::new(Kind::Io, format!("changes of files cannot be seen: {error}")).at(rules.display().to_string())
    };
    let (send, receive) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_change = event.as_ref().is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)) && is_rule(event));
        if is_change {
            // The receiver ends with the process.
            let _ = send.send(());
        }
    })
    .map_err(failed)?;
    watcher.watch(rules, RecursiveMode::Recursive).map_err(failed)?;
    std::thread::spawn(move || check_changes(&receive, &state));
    Ok(watcher)
}

/// Whether a rule, or a file that rules are checked against, changed. Editors write other files beside.
fn is_rule(event: &notify::Event) -> bool {
    let known = |path: &Path| path.extension().is_some_and(|e| e == "opmap" || e == "toml" || e == "txt");
    event.paths.iter().any(|path| known(path))
}

fn check_changes(changes: &Receiver<()>, state: &State) {
    while changes.recv().is_ok() {
        loop {
            match changes.recv_timeout(QUIET) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        state.check();
    }
}
