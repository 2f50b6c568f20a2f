//! Empty tensors that are resized in place: `resize_` and `resize_as_`, as in the buffers of `nn.CrossMapLRN2d`.

use super::Pass;
use super::inplace::result_name;
use crate::terms::Given;
use aten2onnx_core::error::Result;
use aten2onnx_program::{Arg, Node, NodeOutput};
use aten2onnx_rules::effects::{self, Term};

impl Pass<'_> {
    /// The tensor that a node resizes, and a node that makes uninitialized memory of that size. None if the tensor was
    /// not empty.
    pub(super) fn resized_empty(&self, node: &Node) -> Option<(String, Node)> {
        let resizing = effects::writes(&node.target).filter(|writes| writes.resizes)?;
        let (_, Arg::Tensor(resized)) = node.args.first()? else { return None };
        let Some(Term::Call(call)) = &resizing.value else { return None };
        let given = Given { node, tensors: self.tensors, first: None, view: None, sizes: None };
        let (target, args) = given.call(call)?.plain()?;
        let was_empty = self.tensors.get(resized)?.sizes.iter().any(|size| *size == 0);
        let is_as_defined = self.aliases.newest(self.aliases.cell(resized)?) == resized;
        let made = Node { target: target.to_owned(), args, ..node.clone() };
        (was_empty && is_as_defined).then(|| (resized.clone(), made))
    }

    /// Replaces the tensor by the result of the node.
    pub(super) fn replace_memory(&mut self, resized: &str, mut node: Node) -> Result<()> {
        for (_, arg) in &mut node.args {
            self.read(arg, true)?;
        }
        if result_name(&node).is_empty() {
            node.outputs = vec![NodeOutput::Tensor(self.fresh_name(resized, "resized"))];
        }
        let result = result_name(&node);
        self.done.push(node);
        self.aliases.define_same(&result, resized);
        self.aliases.renew(resized, &result);
        Ok(())
    }
}
