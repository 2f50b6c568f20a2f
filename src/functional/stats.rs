//! Statistics that a normalisation in training mode updates without saying so: they become results of it, which are written back.

use super::alias::{Cell, Write};
use super::inplace::{Overwrite, base_name, origin, updated_stats};
use super::{Pass, refusal};
use crate::error::Result;
use crate::program::{Arg, IntArg, Node, NodeOutput};

/// A statistic that is updated.
pub(super) struct Update {
    /// The argument.
    arg: &'static str,
    /// The tensor's name, as written.
    name: String,
    cell: Cell,
    /// Its new value.
    result: String,
}

/// The operator that gives the statistics as results, and the number of results before them.
fn with_results(target: &str) -> Option<(&'static str, usize)> {
    match base_name(target) {
        "batch_norm" | "native_batch_norm" | "_native_batch_norm_legit" => {
            Some(("aten::_native_batch_norm_legit_functional", 3))
        }
        "_batch_norm_with_update" => Some(("aten::_batch_norm_with_update_functional", 4)),
        _ => None,
    }
}

impl Pass<'_> {
    /// The statistics that a node updates, with the node made to give them. Where no operator gives them the node goes without.
    pub(super) fn statistics(&mut self, node: &mut Node, as_written: &Node) -> Result<Vec<Update>> {
        let mut updates = Vec::new();
        for arg in updated_stats(as_written) {
            let given = as_written.args.iter().find(|(name, _)| name == arg).map(|(_, arg)| arg);
            let Some(Arg::Tensor(name)) = given else { continue };
            let cell = self.about_to_write(as_written, name, Overwrite::Part, false)?;
            let result = self.fresh_name(name, "updated");
            updates.push(Update { arg, name: name.clone(), cell, result });
        }
        match with_results(&node.target).filter(|_| updates.len() == 2) {
            Some((target, count)) => {
                target.clone_into(&mut node.target);
                node.args.retain(|(name, _)| name != "cudnn_enabled");
                node.outputs.resize(count, NodeOutput::None);
                node.outputs.extend(updates.iter().map(|update| NodeOutput::Tensor(update.result.clone())));
                Ok(updates)
            }
            None if self.of_instances(node, &updates).is_some() => {
                node.args.retain(|(name, _)| !updates.iter().any(|update| update.arg == name));
                Ok(updates)
            }
            None => self.without(node, as_written, updates),
        }
    }

    /// Instances are normalised each by itself; the statistics take the mean over them.
    fn of_instances(&mut self, node: &Node, updates: &[Update]) -> Option<()> {
        if base_name(&node.target) != "instance_norm" {
            return None;
        }
        let arg = |wanted: &str| node.args.iter().find(|(name, _)| name == wanted).map(|(_, arg)| arg);
        let (Some(Arg::Tensor(input)), Some(Arg::Float(momentum))) = (arg("input"), arg("momentum")) else {
            return None;
        };
        let rank = i64::try_from(self.tensors.get(input)?.sizes.len()).ok()?;
        let named = |name: &str, arg: Arg| (name.to_owned(), arg);
        let dims = |from: i64, to: i64| named("dim", Arg::Ints((from..to).map(IntArg::Known).collect()));
        let own = |name: &str| named("self", Arg::Tensor(name.to_owned()));
        let origin = origin(node);
        for Update { arg, cell, result, .. } in updates {
            let of_each = match *arg {
                "running_var" => {
                    let args = vec![own(input), dims(2, rank), named("correction", Arg::Int(1))];
                    ("aten::var.correction", args)
                }
                _ => ("aten::mean.dim", vec![own(input), dims(2, rank)]),
            };
            let of_each = self.emit(&origin, of_each, result);
            let seen = self.emit(&origin, ("aten::mean.dim", vec![own(&of_each), dims(0, 1)]), result);
            let before = self.aliases.newest(*cell).to_owned();
            let args = vec![own(&before), named("end", Arg::Tensor(seen)), named("weight", Arg::Float(*momentum))];
            self.emit_as(&origin, ("aten::lerp.Scalar", args), result.clone());
        }
        Some(())
    }

    fn without(&mut self, node: &mut Node, as_written: &Node, updates: Vec<Update>) -> Result<Vec<Update>> {
        if self.keeps && !updates.is_empty() {
            return Err(refusal("it updates the statistics of a normalisation, which are to be kept"));
        }
        for update in updates {
            self.aliases.clobber(update.cell, Write::of(as_written));
            node.args.retain(|(name, _)| name != update.arg);
        }
        Ok(Vec::new())
    }

    /// What a node has made of its statistics is what they are from now on.
    pub(super) fn keep_statistics(&mut self, updates: Vec<Update>, node: &Node) {
        for Update { name, cell, result, .. } in updates {
            if let Some(meta) = self.tensors.get(&name).cloned() {
                self.tensors.insert(result.clone(), meta);
            }
            self.written(cell, &name, result, Write::of(node));
        }
    }
}
