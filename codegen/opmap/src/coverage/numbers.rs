//! Arithmetic on numbers of which bounds are known.

use super::values::{Abs, Kinds, Known, Number, Values};
use crate::syntax::ast::BinaryOp;

/// Whether the result of arithmetic is known: also that of unknown sizes may be, as `n - n` is.
pub(super) fn computed(operands: Known) -> Known {
    if operands.may_not() { Known::MAYBE.or(operands) } else { operands }
}

/// Arithmetic on known numbers, and `+` of lists.
pub(super) fn arithmetic(op: BinaryOp, a: &Abs, b: &Abs) -> Abs {
    match (a, b) {
        (Abs::Never, _) | (_, Abs::Never) => Abs::Never,
        (Abs::List(x), Abs::List(y)) if op == BinaryOp::Add => Abs::List(x.then(y)),
        (Abs::Number(x), Abs::Number(y)) => {
            let known = computed(x.known.with(y.known));
            let kinds = match x.kinds.or(y.kinds) {
                kinds if op == BinaryOp::Div => kinds.or(Kinds::FLOAT),
                // The sum of two booleans is an integer.
                kinds if kinds.meets(Kinds::BOOL) => kinds.or(Kinds::INT),
                kinds => kinds,
            };
            let values = match (x.values, y.values) {
                (Values::Between(p, q), Values::Between(u, v)) => between(op, (p, q), (u, v)),
                _ => Values::Any,
            };
            Abs::Number(Number { known, values, kinds })
        }
        _ => Abs::Any,
    }
}

/// The bounds of a sum, a difference or a product.
fn between(op: BinaryOp, (p, q): (i64, i64), (u, v): (i64, i64)) -> Values {
    let corners = |f: fn(i64, i64) -> i64| {
        let all = [f(p, u), f(p, v), f(q, u), f(q, v)];
        Values::Between(all.into_iter().min().unwrap_or(i64::MIN), all.into_iter().max().unwrap_or(i64::MAX))
    };
    match op {
        BinaryOp::Add => corners(i64::saturating_add),
        BinaryOp::Sub => corners(i64::saturating_sub),
        BinaryOp::Mul => corners(i64::saturating_mul),
        BinaryOp::Rem if u > 0 => Values::Between(0, v - 1),
        _ => Values::Between(i64::MIN, i64::MAX),
    }
}
