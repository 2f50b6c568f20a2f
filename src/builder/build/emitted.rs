//! Records which operators each `extern fn` and the builder itself emit. The declarations in the mapping files are tested against it.

use std::collections::{BTreeMap, BTreeSet};

/// The operators that were called, by who called them.
#[derive(Debug, Default)]
pub struct Emitted {
    /// By the name of the `extern fn`.
    pub externs: BTreeMap<String, BTreeSet<&'static str>>,
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

    pub(crate) fn leave_extern(&mut self) {
        self.running.pop();
    }

    pub(crate) fn enter_node(&mut self, op: &'static str) {
        let is_of_rule = std::mem::take(&mut self.announced);
        let innermost = self.running.last().filter(|running| running.nested == self.nested);
        match innermost.and_then(|running| self.externs.get_mut(&running.name)) {
            _ if is_of_rule => {}
            Some(ops) => drop(ops.insert(op)),
            None => drop(self.implicit.insert(op)),
        }
        self.nested += 1;
    }

    pub(crate) fn leave_node(&mut self) {
        self.nested -= 1;
    }
}
