//! Sizes of the example that a trace has as numbers, where the user wants symbolic ones.
//!
//! Before a node is made, `suspects` collects literals at places where sizes are taken, and `views` those that stand for
//! a symbolic size in a reshape. A contradiction of shapes (`contradictions`) is a proof: an error names the literals that
//! fit it. What is never decided becomes a note, since the exported model may be wrong for other sizes.

mod contradictions;
mod suspects;
mod views;

use super::Interpreter;
use crate::literals::argument;
use crate::syntax::{Expr, ExprKind, Name, Stmt, StmtKind};
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::{Atom, SymInt};
use aten2onnx_program::{Arg, Node};
pub use contradictions::BROADCAST;
pub use suspects::Suspect;

impl Interpreter<'_, '_> {
    /// Looks for sizes of the example in a call before it becomes a node.
    pub(super) fn check_sizes(&mut self, node: &Node) -> Result<()> {
        if self.recorder.size_symbols.is_empty() {
            return Ok(());
        }
        self.suspect_sizes(node);
        self.check_view(node)?;
        self.check_contradictions(node)
    }

    /// Remembers the literals among the arguments of a call.
    pub(super) fn note_literals(&mut self, args: &[Expr], named: &[(Name, Expr)]) {
        if self.recorder.size_symbols.is_empty() {
            return;
        }
        self.literals.clear();
        for arg in args.iter().chain(named.iter().map(|(_, arg)| arg)) {
            match &arg.kind {
                ExprKind::Int(number) => self.literals.push(*number),
                ExprKind::List(items) => self.literals.extend(items.iter().filter_map(literal)),
                _ => {}
            }
        }
    }

    /// Whether the running code was traced. Without source lines, code without control flow counts as traced.
    fn is_traced(&mut self) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        match self.sources.place(&frame.function.file, frame.at) {
            Some(place) => place.is_traced,
            None => is_straight(&frame.function.tree.body),
        }
    }

    /// The sizes of a tensor argument.
    fn sizes_of(&self, node: &Node, name: &str) -> Option<&[SymInt]> {
        match argument(node, name)? {
            Arg::Tensor(tensor) => self.recorder.metas.get(tensor).map(|meta| meta.sizes.as_slice()),
            _ => None,
        }
    }

    /// Whether an expression is a polynomial of sizes that the user named: with a division it may be 0 for all that fit.
    fn is_of_inputs(&self, size: &SymInt) -> bool {
        let is_named =
            |atom: &Atom| matches!(atom, Atom::Symbol(symbol) if self.recorder.size_symbols.contains(&**symbol));
        let mut depends = false;
        let all = size.terms().all(|(_, factors)| {
            depends |= !factors.is_empty();
            factors.iter().all(|(atom, _)| is_named(atom))
        });
        all && depends
    }

    /// The value of an expression in the example; None if a size of it is not known.
    fn at_example(&self, size: &SymInt) -> Option<i64> {
        let value = |symbol: &str| self.origins.get(symbol)?.example.map(SymInt::from);
        size.substitute_with(&value).known()
    }
}

fn literal(expr: &Expr) -> Option<i64> {
    match expr.kind {
        ExprKind::Int(number) => Some(number),
        _ => None,
    }
}

fn is_straight(body: &[Stmt]) -> bool {
    !body.iter().any(|stmt| matches!(stmt.kind, StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::While { .. }))
}
