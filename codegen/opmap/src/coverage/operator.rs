//! One call of an ONNX operator at one opset: native there, lowered, or a gap.

use super::{Coverage, Gap, Reach};
use crate::specialize::Specializer;
use crate::tree::{Expr, Node};

impl Coverage<'_> {
    /// An operator in the form of one opset at another opset: native, lowered, or a gap.
    pub(super) fn operator(&mut self, node: &Node, opset: u32, expr: &Expr) -> Reach {
        let schemas = self.schemas;
        let op = node.op.as_str();
        let mut reach = Reach::default();
        for version in schemas.onnx.versions(op).iter().rev().filter(|v| opset < v.since && v.since <= node.form) {
            let lower = self.lowers.get(&(op, version.since)).copied();
            if !schemas.shape_change(op, version.since) {
                // Only the dtypes differ: the lowering is for dtypes that the older version does not support.
                if let Some(index) = lower {
                    let called = self.lowered(index, node, opset);
                    reach = reach.or(self.seen_from_here(called));
                    reach.refused = false;
                }
                continue;
            }
            if self.sames.contains(&(op, version.since)) {
                continue;
            }
            let next = match lower {
                Some(index) => {
                    let called = self.lowered(index, node, opset);
                    self.seen_from_here(called)
                }
                None => {
                    let path = self.stack.last().cloned().into_iter().collect();
                    let gap = Gap { site: expr.span, op: op.to_owned(), missing: version.since, path };
                    Reach { gaps: [gap].into(), ..Reach::default() }
                }
            };
            reach.then(next);
            return reach;
        }
        reach
    }

    /// What a call reaches in its lowering. If the lowering refuses some calls, the arguments of this call may show that it is not
    /// one of them.
    fn lowered(&mut self, index: usize, node: &Node, opset: u32) -> Reach {
        let reach = self.lower(index, opset);
        if !reach.gaps.is_empty() || reach.reasons.is_empty() {
            return reach;
        }
        let program = self.program;
        let body = Specializer::new(program, self.schemas, opset).inlined(&program.lowers[index], node);
        self.expr(&body, opset)
    }
}
