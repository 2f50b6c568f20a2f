//! Walks over the expressions of a body, to change them.

use super::{Argument, Block, Body, Condition, Expr, ExprKind, ListItem, StatementKind, TextPart};

/// Calls `f` on every expression of a body, outer ones first.
pub fn walk_body(body: &mut Body, f: &mut dyn FnMut(&mut Expr)) {
    match body {
        Body::Expr(expr) => walk_expr(expr, f),
        Body::Block(block) => walk_block(block, f),
    }
}

fn walk_block(block: &mut Block, f: &mut dyn FnMut(&mut Expr)) {
    for statement in &mut block.statements {
        match &mut statement.kind {
            StatementKind::Let(_, expr) | StatementKind::Return(expr) | StatementKind::Expr(expr) => walk_expr(expr, f),
            StatementKind::Ignore(..) | StatementKind::Since(_) => {}
        }
    }
    if let Some(result) = &mut block.result {
        walk_expr(result, f);
    }
}

/// Calls `f` on an expression and all inside it, outer ones first.
pub fn walk_expr(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    f(expr);
    match &mut expr.kind {
        ExprKind::Node(_, args) | ExprKind::Rule(_, args) | ExprKind::Call(_, args) => {
            for arg in args {
                match arg {
                    Argument::Positional(e) | Argument::Spread(e) | Argument::Named(_, e) => walk_expr(e, f),
                }
            }
        }
        ExprKind::Unary(_, e) | ExprKind::Closure(_, e) => walk_expr(e, f),
        ExprKind::Binary(_, a, b) | ExprKind::Coalesce(a, b) | ExprKind::Index(a, b) => {
            walk_expr(a, f);
            walk_expr(b, f);
        }
        ExprKind::If(condition, then, other) => {
            match condition {
                Condition::Expr(e) | Condition::Let(_, e) => walk_expr(e, f),
            }
            walk_block(then, f);
            if let Some(other) = other {
                walk_block(other, f);
            }
        }
        ExprKind::Match(value, arms) => {
            walk_expr(value, f);
            for arm in arms {
                walk_expr(&mut arm.value, f);
            }
        }
        ExprKind::List(items) => {
            for item in items {
                match item {
                    ListItem::One(e) | ListItem::Spread(e) => walk_expr(e, f),
                }
            }
        }
        ExprKind::Comprehension { element, list, condition, .. } => {
            walk_expr(list, f);
            if let Some(condition) = condition {
                walk_expr(condition, f);
            }
            walk_expr(element, f);
        }
        ExprKind::Fold { init, list, body, .. } => {
            walk_expr(init, f);
            walk_expr(list, f);
            walk_block(body, f);
        }
        ExprKind::Tuple(parts) => parts.iter_mut().for_each(|e| walk_expr(e, f)),
        ExprKind::Slice(list, from, to) => {
            walk_expr(list, f);
            for end in [from, to].into_iter().flatten() {
                walk_expr(end, f);
            }
        }
        ExprKind::Block(block) => walk_block(block, f),
        ExprKind::Fail(parts) => {
            for part in parts {
                if let TextPart::Expr(e) = part {
                    walk_expr(e, f);
                }
            }
        }
        ExprKind::Int(_)
        | ExprKind::Float(..)
        | ExprKind::Str(_)
        | ExprKind::Name(_)
        | ExprKind::Path(_)
        | ExprKind::Since(_) => {}
    }
}
