//! Running statistics that a normalization updates implicitly in training mode: they become results, which are written
//! back.

use super::alias::{Cell, Write};
use super::inplace::{Overwrite, origin};
use super::{Pass, refusal};
use crate::terms::{Given, NewCall, flag};
use aten2onnx_core::error::Result;
use aten2onnx_program::{Arg, Node, NodeOutput};
use aten2onnx_rules::effects::{self, Update, Updated};

/// A statistic that is updated.
pub(super) struct Statistic {
    /// The argument.
    arg: &'static str,
    /// The name of the tensor in the original node.
    name: String,
    cell: Cell,
    /// The name of its new value.
    result: String,
    /// How the new value is computed.
    value: Option<&'static Updated>,
}

/// What a node writes in addition to its results.
pub(super) fn updates(node: &Node) -> impl Iterator<Item = &'static Update> {
    let all = effects::operator(&node.target).map_or(&[][..], |operator| operator.updates);
    all.iter().filter(|update| update.flag.is_none_or(|name| flag(node, name) == Some(true)))
}

/// Whether the facts describe what an operator writes to these arguments.
pub(super) fn describes_writes(target: &str, args: &[&str]) -> bool {
    let updates = effects::operator(target).map_or(&[][..], |operator| operator.updates);
    args.iter().all(|arg| updates.iter().any(|update| update.args.contains(arg)))
}

impl Pass<'_> {
    /// The statistics that a node updates; changes the node so that it returns them. If no operator does, they are
    /// dropped.
    pub(super) fn statistics(&mut self, node: &mut Node, as_written: &Node) -> Result<Vec<Statistic>> {
        let (mut statistics, mut wanted) = (Vec::new(), 0);
        for update in updates(as_written) {
            for arg in update.args {
                wanted += 1;
                let given = as_written.args.iter().find(|(name, _)| name == arg).map(|(_, arg)| arg);
                let Some(Arg::Tensor(name)) = given else { continue };
                let cell = self.prepare_write(as_written, name, Overwrite::Part, false)?;
                let result = self.fresh_name(name, "updated");
                statistics.push(Statistic { arg, name: name.clone(), cell, result, value: update.value.as_ref() });
            }
        }
        if statistics.len() == wanted && self.together(node, &statistics).is_some() {
            return Ok(statistics);
        }
        if self.one_by_one(node, &statistics).is_some() {
            node.args.retain(|(name, _)| !statistics.iter().any(|statistic| statistic.arg == name));
            return Ok(statistics);
        }
        self.without(node, as_written, statistics)
    }

    /// Replaces the node by one that also returns the new values.
    fn together(&self, node: &mut Node, statistics: &[Statistic]) -> Option<()> {
        let Some(Updated::Together(call, before)) = statistics.first()?.value else { return None };
        let (target, args) = self.given(node).call(call)?.plain()?;
        target.clone_into(&mut node.target);
        node.args = args;
        node.outputs.resize(*before, NodeOutput::None);
        node.outputs.extend(statistics.iter().map(|statistic| NodeOutput::Tensor(statistic.result.clone())));
        Some(())
    }

    /// Adds nodes that compute the new values.
    fn one_by_one(&mut self, node: &Node, statistics: &[Statistic]) -> Option<()> {
        let mut calls: Vec<NewCall> = Vec::new();
        for statistic in statistics {
            let Some(Updated::One(call)) = statistic.value else { return None };
            calls.push(self.given(node).call(call)?);
        }
        let origin = origin(node);
        for (statistic, call) in statistics.iter().zip(calls) {
            self.emit_as(&origin, call, statistic.result.clone());
        }
        Some(())
    }

    fn given<'g>(&'g self, node: &'g Node) -> Given<'g> {
        Given { node, tensors: self.tensors, first: None, view: None, sizes: None }
    }

    fn without(&mut self, node: &mut Node, as_written: &Node, statistics: Vec<Statistic>) -> Result<Vec<Statistic>> {
        if self.keeps_mutations && !statistics.is_empty() {
            return Err(refusal("it updates the running statistics of a normalization, which cannot be kept"));
        }
        for statistic in statistics {
            self.aliases.clobber(statistic.cell, Write::of(as_written));
            node.args.retain(|(name, _)| name != statistic.arg);
        }
        Ok(Vec::new())
    }

    /// Replaces the statistics by their new values.
    pub(super) fn keep_statistics(&mut self, statistics: Vec<Statistic>, node: &Node) {
        for Statistic { name, cell, result, .. } in statistics {
            if let Some(meta) = self.tensors.get(&name).cloned() {
                self.tensors.insert(result.clone(), meta);
            }
            self.written(cell, &name, result, Write::of(node));
        }
    }
}
