//! What is known without running anything: literals, comparisons of literals, values that are there for certain.

use std::collections::HashMap;

use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Builtin, Expr, Item, Kind, Pattern};
use crate::types::Ty;

/// A value that the text alone tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    None,
    Bool(bool),
    Number(f64),
    Str(String),
    Dtype(String),
}

/// The expression inside conversions.
pub(super) fn bare(expr: &Expr) -> &Expr {
    match &expr.kind {
        Kind::Convert(inner) => bare(inner),
        _ => expr,
    }
}

/// The literal that an expression is.
pub(super) fn literal(expr: &Expr) -> Option<Literal> {
    Some(match &bare(expr).kind {
        Kind::None => Literal::None,
        Kind::Bool(b) => Literal::Bool(*b),
        Kind::Int(i) => Literal::Number(*i as f64),
        Kind::Float(x) => Literal::Number(*x),
        Kind::Str(text) => Literal::Str(text.clone()),
        Kind::Dtype(name) => Literal::Dtype(name.clone()),
        _ => return None,
    })
}

/// May it stand in several places without being worked out several times?
pub(super) fn is_simple(expr: &Expr) -> bool {
    match &bare(expr).kind {
        Kind::Local(_) => true,
        Kind::List(items) => items.iter().all(|item| matches!(item, Item::One(e) if is_simple(e))),
        _ => literal(expr).is_some(),
    }
}

/// The value without its `?`, if it is there for certain.
pub(super) fn present(expr: &Expr) -> Option<&Expr> {
    match (&expr.kind, &expr.ty) {
        (Kind::None, _) => None,
        (Kind::Convert(inner), Ty::Optional(_)) => present(inner),
        (_, Ty::Optional(_)) => None,
        _ => Some(expr),
    }
}

/// The outcome of a condition.
pub(super) fn outcome(condition: &Expr) -> Option<bool> {
    match literal(condition) {
        Some(Literal::Bool(outcome)) => Some(outcome),
        _ => None,
    }
}

/// `!x`, or its outcome.
pub(super) fn unary(op: UnaryOp, inner: Expr, like: &Expr) -> Expr {
    match (op, outcome(&inner)) {
        (UnaryOp::Not, Some(outcome)) => known(!outcome, like),
        _ => Expr::new(Kind::Unary(op, Box::new(inner)), like.ty.clone(), like.span),
    }
}

/// `a OP b`, or its outcome where it is one.
pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr, like: &Expr) -> Expr {
    match (op, outcome(&a), outcome(&b)) {
        (BinaryOp::And, Some(false), _) | (BinaryOp::And, _, Some(false)) => return known(false, like),
        (BinaryOp::Or, Some(true), _) | (BinaryOp::Or, _, Some(true)) => return known(true, like),
        (BinaryOp::And, Some(true), _) | (BinaryOp::Or, Some(false), _) => return b,
        (BinaryOp::And, _, Some(true)) | (BinaryOp::Or, _, Some(false)) => return a,
        _ => {}
    }
    if let Some(outcome) = compare(op, &a, &b) {
        return known(outcome, like);
    }
    Expr::new(Kind::Binary(op, Box::new(a), Box::new(b)), like.ty.clone(), like.span)
}

fn known(outcome: bool, like: &Expr) -> Expr {
    Expr::new(Kind::Bool(outcome), Ty::Bool, like.span)
}

fn compare(op: BinaryOp, a: &Expr, b: &Expr) -> Option<bool> {
    let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
    let (left, right) = match (literal(a), literal(b)) {
        (Some(left), Some(right)) => (left, right),
        // What is there is not None.
        (Some(Literal::None), None) if equality && present(b).is_some() => return Some(op == BinaryOp::Ne),
        (None, Some(Literal::None)) if equality && present(a).is_some() => return Some(op == BinaryOp::Ne),
        _ => return None,
    };
    match (op, &left, &right) {
        (BinaryOp::Eq, ..) => Some(left == right),
        (BinaryOp::Ne, ..) => Some(left != right),
        (BinaryOp::Lt, Literal::Number(x), Literal::Number(y)) => Some(x < y),
        (BinaryOp::Le, Literal::Number(x), Literal::Number(y)) => Some(x <= y),
        (BinaryOp::Gt, Literal::Number(x), Literal::Number(y)) => Some(x > y),
        (BinaryOp::Ge, Literal::Number(x), Literal::Number(y)) => Some(x >= y),
        _ => None,
    }
}

/// Does a pattern take a value? None where only the export tells.
pub(super) fn takes(pattern: &Pattern, value: &Expr) -> Option<bool> {
    match pattern {
        Pattern::Wild | Pattern::Bind { unwrap: false, .. } => Some(true),
        Pattern::Bind { unwrap: true, .. } => is_none(value).map(|none| !none),
        Pattern::None => is_none(value),
        Pattern::Literal(wanted) => match (literal(value), literal(wanted)) {
            (Some(value), Some(wanted)) => Some(value == wanted),
            _ => None,
        },
        Pattern::Tuple(parts) => {
            let Kind::Tuple(values) = &value.kind else { return None };
            let taken: Vec<Option<bool>> = parts.iter().zip(values).map(|(p, v)| takes(p, v)).collect();
            if taken.contains(&Some(false)) {
                return Some(false);
            }
            taken.iter().all(|t| *t == Some(true)).then_some(true)
        }
    }
}

fn is_none(value: &Expr) -> Option<bool> {
    match (literal(value), present(value)) {
        (Some(Literal::None), _) => Some(true),
        (_, Some(_)) => Some(false),
        _ => None,
    }
}

/// The length of a list whose elements are written out; short ranges as such lists.
pub(super) fn builtin(builtin: Builtin, args: &[Expr], like: &Expr) -> Option<Expr> {
    let int = |i: i64| Expr::new(Kind::Int(i), Ty::Int, like.span);
    match (builtin, args) {
        (Builtin::Len, [list]) => Some(int(elements(list)?.len() as i64)),
        (Builtin::Range, [Expr { kind: Kind::Int(stop @ 0..=4), .. }]) => {
            Some(Expr::new(Kind::List((0..*stop).map(|i| Item::One(int(i))).collect()), like.ty.clone(), like.span))
        }
        _ => None,
    }
}

/// The elements of a list that is written out.
pub(super) fn elements(list: &Expr) -> Option<Vec<Expr>> {
    let Kind::List(items) = &bare(list).kind else { return None };
    let one = |item: &Item| match item {
        Item::One(e) => Some(e.clone()),
        Item::Spread(_) => None,
    };
    items.iter().map(one).collect()
}

/// An element of such a list. Where there is but one, that is meant.
pub(super) fn element(list: &Expr, index: &Expr) -> Option<Expr> {
    let elements = elements(list)?;
    match (&index.kind, elements.as_slice()) {
        (_, [only]) => Some(only.clone()),
        (Kind::Int(i), elements) => elements.get(usize::try_from(*i).ok()?).cloned(),
        _ => None,
    }
}

/// The most elements that a list can have; `known` tells those of names.
pub(super) fn most(list: &Expr, known: &HashMap<String, usize>) -> Option<usize> {
    match &bare(list).kind {
        Kind::Local(name) => known.get(name).copied(),
        Kind::List(_) => elements(list).map(|e| e.len()),
        Kind::Comprehension { list, .. } => most(list, known),
        _ => None,
    }
}

/// What the prelude's readers of constants make of numbers and lists that were written where a tensor may stand.
pub(super) fn content(function: &str, args: &[Expr], like: &Expr) -> Option<Expr> {
    let [arg] = args else { return None };
    let arg = bare(arg);
    let integers = arg.ty == Ty::list(Ty::Int);
    let sizes = arg.ty == Ty::list(Ty::SymInt);
    match function {
        "contents" if sizes => {
            Some(Expr::new(Kind::Extern("known_ints".to_owned(), vec![arg.clone()]), like.ty.clone(), like.span))
        }
        "contents" | "known_ints" if integers => Some(arg.clone()),
        "sym_ints" if integers || sizes => Some(arg.clone()),
        "is_known" if integers || arg.ty.is_number() => Some(known(true, like)),
        "value" | "number" | "sym" if arg.ty.is_number() => Some(arg.clone()),
        _ => None,
    }
}
