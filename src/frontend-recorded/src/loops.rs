//! Loops of Python's code: `loop(body, count?, condition?, carried, more)`, where `body(index, carried.., more..)` gives `(condition?, carried.., slices..)`.
//!
//! What a loop carries may have another size in each turn, such as a cache that grows. Such a size is a symbol in the body.

use std::sync::Arc;

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, Graph, Node};

use rustc_hash::FxHashSet;

use super::Pass;
use super::nested::{Operand, changing, rows};

/// The places and axes of what is carried whose sizes a loop changes.
type Changed = FxHashSet<(usize, usize)>;

impl Pass<'_> {
    pub(super) fn counted_loop(&mut self, node: &mut Node) -> Result<()> {
        let lists = self.operands_after_graphs(node)?;
        let list = |at: usize| lists.get(at).cloned().unwrap_or_default();
        let has_condition = !list(1).is_empty();
        let more: Vec<Operand> = lists.iter().skip(3).flatten().cloned().collect();
        let mut carried: Vec<Operand> = list(2).into_iter().map(changing).collect();
        let body = node.args.iter_mut().find_map(|(_, arg)| match arg {
            Arg::Graph(graph) => Some(graph),
            _ => None,
        });
        let body = body.ok_or_else(|| Error::input("it has no graph"))?;
        let known = self.symbols.len();
        let mut changed = FxHashSet::default();
        self.make_observed(body, &mut carried, &mut changed);
        let results = loop {
            let given: Vec<Operand> =
                std::iter::once(Operand::Unknown).chain(carried.iter().cloned()).chain(more.iter().cloned()).collect();
            let mut graph = Graph::clone(body);
            let mut made = self.nested(&mut graph, &given)?;
            if has_condition && !made.is_empty() {
                made.remove(0);
            }
            if !self.make_changing(&graph, &mut carried, &made, &mut changed)? {
                *body = Arc::new(graph);
                break made;
            }
        };
        let count = list(0).into_iter().next().filter(|_| !has_condition);
        let count = match count {
            Some(Operand::Int(count)) => count,
            _ => SymInt::symbol("?"),
        };
        let slices: Vec<Option<Operand>> =
            results.iter().skip(carried.len()).map(|row| rows(row.as_ref(), Some(&count))).collect();
        let inner = self.symbols.get(known..).unwrap_or_default().to_vec();
        let made = carried.into_iter().map(Some).chain(slices);
        for (output, made) in node.outputs.iter().zip(made) {
            self.result("loop", output, made, &inner)?;
        }
        Ok(())
    }

    /// Gives what is carried a symbol for each size that is another one in the turn that was recorded.
    fn make_observed(&mut self, body: &Graph, carried: &mut [Operand], changed: &mut Changed) {
        for (place, (input, operand)) in body.inputs.iter().skip(1).zip(carried).enumerate() {
            let Operand::Tensor(meta) = operand else { continue };
            for axis in 0..meta.sizes.len() {
                let is_other = meta.sizes.get(axis).is_some_and(|size| self.check(&input.name, axis, size).is_err());
                if is_other && let Some(size) = meta.sizes.get_mut(axis) {
                    *size = self.size_of_side(&input.name, axis);
                    changed.insert((place, axis));
                    meta.strides.clear();
                }
            }
        }
    }

    /// Gives what is carried a symbol for each size that a turn changes. Returns whether there is one.
    fn make_changing(
        &mut self,
        body: &Graph,
        carried: &mut [Operand],
        made: &[Option<Operand>],
        changed: &mut Changed,
    ) -> Result<bool> {
        let before_this = changed.len();
        for (place, ((input, before), after)) in
            body.inputs.iter().skip(1).zip(carried.iter_mut()).zip(made).enumerate()
        {
            let (Operand::Tensor(before), Some(Operand::Tensor(after))) = (before, after) else { continue };
            if before.dtype != after.dtype || before.sizes.len() != after.sizes.len() {
                return Err(Error::unsupported(format!(
                    "a loop changes the type of the value {place} that it carries"
                )));
            }
            for (axis, made) in after.sizes.iter().enumerate() {
                let Some(size) = before.sizes.get_mut(axis) else { continue };
                if size == made || !changed.insert((place, axis)) {
                    continue;
                }
                *size = self.size_of_side(&input.name, axis);
                before.strides.clear();
            }
        }
        Ok(changed.len() > before_this)
    }
}
