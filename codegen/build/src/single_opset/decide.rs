//! Removes from checked expressions what an opset decides: branches that are not taken, `since` that is satisfied.

use aten2onnx_opmap::specialize::opset_condition;
use aten2onnx_opmap::tree::{Expr, Kind, Statement};
use aten2onnx_opmap::types::Ty;
use aten2onnx_opmap::visit::children_mut;

/// Decides conditions on the opset, in an expression and everything inside it.
pub(super) fn fold_opset(expr: &mut Expr, opset: u32) {
    if let Kind::If { condition, then, other, .. } = &mut expr.kind
        && let Some(outcome) = opset_condition(condition, opset)
    {
        let taken = if outcome { then } else { other };
        let taken = std::mem::replace(&mut **taken, Expr::unit(expr.span));
        *expr = taken;
        return fold_opset(expr, opset);
    }
    if let Kind::Block(statements, result) = &mut expr.kind {
        since(statements, result, opset);
    }
    children_mut(expr, &mut |child| fold_opset(child, opset));
    if matches!(expr.kind, Kind::Opset) {
        expr.kind = Kind::Int(i64::from(opset));
    }
}

/// Removes a `since` that is satisfied. One that is not ends the block.
fn since(statements: &mut Vec<Statement>, result: &mut Expr, opset: u32) {
    let unmet = statements.iter().position(|s| matches!(s, Statement::Since(since, ..) if opset < *since));
    if let Some(at) = unmet
        && let Some(Statement::Since(since, reason, span)) = statements.drain(at..).next()
    {
        *result = Expr::new(Kind::Since(since, reason), Ty::Never, span);
    }
    statements.retain(|statement| !matches!(statement, Statement::Since(..)));
}
