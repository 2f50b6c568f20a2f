//! The workbench: an editor in a page, with the language server and drawings of what is typed.
//!
//! [`socket`] carries the messages between a page and its [`Session`], which holds what the checker last said of the texts as they are in the page.
//! Requests for the language server go to the crate `aten2onnx-lsp`; those that begin with `workbench/` are answered by [`requests`], from [`files`] (what is
//! on disk), [`drawing`] (graphs and the matrix), [`trial`] (`try` and `verify`) and [`skeleton`] (a rule that nobody wrote yet). [`page`] is what a browser gets.

mod drawing;
mod files;
pub mod page;
mod requests;
mod skeleton;
pub mod socket;
mod trial;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_opmap::Checked;
use aten2onnx_rules::interpret::MappingFiles;

use super::state::State;

/// One open page.
pub struct Session {
    /// The server.
    pub state: Arc<State>,
    edited: Mutex<Edited>,
}

/// The texts of the page, as they were last checked.
#[derive(Default)]
struct Edited {
    /// The last ones without errors.
    good: Option<Arc<Checked>>,
    /// Their rules, once somebody asked for them.
    rules: Option<Arc<MappingFiles>>,
    /// Whether the newest ones have errors.
    is_broken: bool,
}

impl Session {
    /// A page that was just opened.
    pub fn new(state: Arc<State>) -> Session {
        Session { state, edited: Mutex::new(Edited::default()) }
    }

    fn lock(&self) -> MutexGuard<'_, Edited> {
        self.edited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the checker says of the texts in the page.
    pub fn learn(&self, checked: &Arc<Checked>) {
        let mut edited = self.lock();
        edited.is_broken = !checked.diagnostics.is_empty();
        if !edited.is_broken {
            edited.good = Some(Arc::clone(checked));
            edited.rules = None;
        }
    }

    /// Whether the texts in the page have errors.
    pub fn is_broken(&self) -> bool {
        self.lock().is_broken
    }

    /// The rules of the last texts without errors; those on disk before the first check.
    ///
    /// # Errors
    /// There were never any.
    pub fn rules(&self) -> Result<Arc<MappingFiles>> {
        let mut edited = self.lock();
        if let Some(rules) = &edited.rules {
            return Ok(Arc::clone(rules));
        }
        let Some(good) = edited.good.clone() else {
            let none = || Error::input("the files have errors, and there was no state without them yet");
            return self.state.now().good.ok_or_else(none);
        };
        let rules = Arc::new(MappingFiles::of_checked(good)?);
        edited.rules = Some(Arc::clone(&rules));
        Ok(rules)
    }
}
