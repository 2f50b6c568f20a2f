//! Updates stale views: from the cell that was written last to its bases, and from there to other views.
//!
//! A cell is only updated when it is read, and only along the path to it: writes to a chain of views cost nothing until
//! the first of them is read again.

use super::alias::{Cell, Derivation, View};
use super::views::{Inverse, are_disjoint, inverse, may_repeat, reinterprets, reshaped};
use super::{Pass, tensor_results};
use crate::terms::{NewArg, NewCall, first_tensor_arg};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, IntArg, Node, NodeOutput};

/// The number of groups of views of one node that are checked after each write.
const MAX_GROUP: usize = 64;
/// How many ancestors of a written cell are checked for groups.
const MAX_CLIMB: usize = 8;

impl Pass<'_> {
    /// Updates a stale cell; returns false if that is impossible.
    pub(super) fn refresh(&mut self, cell: Cell) -> bool {
        if !self.aliases.is_stale(cell) {
            return true;
        }
        let Some(tip) = self.aliases.tip(cell) else { return false };
        let Some(meeting) = self.aliases.meeting(tip, cell) else { return false };
        let Some(meeting) = self.landing(tip, meeting).filter(|landing| self.flush(tip, *landing)) else {
            return false;
        };
        let mut path = Vec::new();
        let mut below = cell;
        while below != meeting {
            path.push(below);
            let Some(derivation) = self.aliases.derivation(below) else { return false };
            below = derivation.parent;
        }
        path.into_iter().rev().all(|cell| !self.aliases.is_stale(cell) || self.derive_again(cell))
    }

    /// Before a write through `cell`, its bases must include writes through other cells; `whole` if the cell's elements
    /// are not read. Returns false if an earlier write would be lost.
    pub(super) fn prepare(&mut self, cell: Cell, whole: bool) -> bool {
        let Some(tip) = self.aliases.tip(cell) else {
            if self.aliases.is_stale(cell) {
                self.aliases.forget_derivation(cell);
            }
            return true;
        };
        let Some(meeting) = self.aliases.meeting(tip, cell) else {
            self.aliases.forget_derivation(cell);
            return true;
        };
        if meeting == cell {
            return true;
        }
        let flushed = self.landing(tip, meeting).is_some_and(|landing| self.flush(tip, landing));
        if !flushed && !whole {
            return false;
        }
        let parent = self.aliases.derivation(cell).map(|derivation| derivation.parent);
        let above = parent.and_then(|parent| self.aliases.plain(parent));
        if !above.is_some_and(|above| self.refresh(above)) {
            self.aliases.forget_derivation(cell);
        }
        true
    }

    /// The cell that receives the tip's writes before the `ancestor` is computed: in a view that repeats an element,
    /// one write would change several elements, so they are applied further up.
    fn landing(&self, tip: Cell, ancestor: Cell) -> Option<Cell> {
        if tip == ancestor { Some(tip) } else { self.aliases.plain(ancestor) }
    }

    /// Applies the writes of the tip to one of its ancestors, which becomes the tip.
    fn flush(&mut self, tip: Cell, ancestor: Cell) -> bool {
        let mut child = tip;
        while child != ancestor {
            let mut way = Vec::new();
            let mut above = child;
            while above == child || self.aliases.overlaps(above) {
                let Some(derivation) = self.aliases.derivation(above).cloned() else { return false };
                above = derivation.parent;
                way.push(derivation);
            }
            if self.aliases.is_stale(above) && !self.write_back(child, &way, above) {
                return false;
            }
            child = above;
            self.aliases.set_tip(Some(child), child);
        }
        true
    }

    /// Recomputes a view from the current value of its parent.
    fn derive_again(&mut self, cell: Cell) -> bool {
        let Some(Derivation { parent, view, .. }) = self.aliases.derivation(cell).cloned() else { return false };
        let Some(names) = self.run_again(&view, self.aliases.newest(parent).to_owned(), true) else { return false };
        for (cell, name) in view.cells.iter().zip(names) {
            if self.aliases.is_stale(*cell) {
                self.aliases.update(*cell, name);
            }
        }
        true
    }

    /// Applies the node of a view to another tensor; returns the names of its results.
    fn run_again(&mut self, view: &View, on: String, same_dtype: bool) -> Option<Vec<String>> {
        self.spend(size(&view.node))?;
        let mut node = view.node.clone();
        let own = first_tensor_arg(&node)?;
        if let Some((_, arg)) = node.args.get_mut(own) {
            *arg = Arg::Tensor(on);
        }
        let old: Vec<String> = tensor_results(&node).map(str::to_owned).collect();
        let new: Vec<String> = view.cells.iter().map(|cell| self.name_again(*cell)).collect();
        for (old, new) in old.iter().zip(&new).filter(|_| same_dtype) {
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
        Some(new)
    }

    /// Computes an ancestor of a cell after a write to the cell; `way` is the path between them.
    fn write_back(&mut self, child: Cell, way: &[Derivation], ancestor: Cell) -> bool {
        let (from, to) = (self.aliases.newest(ancestor).to_owned(), self.aliases.newest(child).to_owned());
        if self.tensors.get(&to).is_some_and(|meta| meta.sizes.iter().any(|size| *size == 0)) {
            self.aliases.touch(ancestor);
            return true;
        }
        let Some((Derivation { view, index, .. }, further)) = way.split_first() else { return false };
        let origin = super::inplace::origin(&view.node);
        let is_unknown = |step: &Derivation| {
            (reinterprets(&step.view.node) && way.len() > 1)
                || matches!(inverse(&step.view.node, step.index, &from, &to, self.tensors), Inverse::Unknown)
        };
        if way.iter().any(is_unknown) || self.spend(size(&view.node)).is_none() {
            return false;
        }
        let call = match inverse(&view.node, *index, &from, &to, self.tensors) {
            Inverse::Call(call) if further.is_empty() => call,
            _ => match self.scattered(way, &from, &to, &origin) {
                Some(call) => call,
                None => return false,
            },
        };
        let (target, args) = self.flattened(&origin, call, &from);
        let name = self.name_again(ancestor);
        self.copy_meta(&from, &name);
        self.push(&origin, target, args, name.clone());
        self.aliases.update(ancestor, name);
        true
    }

    /// Handles arbitrary views: applies them to the indices of the parent's elements to find where the child's elements
    /// go.
    fn scattered(&mut self, way: &[Derivation], parent: &str, child: &str, origin: &Node) -> Option<NewCall> {
        let tensor = |value: String| Arg::Tensor(value);
        let flat = |value: &str| {
            let shape = Arg::Ints(vec![IntArg::Known(-1)]);
            NewCall::of("aten::reshape", vec![("self", tensor(value.to_owned())), ("shape", shape)])
        };
        let count = self.count(parent, origin)?;
        let numbers = self.emit(origin, NewCall::of("aten::arange", vec![("end", count)]), parent);
        let mut places = self.emit(origin, reshaped(parent, &numbers, self.tensors), parent);
        for Derivation { view, index, .. } in way.iter().rev() {
            places = self.run_again(view, places, false)?.into_iter().nth(*index)?;
        }
        let places = self.emit(origin, flat(&places), parent);
        let elements = self.emit(origin, flat(parent), parent);
        let source = self.emit(origin, flat(child), child);
        let args =
            vec![("self", tensor(elements)), ("dim", Arg::Int(0)), ("index", tensor(places)), ("src", tensor(source))];
        let scattered = self.emit(origin, NewCall::of("aten::scatter.src", args), parent);
        Some(reshaped(parent, &scattered, self.tensors))
    }

    /// The number of elements of a tensor, as an argument.
    fn count(&mut self, tensor: &str, origin: &Node) -> Option<Arg> {
        let count: SymInt = self.tensors.get(tensor)?.sizes.iter().product();
        if let Some(known) = count.known() {
            return Some(Arg::Int(known));
        }
        let name = self.fresh_name(tensor, "numel");
        self.sym_ints.insert(name.clone(), count);
        self.done.push(Node {
            name: name.clone(),
            target: "aten::sym_numel".to_owned(),
            args: vec![("self".to_owned(), Arg::Tensor(tensor.to_owned()))],
            outputs: vec![NodeOutput::Sym(name.clone())],
            ..origin.clone()
        });
        Some(Arg::Sym(name))
    }

    /// Marks the other parts of a split tensor as up to date, because they do not change with one of the parts.
    pub(super) fn keep_disjoint(&mut self, cell: Cell) {
        let mut cell = cell;
        for _ in 0..MAX_CLIMB {
            let Some(Derivation { parent, view, .. }) = self.aliases.derivation(cell).cloned() else { return };
            if are_disjoint(&view.node) && view.cells.len() <= MAX_GROUP && !self.aliases.overlaps(parent) {
                let others = view.cells.iter().filter(|other| **other != cell);
                let fresh: Vec<Cell> = others.copied().filter(|other| self.aliases.lag(*other) == 1).collect();
                fresh.into_iter().for_each(|other| self.aliases.touch(other));
            }
            cell = parent;
        }
    }

    /// Emits nodes, the last with a result named after `stem`.
    pub(super) fn emit(&mut self, origin: &Node, call: NewCall, stem: &str) -> String {
        let (target, args) = self.flattened(origin, call, stem);
        let name = self.fresh_name(stem, "updated");
        self.push(origin, target, args, name.clone());
        name
    }

    /// Emits nodes, the last with this result.
    pub(super) fn emit_as(&mut self, origin: &Node, call: NewCall, name: String) {
        let (target, args) = self.flattened(origin, call, &name);
        self.push(origin, target, args, name);
    }

    /// The operator and arguments of a call, after emitting nodes for nested calls, named after `stem`.
    pub(super) fn flattened(&mut self, origin: &Node, call: NewCall, stem: &str) -> (&'static str, Vec<(String, Arg)>) {
        let mut args = Vec::with_capacity(call.args.len());
        for (name, arg) in call.args {
            let arg = match arg {
                NewArg::Arg(arg) => arg,
                NewArg::Call(inner) => Arg::Tensor(self.emit(origin, inner, stem)),
            };
            args.push((name.to_owned(), arg));
        }
        (call.target, args)
    }

    fn push(&mut self, origin: &Node, target: &str, args: Vec<(String, Arg)>, name: String) {
        self.done.push(Node {
            name: name.clone(),
            target: target.to_owned(),
            args,
            outputs: vec![NodeOutput::Tensor(name)],
            ..origin.clone()
        });
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

    /// Limits the number of added nodes, so that a small program cannot become huge.
    fn spend(&mut self, values: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(values)?;
        Some(())
    }

    /// Stores a view's node if views are tracked.
    pub(super) fn remember(&mut self, parent: Cell, node: &Node, cells: Vec<Cell>) {
        if !self.tracks_views {
            return;
        }
        let before = self.aliases.overlaps(parent);
        for (cell, name) in cells.iter().zip(tensor_results(node)) {
            self.aliases.set_overlaps(*cell, may_repeat(node, self.tensors, name, before));
        }
        self.aliases.derive(parent, View { node: node.clone(), cells });
    }
}

/// The cost of copying a node.
fn size(node: &Node) -> usize {
    let args = node.args.iter().map(|(_, arg)| match arg {
        Arg::Tensors(list) => list.len(),
        Arg::Ints(list) => list.len(),
        Arg::Floats(list) => list.len(),
        _ => 1,
    });
    args.sum::<usize>() + tensor_results(node).count() + 1
}
