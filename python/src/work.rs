//! Long work: it runs on a thread of its own with the GIL released, while this one looks for Ctrl-C and shows the progress.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::Duration;

use aten2onnx::error::{Error, Kind, Result};
use pyo3::prelude::*;

use crate::errors::exception;

/// How often to look up from the work.
const LOOK: Duration = Duration::from_millis(50);
/// The stack of a thread of work, as large as that of a main thread.
const STACK: usize = 8 << 20;

/// What the two threads tell each other.
#[derive(Default)]
pub struct Meter {
    done: AtomicU64,
    total: AtomicU64,
    finished: AtomicBool,
    stop: AtomicBool,
}

impl Meter {
    /// Notes how far the work is.
    ///
    /// # Errors
    /// If it is to stop.
    pub fn report(&self, done: u64, total: u64) -> Result<()> {
        self.done.store(done, Relaxed);
        self.total.store(total, Relaxed);
        if self.stop.load(Relaxed) { Err(Error::new(Kind::Stopped, "interrupted")) } else { Ok(()) }
    }
}

/// Runs the work; `progress(done, total)` is called now and then if it is given. What it raises stops the work, as Ctrl-C does.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Meter) -> Result<T> + Send,
) -> PyResult<T> {
    let meter = Meter::default();
    let waiting = thread::current();
    thread::scope(|scope| {
        let task = || {
            let done = work(&meter);
            meter.finished.store(true, Release);
            waiting.unpark();
            done
        };
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, task)?;
        let mut raised = Ok(());
        while !(meter.finished.load(Acquire) || thread.is_finished()) {
            py.detach(|| thread::park_timeout(LOOK));
            if raised.is_ok() {
                raised = py.check_signals().and_then(|()| show(progress, &meter));
                meter.stop.store(raised.is_err(), Relaxed);
            }
        }
        let done = py.detach(|| thread.join());
        raised?;
        let done = done.unwrap_or_else(|_| Err(Error::internal("the exporter panicked")));
        done.map_err(|error| exception(py, error))
    })
}

fn show(progress: Option<&Bound<'_, PyAny>>, meter: &Meter) -> PyResult<()> {
    match (progress, meter.total.load(Relaxed)) {
        (None, _) | (_, 0) => Ok(()),
        (Some(progress), total) => progress.call1((meter.done.load(Relaxed), total)).map(drop),
    }
}
