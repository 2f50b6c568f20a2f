//! Records which arms of which rules were tried and reached, for coverage and `--trace`.

use aten2onnx_core::error::Error;
use rustc_hash::FxHashSet;

use crate::build::emitted::Emitted;

/// The record of running rules.
#[derive(Debug, Default)]
pub struct Trace {
    reached: FxHashSet<u32>,
    events: Option<Vec<Event>>,
    emitted: Option<Box<Emitted>>,
}

/// A step of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An arm was tried, with the value of its condition.
    Arm(u32, bool),
    /// A node was made.
    Node(&'static str),
    /// An operator was lowered below an opset.
    Lower(&'static str, u32),
    /// An older call of an operator was raised to an opset.
    Raise(&'static str, u32),
}

impl Trace {
    /// Records every step from now on.
    pub fn enable(&mut self) {
        self.events.get_or_insert_with(Vec::new);
    }

    /// Records which operators each `extern fn` and the builder emit, from now on.
    pub fn record_emitted(&mut self) {
        self.emitted.get_or_insert_with(Box::default);
    }

    /// The operators that were emitted, if [`Trace::record_emitted`] was called.
    pub fn emitted(&self) -> Option<&Emitted> {
        self.emitted.as_deref()
    }

    /// Says that the next node is one that a rule names.
    pub fn announce_node(&mut self) {
        if let Some(emitted) = &mut self.emitted {
            emitted.announce(None);
        }
    }

    /// Says that the next node is the one at a place of a rule, of which [`Emitted::named`] tells.
    pub fn announce_node_at(&mut self, place: usize) {
        if let Some(emitted) = &mut self.emitted {
            emitted.announce(Some(place));
        }
    }

    /// The record of emitted nodes, if there is one.
    pub(crate) fn emitted_mut(&mut self) -> Option<&mut Emitted> {
        self.emitted.as_deref_mut()
    }

    /// Says that an `extern fn` begins.
    pub fn enter_extern(&mut self, name: &str) {
        if let Some(emitted) = &mut self.emitted {
            emitted.enter_extern(name);
        }
    }

    /// Says that the last `extern fn` ends, with this error if it fails.
    pub fn leave_extern(&mut self, error: Option<&Error>) {
        if let Some(emitted) = &mut self.emitted {
            emitted.leave_extern(error);
        }
    }

    pub(crate) fn enter_node(&mut self, op: &'static str) -> Option<usize> {
        self.emitted.as_mut().and_then(|emitted| emitted.enter_node(op))
    }

    pub(crate) fn leave_node(&mut self) {
        if let Some(emitted) = &mut self.emitted {
            emitted.leave_node();
        }
    }

    /// The steps since the last call.
    pub fn take(&mut self) -> Vec<Event> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The arms whose condition was true at least once.
    pub fn reached(&self) -> &FxHashSet<u32> {
        &self.reached
    }

    pub(crate) fn reach(&mut self, arm: u32) {
        self.reached.insert(arm);
    }

    pub(crate) fn branch(&mut self, arm: u32, condition: bool) {
        if condition {
            self.reached.insert(arm);
        }
        self.event(Event::Arm(arm, condition));
    }

    pub(crate) fn event(&mut self, event: Event) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }
}
