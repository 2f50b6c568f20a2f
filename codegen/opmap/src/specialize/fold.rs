//! What is known of expressions before an export: literals, comparisons of literals, values that are certainly present.
//!
//! It folds conditions only. Arithmetic is left to the generated code and to the interpreter, and `tests/interpret.rs` checks that
//! the interpreter takes no branch that was ruled out here.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::returned::Returned;
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Builtin, Expr, Item, Kind, Pattern, Program};
use crate::types::Ty;

/// A literal of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Dtype(String),
}

impl Literal {
    /// The outcome of a comparison. None for other operators and for values without an order.
    pub(super) fn compare(&self, op: BinaryOp, other: &Literal) -> Option<bool> {
        match op {
            BinaryOp::Eq => Some(self.equals(other)),
            BinaryOp::Ne => Some(!self.equals(other)),
            BinaryOp::Lt => Some(self.order(other)?.is_lt()),
            BinaryOp::Le => Some(self.order(other)?.is_le()),
            BinaryOp::Gt => Some(self.order(other)?.is_gt()),
            BinaryOp::Ge => Some(self.order(other)?.is_ge()),
            _ => None,
        }
    }

    pub(super) fn equals(&self, other: &Literal) -> bool {
        match (self.number(), other.number()) {
            (Some(_), Some(_)) => self.order(other).is_some_and(Ordering::is_eq),
            _ => self == other,
        }
    }

    fn order(&self, other: &Literal) -> Option<Ordering> {
        match (self, other) {
            (Literal::Int(a), Literal::Int(b)) => Some(a.cmp(b)),
            (a, b) => a.number()?.partial_cmp(&b.number()?),
        }
    }

    /// An int beside a float is a float.
    fn number(&self) -> Option<f64> {
        match self {
            Literal::Int(i) => Some(*i as f64),
            Literal::Float(x) => Some(*x),
            _ => None,
        }
    }
}

/// The expression inside conversions.
pub(super) fn without_conversions(expr: &Expr) -> &Expr {
    match &expr.kind {
        Kind::Convert(inner) => without_conversions(inner),
        _ => expr,
    }
}

/// The literal, if the expression is one.
pub(super) fn literal(expr: &Expr) -> Option<Literal> {
    Some(match &without_conversions(expr).kind {
        Kind::None => Literal::None,
        Kind::Bool(b) => Literal::Bool(*b),
        Kind::Int(i) => Literal::Int(*i),
        Kind::Float(x) => Literal::Float(*x),
        Kind::Str(text) => Literal::Str(text.clone()),
        Kind::Dtype(name) => Literal::Dtype(name.clone()),
        _ => return None,
    })
}

/// Whether it may be repeated without repeating any work.
pub(super) fn is_simple(expr: &Expr) -> bool {
    match &without_conversions(expr).kind {
        Kind::Local(_) => true,
        Kind::List(items) => items.iter().all(|item| matches!(item, Item::One(e) if is_simple(e))),
        _ => literal(expr).is_some(),
    }
}

/// The value without its `?`, if it is certainly present.
pub(super) fn present(expr: &Expr) -> Option<&Expr> {
    match (&expr.kind, &expr.ty) {
        (Kind::None, _) => None,
        (Kind::Convert(inner), Ty::Optional(_)) => present(inner),
        (_, Ty::Optional(_)) => None,
        _ => Some(expr),
    }
}

/// The outcome of a condition, if it is known.
pub(super) fn outcome(condition: &Expr) -> Option<bool> {
    match literal(condition) {
        Some(Literal::Bool(outcome)) => Some(outcome),
        _ => None,
    }
}

/// `!x`, or its outcome if that is known.
pub(super) fn unary(op: UnaryOp, inner: Expr, like: &Expr) -> Expr {
    match (op, outcome(&inner)) {
        (UnaryOp::Not, Some(outcome)) => known(!outcome, like),
        _ => Expr::new(Kind::Unary(op, Box::new(inner)), like.ty.clone(), like.span),
    }
}

/// `a OP b`, or its outcome if that is known.
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
    let is_equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
    match (literal(a), literal(b)) {
        (Some(left), Some(right)) => left.compare(op, &right),
        // A value that is present is not None.
        (Some(Literal::None), None) if is_equality && present(b).is_some() => Some(op == BinaryOp::Ne),
        (None, Some(Literal::None)) if is_equality && present(a).is_some() => Some(op == BinaryOp::Ne),
        _ => None,
    }
}

/// Whether a pattern matches a value. None if that is known only at export time.
pub(super) fn matches(pattern: &Pattern, value: &Expr) -> Option<bool> {
    match pattern {
        Pattern::Wild | Pattern::Bind { unwrap: false, .. } => Some(true),
        Pattern::Bind { unwrap: true, .. } => is_none(value).map(|none| !none),
        Pattern::None => is_none(value),
        Pattern::Literal(wanted) => match (literal(value), literal(wanted)) {
            (Some(value), Some(wanted)) => Some(value.equals(&wanted)),
            _ => None,
        },
        Pattern::Tuple(parts) => {
            let Kind::Tuple(values) = &value.kind else { return None };
            let taken: Vec<Option<bool>> = parts.iter().zip(values).map(|(p, v)| matches(p, v)).collect();
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

/// The length of a list literal, and short ranges as list literals.
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

/// The elements of a list literal.
pub(super) fn elements(list: &Expr) -> Option<Vec<Expr>> {
    let Kind::List(items) = &without_conversions(list).kind else { return None };
    let one = |item: &Item| match item {
        Item::One(e) => Some(e.clone()),
        Item::Spread(_) => None,
    };
    items.iter().map(one).collect()
}

/// An element of a list literal. If the list has one element, the index can only mean that one.
pub(super) fn element(list: &Expr, index: &Expr) -> Option<Expr> {
    let elements = elements(list)?;
    match (&index.kind, elements.as_slice()) {
        (_, [only]) => Some(only.clone()),
        (Kind::Int(i), elements) => elements.get(usize::try_from(*i).ok()?).cloned(),
        _ => None,
    }
}

/// The largest length that a list can have. `known` has those of names.
pub(super) fn longest(list: &Expr, known: &HashMap<String, usize>) -> Option<usize> {
    match &without_conversions(list).kind {
        Kind::Local(name) => known.get(name).copied(),
        Kind::List(_) => elements(list).map(|e| e.len()),
        Kind::Comprehension { list, .. } => longest(list, known),
        _ => None,
    }
}

/// Functions that read constants, for arguments that are numbers and lists instead of tensors.
pub(super) fn read_constant(program: &Program, function: &str, args: &[Expr], like: &Expr) -> Option<Expr> {
    let [arg] = args else { return None };
    let arg = without_conversions(arg);
    let integers = arg.ty == Ty::list(Ty::Int);
    let sizes = arg.ty == Ty::list(Ty::SymInt);
    match program.returned(function)? {
        Returned::KnownElements if sizes && like.ty == Ty::optional(Ty::list(Ty::Int)) => {
            let name = program.external_that(Returned::AllIfKnown)?;
            Some(Expr::new(Kind::Extern(name.to_owned(), vec![arg.clone()]), like.ty.clone(), like.span))
        }
        Returned::KnownElements if integers && like.ty == Ty::optional(Ty::list(Ty::Int)) => Some(arg.clone()),
        Returned::AllIfKnown if integers => Some(arg.clone()),
        Returned::Elements if integers || sizes => Some(arg.clone()),
        Returned::IsKnown if integers || arg.ty.is_number() => Some(known(true, like)),
        Returned::KnownElement | Returned::Element if arg.ty.is_number() => Some(arg.clone()),
        _ => None,
    }
}
