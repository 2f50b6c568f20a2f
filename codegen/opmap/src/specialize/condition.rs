//! Conditions that depend only on the opset.

use super::fold::Literal;
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Expr, Kind};

/// The outcome of a condition at an opset; None if it depends on anything else. One operand may decide `&&` and `||`.
pub fn opset_condition(condition: &Expr, opset: u32) -> Option<bool> {
    let outcome = |condition: &Expr| opset_condition(condition, opset);
    match &condition.kind {
        Kind::Bool(outcome) => Some(*outcome),
        Kind::Unary(UnaryOp::Not, inner) => Some(!outcome(inner)?),
        Kind::Binary(BinaryOp::And, a, b) => match (outcome(a), outcome(b)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (a, b) => Some(a? && b?),
        },
        Kind::Binary(BinaryOp::Or, a, b) => match (outcome(a), outcome(b)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (a, b) => Some(a? || b?),
        },
        Kind::Binary(op, a, b) => literal(a, opset)?.compare(*op, &literal(b, opset)?),
        _ => None,
    }
}

fn literal(expr: &Expr, opset: u32) -> Option<Literal> {
    match &expr.kind {
        Kind::Int(number) => Some(Literal::Int(*number)),
        Kind::Opset => Some(Literal::Int(i64::from(opset))),
        Kind::Convert(inner) => literal(inner, opset),
        _ => None,
    }
}
