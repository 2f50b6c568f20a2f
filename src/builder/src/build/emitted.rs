//! Records which operators each `extern fn` and the builder itself emit, and what an `extern fn` refuses. The declarations in the
//! mapping files are tested against it.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Error;

/// What an `extern fn` did.
#[derive(Debug, Clone, Default)]
pub struct ExternRecord {
    /// The operators that it emitted.
    pub ops: BTreeSet<&'static str>,
    /// What it refused: the opset that would work, and the reason.
    pub refusals: BTreeSet<(u32, String)>,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Became {
    /// A node in the version of this opset.
    Node(u32),
    /// What the lowering before this opset makes of it.
    Lowered(u32),
}

/// A call of an operator that a rule names.
#[derive(Debug, Clone)]
pub struct NamedCall {
    /// What the reader of the rule knows the place by.
    pub place: usize,
    /// The operator.
    pub op: &'static str,
    /// The dtype and the rank of each input; None where there is none.
    pub inputs: Vec<Option<(Dtype, Option<i64>)>>,
    /// How many outputs were requested.
    pub outputs: usize,
    /// The dtype and the rank of each result; empty if it was refused.
    pub results: Vec<(Dtype, Option<i64>)>,
    /// What became of it. None if it needed no node: a constant, or a value that is there already.
    pub became: Option<Became>,
}

/// The operators that were called, by who called them.
#[derive(Debug, Default)]
pub struct Emitted {
    /// By the name of the `extern fn`.
    pub externs: BTreeMap<String, ExternRecord>,
    /// By the builder: sizes and numbers that the graph computes, casts, bundles of values.
    pub implicit: BTreeSet<&'static str>,
    /// The calls that rules name and that have a place, in order.
    pub named: Vec<NamedCall>,
    running: Vec<Running>,
    /// How many calls of nodes are nested now.
    nested: u32,
    /// The next call is written in a rule.
    announced: bool,
    /// Its place, if the reader of the rule gives it one.
    place: Option<usize>,
    /// The numbers of the calls that are running, the innermost last; None for those without a place.
    calls: Vec<Option<usize>>,
}

/// An `extern fn` that runs.
#[derive(Debug)]
struct Running {
    name: String,
    nested: u32,
}

impl Emitted {
    /// The next node is one that a rule names.
    pub(crate) fn announce(&mut self, place: Option<usize>) {
        self.announced = true;
        self.place = place;
    }

    /// Notes a call with its inputs. Returns its number.
    pub(crate) fn note_call(
        &mut self,
        place: usize,
        op: &'static str,
        inputs: Vec<Option<(Dtype, Option<i64>)>>,
        outputs: usize,
    ) -> usize {
        let number = self.named.len();
        self.named.push(NamedCall { place, op, inputs, outputs, results: Vec::new(), became: None });
        if let Some(running) = self.calls.last_mut() {
            *running = Some(number);
        }
        number
    }

    /// Notes what becomes of the call that is running.
    pub(crate) fn note_step(&mut self, became: Became) {
        let running = self.calls.last().copied().flatten();
        if let Some(call) = running.and_then(|number| self.named.get_mut(number)) {
            call.became = call.became.or(Some(became));
        }
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

    /// The place of the call, if it has one.
    pub(crate) fn enter_node(&mut self, op: &'static str) -> Option<usize> {
        let is_of_rule = std::mem::take(&mut self.announced);
        let place = self.place.take();
        let innermost = self.running.last().filter(|running| running.nested == self.nested);
        match innermost.and_then(|running| self.externs.get_mut(&running.name)) {
            _ if is_of_rule => {}
            Some(record) => drop(record.ops.insert(op)),
            None => drop(self.implicit.insert(op)),
        }
        self.nested += 1;
        self.calls.push(None);
        place
    }

    pub(crate) fn leave_node(&mut self) {
        self.calls.pop();
        self.nested -= 1;
    }
}
