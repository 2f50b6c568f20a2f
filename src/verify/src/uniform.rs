//! Whether a rule does the same at every size and every rank, so that what holds for small calls holds for all.
//!
//! A rule is uniform in size if none of its decisions reads a size: it never asks for a known number and compares no symbolic ones. It
//! is uniform in rank if no decision reads a rank or a length, and nothing is repeated for each dimension. Then the nodes that it makes
//! are the same for small and for large calls, up to the sizes that they are given.

use aten2onnx_opmap::tree::{Expr, Kind, Program};
use aten2onnx_opmap::types::Ty;
use aten2onnx_opmap::visit;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::rule::Rule;

/// In what a rule is uniform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uniform {
    /// No decision depends on sizes.
    pub size: bool,
    /// No decision depends on ranks.
    pub rank: bool,
}

impl Uniform {
    /// `any size and rank`, or nothing.
    pub fn text(self) -> &'static str {
        match (self.size, self.rank) {
            (true, true) => "any size and rank",
            (true, false) => "any size",
            (false, true) => "any rank",
            (false, false) => "",
        }
    }
}

/// In what a rule and the helpers and rules that it calls are uniform.
pub(super) fn uniform(program: &Program, rule: &Rule<'_>) -> Uniform {
    let mut found = Uniform { size: true, rank: true };
    let (mut called, mut open) = (FxHashSet::default(), rule.bodies.clone());
    while let Some(body) = open.pop() {
        visit::walk(body, &mut |expr| {
            look(expr, &mut found);
            match &expr.kind {
                Kind::Fn(name, _) if called.insert(name.as_str()) => {
                    open.extend(program.helper(name).map(|function| &*function.body));
                }
                Kind::Rule(name, _) if called.insert(name.as_str()) => {
                    open.extend(program.map(name).map(|map| &*map.function.body));
                }
                _ => {}
            }
        });
    }
    found
}

fn look(expr: &Expr, found: &mut Uniform) {
    match &expr.kind {
        Kind::Extern(name, _) if name.starts_with("known") || name.starts_with("is_known") => found.size = false,
        Kind::Binary(_, left, right) if expr.ty == Ty::Bool && (left.ty == Ty::SymInt || right.ty == Ty::SymInt) => {
            found.size = false;
        }
        Kind::If { condition: decision, .. }
        | Kind::Match { value: decision, .. }
        | Kind::IfLet { value: decision, .. }
        | Kind::Coalesce { value: decision, .. } => found.rank &= !reads_rank(decision),
        Kind::Comprehension { .. } | Kind::Fold { .. } => found.rank = false,
        _ => {}
    }
}

fn reads_rank(decision: &Expr) -> bool {
    let mut reads = false;
    visit::walk(decision, &mut |expr| {
        reads |= matches!(&expr.kind, Kind::Extern(name, _) if name == "rank" || name == "shape_of")
            || matches!(&expr.kind, Kind::Builtin(..) | Kind::Fn(..));
    });
    reads
}
