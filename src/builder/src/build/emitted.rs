//! Records which operators each `extern fn` and the builder itself emit, and what an `extern fn` refuses. The declarations in the
//! mapping files are tested against it.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_core::error::Error;

/// What an `extern fn` did.
#[derive(Debug, Clone, Default)]
pub struct ExternRecord {
    /// The operators that it emitted.
    pub ops: BTreeSet<&'static str>,
    /// What it refused: the opset that would work, and the reason.
    pub refusals: BTreeSet<(u32, String)>,
}

/// The operators that were called, by who called them.
#[derive(Debug, Default)]
pub struct Emitted {
    /// By the name of the `extern fn`.
    pub externs: BTreeMap<String, ExternRecord>,
    /// By the builder: sizes and numbers that the graph computes, casts, bundles of values.
    pub implicit: BTreeSet<&'static str>,
    running: Vec<Running>,
    /// How many calls of nodes are nested now.
    nested: u32,
    /// The next call is written in a rule.
    announced: bool,
}

/// An `extern fn` that runs.
#[derive(Debug)]
struct Running {
    name: String,
    nested: u32,
}

impl Emitted {
    /// The next node is one that a rule names.
    pub(crate) fn announce(&mut self) {
        self.announced = true;
    }

    pub(crate) fn enter_extern(&mut self, name: &str) {
        self.externs.entry(name.to_owned()).or_default();
        self.running.push(Running { name: name.to_owned(), nested: self.nested });
    }

    pub(crate) fn leave_extern(&mut self, error: Option<&Error>) {
        let Some(running) = self.running.pop() else { return };
        let refused = error.and_then(|error| Some((error.needs_opset?, error.message.clone())));
        if let (Some(refused), Some(record)) = (refused, self.externs.get_mut(&running.name)) {
            record.refusals.insert(refused);
        }
    }

    pub(crate) fn enter_node(&mut self, op: &'static str) {
        let is_of_rule = std::mem::take(&mut self.announced);
        let innermost = self.running.last().filter(|running| running.nested == self.nested);
        match innermost.and_then(|running| self.externs.get_mut(&running.name)) {
            _ if is_of_rule => {}
            Some(record) => drop(record.ops.insert(op)),
            None => drop(self.implicit.insert(op)),
        }
        self.nested += 1;
    }

    pub(crate) fn leave_node(&mut self) {
        self.nested -= 1;
    }
}
