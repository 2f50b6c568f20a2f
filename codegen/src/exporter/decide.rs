//! Takes out of checked expressions what an opset decides: branches that are not taken, `since` that is met.

use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Expr, Kind, Statement};
use crate::types::Ty;
use crate::visit::children_mut;

/// Decides what the opset decides, in an expression and all inside it.
pub(super) fn at(expr: &mut Expr, opset: u32) {
    if let Kind::If { condition, then, other, .. } = &mut expr.kind
        && let Some(outcome) = outcome(condition, opset)
    {
        let taken = if outcome { then } else { other };
        let taken = std::mem::replace(&mut **taken, Expr::unit(expr.span));
        *expr = taken;
        return at(expr, opset);
    }
    if let Kind::Block(statements, result) = &mut expr.kind {
        since(statements, result, opset);
    }
    children_mut(expr, &mut |child| at(child, opset));
    if matches!(expr.kind, Kind::Opset) {
        expr.kind = Kind::Int(i64::from(opset));
    }
}

/// A `since` that is met says nothing; one that is not ends the block.
fn since(statements: &mut Vec<Statement>, result: &mut Expr, opset: u32) {
    let unmet = statements.iter().position(|s| matches!(s, Statement::Since(since, ..) if opset < *since));
    if let Some(at) = unmet
        && let Some(Statement::Since(since, reason, span)) = statements.drain(at..).next()
    {
        *result = Expr::new(Kind::Since(since, reason), Ty::Never, span);
    }
    statements.retain(|statement| !matches!(statement, Statement::Since(..)));
}

/// The outcome of a condition that depends on nothing but the opset.
fn outcome(condition: &Expr, opset: u32) -> Option<bool> {
    match &condition.kind {
        Kind::Bool(outcome) => Some(*outcome),
        Kind::Unary(UnaryOp::Not, inner) => Some(!outcome(inner, opset)?),
        Kind::Binary(BinaryOp::And, a, b) => Some(outcome(a, opset)? && outcome(b, opset)?),
        Kind::Binary(BinaryOp::Or, a, b) => Some(outcome(a, opset)? || outcome(b, opset)?),
        Kind::Binary(op, a, b) => {
            let (a, b) = (number(a, opset)?, number(b, opset)?);
            match op {
                BinaryOp::Eq => Some(a == b),
                BinaryOp::Ne => Some(a != b),
                BinaryOp::Lt => Some(a < b),
                BinaryOp::Le => Some(a <= b),
                BinaryOp::Gt => Some(a > b),
                BinaryOp::Ge => Some(a >= b),
                _ => None,
            }
        }
        _ => None,
    }
}

fn number(expr: &Expr, opset: u32) -> Option<i64> {
    match &expr.kind {
        Kind::Opset => Some(i64::from(opset)),
        Kind::Int(number) => Some(*number),
        Kind::Convert(inner) => number(inner, opset),
        _ => None,
    }
}

/// Calls `f` on the number of every arm.
pub(super) fn arms(expr: &mut Expr, f: &mut dyn FnMut(&mut u32)) {
    match &mut expr.kind {
        Kind::If { arms, .. } | Kind::IfLet { arms, .. } | Kind::Coalesce { arms, .. } => {
            arms.iter_mut().for_each(&mut *f)
        }
        Kind::Match { arms, .. } => arms.iter_mut().for_each(|arm| f(&mut arm.arm)),
        _ => {}
    }
    children_mut(expr, &mut |child| arms(child, f));
}
