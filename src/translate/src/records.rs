//! What PyTorch recorded of a value is evidence and no law: which of the two is believed where a rule gives another type.

use std::cell::RefCell;

use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Type, Value};
use aten2onnx_program::{Graph, Node, visit::each_name};
use aten2onnx_rules::effects::{self, Trait};
use rustc_hash::FxHashMap;

use crate::{Known, Translation};

/// Why the record is believed where nothing says that it is wrong.
const WHY: &str = "the record is believed, because what reads this value would get another: run the model in PyTorch: if it refuses these sizes or dtypes too, the file is damaged; \
     if it runs, please report a fault of the rule";

/// The values whose record is known to be wrong, and what was said of them.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// True: the dtype is another one too.
    values: RefCell<FxHashMap<Value, bool>>,
    notes: RefCell<Vec<String>>,
}

impl Doubts {
    /// What is to be said.
    pub(crate) fn into_notes(self) -> Vec<String> {
        self.notes.into_inner()
    }

    /// Notes something that is to be said, once.
    pub(crate) fn note(&self, text: &str) {
        let mut notes = self.notes.borrow_mut();
        if !notes.iter().any(|known| known == text) {
            notes.push(text.to_owned());
        }
    }

    /// None for a value whose record is right.
    fn of(&self, value: Value) -> Option<bool> {
        self.values.borrow().get(&value).copied()
    }
}

impl Translation<'_> {
    /// Decides what is true of a value whose type is not the recorded one; `error` is the answer if the record is believed.
    ///
    /// The rule is right where it is certain: if torch.export is known to record other sizes for the operator, and for what is made of such a
    /// value, whose record PyTorch derived from the wrong one. For a value that nobody reads nothing is said.
    pub(crate) fn judge(
        &self,
        node: &Node,
        (name, value): (&str, Value),
        recorded: &Type,
        graph: &Graph,
        error: Error,
    ) -> Result<()> {
        if !is_read(name, graph) {
            return Ok(());
        }
        let doubts = &self.shared.doubts;
        let inferred = self.builder.ty(value);
        let is_other_dtype = inferred.dtype() != recorded.dtype();
        if effects::is(&node.target, Trait::RecordsOtherSizes) {
            doubts.values.borrow_mut().insert(value, is_other_dtype);
            doubts.notes.borrow_mut().push(format!(
                "PyTorch recorded `{name}` of `{}` as {recorded}: the operator returns {inferred}, which is what the model has",
                node.target
            ));
            return Ok(());
        }
        if self.doubts_of_arguments(node).any(|doubts_dtype| doubts_dtype || !is_other_dtype) {
            doubts.values.borrow_mut().insert(value, is_other_dtype);
            return Ok(());
        }
        Err(error.help(WHY))
    }

    /// Whether an argument of a node has a wrong record.
    pub(crate) fn reads_doubtful(&self, node: &Node) -> bool {
        self.doubts_of_arguments(node).next().is_some()
    }

    /// For each argument with a wrong record, whether its dtype is another one too.
    fn doubts_of_arguments(&self, node: &Node) -> impl Iterator<Item = bool> {
        let mut found = Vec::new();
        for (_, arg) in &node.args {
            each_name(arg, &mut |name| {
                if let Some(Known::Tensor(value)) = self.env.get(name) {
                    found.extend(self.shared.doubts.of(*value));
                }
            });
        }
        found.into_iter()
    }
}

/// Whether a node or an output reads a value.
pub(crate) fn is_read(name: &str, graph: &Graph) -> bool {
    let nodes = graph.nodes.iter().flat_map(|node| node.args.iter().map(|(_, arg)| arg));
    let mut found = false;
    for arg in nodes.chain(graph.outputs.iter().map(|output| &output.value)) {
        each_name(arg, &mut |read| found |= read == name);
        if found {
            return true;
        }
    }
    false
}
