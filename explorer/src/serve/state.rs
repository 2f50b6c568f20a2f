//! The rules as they are: the last ones without errors, those before, and what is wrong now.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aten2onnx_rules::interpret::MappingFiles;

use super::view::changed_rules;
use crate::facts::Facts;
use crate::site::{self, Files};

/// How long a browser waits for news before it gets a sign of life.
const PATIENCE: Duration = Duration::from_secs(15);

/// How much later than the drawing of an edited rule its page is made.
const LATER: Duration = Duration::from_secs(2);

/// What all requests share.
#[derive(Debug)]
pub struct State {
    /// The folder of rules.
    pub rules: PathBuf,
    /// The interpreter with PyTorch.
    pub python: PathBuf,
    /// The pages of the workbench that are open.
    pub open: AtomicUsize,
    now: Mutex<Now>,
    changed: Condvar,
}

/// The rules at a moment.
#[derive(Debug, Clone, Default)]
pub struct Now {
    /// Grows with each check.
    pub version: u64,
    /// The last rules without errors.
    pub good: Option<Arc<MappingFiles>>,
    /// The rules without errors before these.
    pub before: Option<Arc<MappingFiles>>,
    /// What is wrong with the files.
    pub problem: Option<String>,
    /// The rules that the last edit changed.
    pub edited: Vec<String>,
    /// The pages of the static site.
    pub pages: Arc<Files>,
    /// Why there are no pages.
    pub no_pages: Option<String>,
}

impl State {
    /// Reads the rules.
    pub fn new(rules: &Path, python: &Path) -> State {
        let now = Mutex::new(Now::default());
        let (rules, python) = (rules.to_owned(), python.to_owned());
        let state = State { rules, python, open: AtomicUsize::new(0), now, changed: Condvar::new() };
        state.check();
        state
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules now.
    pub fn now(&self) -> Now {
        self.lock().clone()
    }

    /// Reads and checks the rules again, and tells all who wait.
    pub fn check(&self) {
        let read = MappingFiles::replacing(&self.rules).map(Arc::new);
        let mut now = self.lock();
        now.version += 1;
        match read {
            Ok(set) => {
                now.problem = None;
                if let Some(good) = now.good.clone() {
                    let edited = changed_rules(good.checked(), set.checked());
                    // A comment changes no rule, so what was before stays.
                    if !edited.is_empty() {
                        now.before = Some(good);
                        now.edited = edited;
                    }
                }
                now.good = Some(set);
            }
            Err(error) => {
                let help = error.help.as_deref().map(|help| format!("\n\nhelp: {help}")).unwrap_or_default();
                now.problem = Some(format!("{error}{help}"));
            }
        }
        drop(now);
        self.changed.notify_all();
    }

    /// Waits until there is a newer version, for a while: the rules as they are then.
    pub fn after(&self, version: u64) -> Now {
        let wait = self.changed.wait_timeout_while(self.lock(), PATIENCE, |now| now.version <= version);
        wait.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Makes the pages of the site, and those of edited rules again after each edit. Does not return.
    pub fn build_pages(&self) {
        let mut made: Option<u64> = None;
        loop {
            let now = match made {
                None => self.now(),
                Some(version) => self.after(version),
            };
            if made == Some(now.version) {
                continue;
            }
            if now.problem.is_none() {
                if made.is_some() {
                    // The drawing comes first.
                    std::thread::sleep(LATER);
                }
                let only = if made.is_none() { Vec::new() } else { now.edited.clone() };
                self.add_pages(&only);
            }
            made = Some(now.version);
        }
    }

    /// Makes the pages of some rules, or all.
    fn add_pages(&self, only: &[String]) {
        let made = Facts::gather(&self.rules, only).and_then(|facts| site::build(&facts));
        let mut now = self.lock();
        match made {
            Ok(pages) if only.is_empty() => now.pages = Arc::new(pages),
            Ok(mut pages) => {
                let mut all = (*now.pages).clone();
                for name in only {
                    let path = format!("{}index.html", aten2onnx_report::page_of(name));
                    if let Some(page) = pages.remove(&path) {
                        all.insert(path, page);
                    }
                }
                now.pages = Arc::new(all);
            }
            Err(error) => now.no_pages = Some(error.to_string()),
        }
    }
}
