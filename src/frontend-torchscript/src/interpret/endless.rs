//! `while` loops that never end: what their condition is computed from is the same after a round as before it.

use indexmap::IndexSet;

use super::Interpreter;
use crate::syntax::{Expr, ExprKind, Name, Stmt, StmtKind};
use crate::values::Value;
use aten2onnx_core::error::Result;

impl Interpreter<'_, '_> {
    /// The values of variables, if all of them are numbers, texts and the like: objects and tensors may change in other ways.
    pub(super) fn plain_values(&self, names: &IndexSet<Name>) -> Result<Option<Vec<Option<Value>>>> {
        let locals = &self.frame()?.locals;
        let values = names.iter().map(|name| match locals.get(name) {
            None => Some(None),
            Some(item) if is_plain(&item.value) => Some(Some(item.value.clone())),
            Some(_) => None,
        });
        Ok(values.collect())
    }
}

/// Whether these are the same.
pub(super) fn are_same(before: &[Option<Value>], after: &[Option<Value>]) -> bool {
    before.iter().zip(after).all(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => a.is_same(b),
        (None, None) => true,
        _ => false,
    })
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::Enum(_) => true,
        Value::Tuple(tuple) => tuple.items.iter().all(|item| is_plain(&item.value)),
        _ => false,
    }
}

/// The variables that the condition of a loop is computed from, by any way through its body.
pub(super) fn feeding(condition: &Name, body: &[Stmt]) -> IndexSet<Name> {
    let mut edges = Vec::new();
    assignments(body, &IndexSet::new(), &mut edges);
    let mut found = IndexSet::from([condition.clone()]);
    let mut at = 0;
    while let Some(name) = found.get_index(at).cloned() {
        for (target, from) in &edges {
            if *target == name {
                found.extend(from.iter().cloned());
            }
        }
        at += 1;
    }
    found
}

/// What each assignment reads; also what decides whether it runs.
fn assignments(body: &[Stmt], deciding: &IndexSet<Name>, edges: &mut Vec<(Name, IndexSet<Name>)>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { targets, values, .. } => {
                let mut read = deciding.clone();
                values.iter().for_each(|value| names(value, &mut read));
                edges.extend(targets.iter().map(|target| (target.clone(), read.clone())));
            }
            StmtKind::Declare { name, value, .. } => {
                let mut read = deciding.clone();
                names(value, &mut read);
                edges.push((name.clone(), read));
            }
            StmtKind::If { condition, yes, no } => {
                let mut deciding = deciding.clone();
                names(condition, &mut deciding);
                assignments(yes, &deciding, edges);
                assignments(no, &deciding, edges);
            }
            StmtKind::For { name, range, body } => {
                let mut deciding = deciding.clone();
                range.iter().for_each(|expr| names(expr, &mut deciding));
                edges.push((name.clone(), deciding.clone()));
                assignments(body, &deciding, edges);
            }
            StmtKind::While { condition, body } => {
                let mut deciding = deciding.clone();
                deciding.insert(condition.clone());
                assignments(body, &deciding, edges);
            }
            StmtKind::With { object, name, body } => {
                let mut deciding = deciding.clone();
                names(object, &mut deciding);
                edges.extend(name.iter().map(|name| (name.clone(), deciding.clone())));
                assignments(body, &deciding, edges);
            }
            _ => {}
        }
    }
}

/// The variables that an expression reads.
fn names(expr: &Expr, found: &mut IndexSet<Name>) {
    let mut left = vec![expr];
    while let Some(expr) = left.pop() {
        match &expr.kind {
            ExprKind::Name(name) => {
                found.insert(name.clone());
            }
            ExprKind::Attribute(object, _) | ExprKind::Neg(object) => left.push(object),
            ExprKind::Call { callee, args, named } => {
                left.push(callee);
                left.extend(args);
                left.extend(named.iter().map(|(_, value)| value));
            }
            ExprKind::Index(object, index) => left.extend([&**object, &**index]),
            ExprKind::Slice(object, start, end) => {
                left.push(object);
                left.extend([start, end].into_iter().flatten().map(|end| &**end));
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => left.extend(items),
            ExprKind::Dict(entries) => left.extend(entries.iter().flat_map(|(key, value)| [key, value])),
            _ => {}
        }
    }
}
