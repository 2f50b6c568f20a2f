//! Takes out of checked expressions what an opset decides: branches that are not taken, `since` that is met.

use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Expr, Input, Item, Kind, Outputs, Statement, Text};
use crate::types::Ty;

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
    children(expr, &mut |child| at(child, opset));
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
    children(expr, &mut |child| arms(child, f));
}

/// Calls `f` on what stands directly inside an expression, as [`crate::visit::children`] does.
fn children(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        Kind::Int(_)
        | Kind::Float(_)
        | Kind::Bool(_)
        | Kind::Str(_)
        | Kind::Dtype(_)
        | Kind::None
        | Kind::Local(_)
        | Kind::Opset
        | Kind::Outputs
        | Kind::Since(..) => {}
        Kind::Convert(e) | Kind::Unary(_, e) | Kind::Closure(_, e) => f(e),
        Kind::Binary(_, a, b) | Kind::Index(a, b) => {
            f(a);
            f(b);
        }
        Kind::Coalesce { value, other, .. } => {
            f(value);
            f(other);
        }
        Kind::Node(node) => {
            node.inputs.iter_mut().filter_map(input).for_each(&mut *f);
            node.attrs.iter_mut().for_each(|(_, _, value)| f(value));
            if let Outputs::List(count) = &mut node.outputs {
                f(count);
            }
        }
        Kind::Rule(_, args)
        | Kind::Fn(_, args)
        | Kind::Extern(_, args)
        | Kind::Builtin(_, args)
        | Kind::Tuple(args) => args.iter_mut().for_each(f),
        Kind::If { condition: value, then, other, .. } | Kind::IfLet { value, then, other, .. } => {
            f(value);
            f(then);
            f(other);
        }
        Kind::Match { value, arms } => {
            f(value);
            arms.iter_mut().for_each(|arm| f(&mut arm.value));
        }
        Kind::List(items) => items.iter_mut().for_each(|item| match item {
            Item::One(e) | Item::Spread(e) => f(e),
        }),
        Kind::Comprehension { element, list, condition, .. } => {
            f(list);
            condition.iter_mut().for_each(|e| f(e));
            f(element);
        }
        Kind::Slice(list, from, to) => {
            f(list);
            from.iter_mut().chain(to).for_each(|e| f(e));
        }
        Kind::Block(statements, result) => {
            for statement in statements {
                match statement {
                    Statement::Let(_, e) | Statement::Expr(e) => f(e),
                    Statement::Since(..) => {}
                }
            }
            f(result);
        }
        Kind::Fail(parts) => parts.iter_mut().for_each(|part| match part {
            Text::Value(e) => f(e),
            Text::Text(_) => {}
        }),
    }
}

fn input(input: &mut Input) -> Option<&mut Expr> {
    match input {
        Input::Absent => None,
        Input::Tensor(e)
        | Input::Optional(e)
        | Input::Number(e)
        | Input::OptionalNumber(e)
        | Input::Ints(e)
        | Input::Floats(e)
        | Input::Spread(e) => Some(e),
    }
}
