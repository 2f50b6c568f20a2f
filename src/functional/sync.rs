//! Brings views up to date: from a view that was written to back to what it is a view of, and from there to other views.

use super::alias::{Cell, Derivation, View};
use super::views::{are_disjoint, first_tensor_arg, write_back};
use super::{Pass, tensor_results};
use crate::program::{Arg, Node, NodeOutput};

/// Groups of views of one node that are looked through after each write.
const MAX_GROUP: usize = 64;

impl Pass<'_> {
    /// Makes a stale cell anew from what it is a view of; false if that cannot be done.
    pub(super) fn refresh(&mut self, cell: Cell) -> bool {
        if !self.aliases.is_stale(cell) {
            return true;
        }
        let Some(Derivation { parent, view, .. }) = self.aliases.derivation(cell).cloned() else { return false };
        // Chains of derivations are short: see `Aliases::derive`.
        if !self.refresh(parent) || !self.spend(size(&view.node)) {
            return false;
        }
        let mut node = view.node.clone();
        if let Some((_, arg)) = first_tensor_arg(&node).and_then(|at| node.args.get_mut(at)) {
            *arg = Arg::Tensor(self.aliases.newest(parent).to_owned());
        }
        let old: Vec<String> = tensor_results(&node).map(str::to_owned).collect();
        let cells = view.cells();
        let new: Vec<String> = cells.iter().map(|cell| self.name_again(*cell)).collect();
        for (old, new) in old.iter().zip(&new) {
            self.copy_meta(old, new);
        }
        let mut names = new.iter();
        for output in &mut node.outputs {
            match output {
                NodeOutput::Tensor(name) => names.next().into_iter().for_each(|new| new.clone_into(name)),
                NodeOutput::Tensors(list) => {
                    list.iter_mut().zip(&mut names).for_each(|(name, new)| new.clone_into(name))
                }
                NodeOutput::Sym(_) | NodeOutput::None => {}
            }
        }
        if let Some(first) = new.first() {
            node.name.clone_from(first);
        }
        self.done.push(node);
        for (cell, name) in cells.into_iter().zip(new) {
            if self.aliases.is_stale(cell) {
                self.aliases.define_same(&name, cell);
                self.aliases.update(cell, name);
            }
        }
        true
    }

    /// Before a write that asks nothing of what was there: what the cell is a view of has to be up to date all the same.
    pub(super) fn refresh_parent(&mut self, cell: Cell) {
        if let Some(Derivation { parent, .. }) = self.aliases.derivation(cell).cloned() {
            self.refresh(parent);
        }
    }

    /// After a write to `cell` by a node of this origin: brings what it is a view of up to date, as far as that can be said.
    pub(super) fn write_back(&mut self, cell: Cell, origin: &Node) {
        let mut child = cell;
        while let Some(Derivation { parent, view, index, .. }) = self.aliases.derivation(child).cloned() {
            self.keep_disjoint(&view);
            // It must have been up to date before, or it would lose an older write.
            if self.aliases.lag(parent) != 1 || !self.spend(size(&view.node)) {
                return;
            }
            let (from, to) = (self.aliases.newest(parent), self.aliases.newest(child));
            let Some((target, args)) = write_back(&view.node, index, from, to, self.tensors) else { return };
            let name = self.name_again(parent);
            let old = self.aliases.newest(parent).to_owned();
            self.copy_meta(&old, &name);
            self.done.push(Node {
                name: name.clone(),
                target: target.to_owned(),
                args,
                outputs: vec![NodeOutput::Tensor(name.clone())],
                ..origin.clone()
            });
            self.aliases.define_same(&name, parent);
            self.aliases.update(parent, name);
            child = parent;
        }
    }

    /// The other parts of a tensor that was cut do not change with one of them.
    fn keep_disjoint(&mut self, view: &View) {
        if !are_disjoint(&view.node) || tensor_results(&view.node).count() > MAX_GROUP {
            return;
        }
        for cell in view.cells() {
            if self.aliases.lag(cell) == 1 {
                self.aliases.touch(cell);
            }
        }
    }

    /// A new name for a new value of a cell.
    fn name_again(&mut self, cell: Cell) -> String {
        let first = self.aliases.first_name(cell).to_owned();
        self.fresh_name(&first, "updated")
    }

    fn copy_meta(&mut self, from: &str, to: &str) {
        if let Some(meta) = self.tensors.get(from).cloned() {
            self.tensors.insert(to.to_owned(), meta);
        }
    }

    /// Bounds the nodes that are added, lest a small program become a huge one.
    fn spend(&mut self, values: usize) -> bool {
        match self.budget.checked_sub(values) {
            Some(left) => {
                self.budget = left;
                true
            }
            None => false,
        }
    }
}

/// What it costs to have a node once more.
fn size(node: &Node) -> usize {
    let args = node.args.iter().map(|(_, arg)| match arg {
        Arg::Tensors(list) => list.len(),
        Arg::Ints(list) => list.len(),
        Arg::Floats(list) => list.len(),
        _ => 1,
    });
    args.sum::<usize>() + tensor_results(node).count() + 1
}

/// Keeps a view's node for later; only where there are writes.
pub(super) fn remember(pass: &mut Pass<'_>, parent: Cell, node: &Node, cells: Vec<Cell>) {
    if pass.has_writes {
        pass.aliases.derive(parent, View::new(node.clone(), cells));
    }
}
