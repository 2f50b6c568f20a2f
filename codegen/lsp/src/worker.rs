//! The checker in a thread of its own, so that the editor gets answers while files are checked. What is checked is always the newest state: states between
//! are left out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aten2onnx_opmap::Recheck;
use aten2onnx_opmap::diagnostic::Diagnostic;
use aten2onnx_opmap::source::{FileId, Sources};
use aten2onnx_schemas::Schemas;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::analysis::Analysis;

/// After such a time without changes, what is known of the files is made that of their newest state, if changes take long to check.
const IDLE: Duration = Duration::from_secs(2);
/// A check that takes longer is worth it.
const LONG: Duration = Duration::from_millis(400);

/// What the checker says of a state.
#[derive(Debug)]
pub enum News {
    /// The errors of syntax, names and types in the files that changed, and all files as they were then.
    Early(Sources, Vec<FileId>, Vec<Diagnostic>),
    /// All.
    Done(Arc<Analysis>),
}

/// A state of all files that is to be checked.
#[derive(Debug)]
pub struct Work {
    /// Newer ones have larger numbers.
    pub number: u64,
    /// The number of files that the others are checked over.
    pub first: usize,
    /// The files.
    pub sources: Sources,
}

/// Checks the states that come until the sender is gone.
pub fn check_states(schemas: Arc<Schemas>, states: &Receiver<Work>, news: &Sender<(u64, News)>) {
    let mut recheck: Option<Recheck> = None;
    // The newest state without errors, if what is known is of an older one and changes take long.
    let mut better: Option<(usize, Sources)> = None;
    loop {
        let next = match &better {
            Some(_) => states.recv_timeout(IDLE),
            None => states.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let Work { number, first, sources } = match next {
            Ok(state) => states.try_iter().last().unwrap_or(state),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                recheck = better.take().map(|(first, sources)| renewed(recheck.take(), sources, first, &schemas));
                continue;
            }
        };
        let mut known = match recheck.take() {
            Some(known) if has_same_files(known.sources(), &sources) => known,
            other => renewed(other, sources.clone(), first, &schemas),
        };
        let changes = changes(known.sources(), sources);
        let files: Vec<FileId> = changes.iter().map(|(file, _)| *file).collect();
        let begun = Instant::now();
        let checked = known.checked_with_all(changes, &mut |sources, found| {
            let mine = News::Early(sources.clone(), files.clone(), found.to_vec());
            let _ = news.send((number, mine));
        });
        let is_slow = begun.elapsed() > LONG && !files.is_empty();
        better = (checked.diagnostics.is_empty() && is_slow).then(|| (first, checked.sources.clone()));
        recheck = Some(known);
        if news.send((number, News::Done(Arc::new(Analysis::new(checked))))).is_err() {
            return;
        }
    }
}

/// What is known of a state. The old is dropped first, so that there are never two.
fn renewed(old: Option<Recheck>, sources: Sources, first: usize, schemas: &Arc<Schemas>) -> Recheck {
    drop(old);
    Recheck::over(sources, first, schemas.clone())
}

fn has_same_files(a: &Sources, b: &Sources) -> bool {
    a.files.len() == b.files.len() && a.files.iter().zip(&b.files).all(|(a, b)| a.path == b.path)
}

/// The files with another text.
fn changes(old: &Sources, new: Sources) -> Vec<(FileId, String)> {
    let pairs = new.files.into_iter().zip(&old.files).enumerate();
    pairs.filter(|(_, (new, old))| new.text != old.text).map(|(i, (new, _))| (FileId(i as u32), new.text)).collect()
}
