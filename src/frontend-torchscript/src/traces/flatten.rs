//! Brings a function into a form that does not depend on the layout of its text: libtorch writes an expression into another one or
//! into a statement of its own, whichever fits into a line, and sizes have more or fewer digits.
//!
//! Each call, list and tuple becomes a statement, in the order of evaluation, and variables are numbered.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::syntax::{Expr, ExprKind, Function, Name, Param, Stmt, StmtKind};

/// The same function without nested calls. Types of parameters and defaults are left out: traces take tensors.
pub fn flattened(function: &Function) -> Function {
    let mut this = Flattener::default();
    let params: Vec<Param> = function.params.iter().map(|param| this.param(&param.name)).collect();
    let body = this.block(&function.body);
    Function { name: Rc::clone(&function.name), at: function.at, params, returns: None, body }
}

#[derive(Default)]
struct Flattener {
    names: FxHashMap<Name, Name>,
    count: usize,
    /// The statements of the current block.
    body: Vec<Stmt>,
}

impl Flattener {
    fn param(&mut self, name: &Name) -> Param {
        self.names.insert(Rc::clone(name), Rc::clone(name));
        Param { name: Rc::clone(name), ty: None, default: None }
    }

    fn block(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let outer = std::mem::take(&mut self.body);
        stmts.iter().for_each(|stmt| self.statement(stmt));
        std::mem::replace(&mut self.body, outer)
    }

    fn push(&mut self, at: usize, kind: StmtKind) {
        self.body.push(Stmt { at, kind });
    }

    /// The name of a variable that is assigned.
    fn target(&mut self, name: &Name) -> Name {
        if let Some(known) = self.names.get(name) {
            return Rc::clone(known);
        }
        let fresh = self.fresh();
        self.names.insert(Rc::clone(name), Rc::clone(&fresh));
        fresh
    }

    fn fresh(&mut self) -> Name {
        self.count += 1;
        Rc::from(format!("v{}", self.count))
    }

    fn statement(&mut self, stmt: &Stmt) {
        let at = stmt.at;
        let kind = match &stmt.kind {
            StmtKind::Assign { targets, unpack: true, values } => {
                let values = values.iter().map(|value| self.inner(value)).collect();
                let targets = targets.iter().map(|target| self.target(target)).collect();
                StmtKind::Assign { targets, unpack: true, values }
            }
            StmtKind::Assign { targets, values, .. } => {
                let values: Vec<Expr> = values.iter().map(|value| self.inner(value)).collect();
                for (target, value) in targets.iter().zip(values) {
                    let targets = vec![self.target(target)];
                    self.push(at, StmtKind::Assign { targets, unpack: false, values: vec![value] });
                }
                return;
            }
            StmtKind::Declare { name, ty, value } => {
                let value = self.inner(value);
                StmtKind::Declare { name: self.target(name), ty: ty.clone(), value }
            }
            StmtKind::SetAttribute { object, name, value } => {
                let (object, value) = (self.inner(object), self.flat(value));
                StmtKind::SetAttribute { object, name: Rc::clone(name), value }
            }
            StmtKind::If { condition, yes, no } => {
                StmtKind::If { condition: self.flat(condition), yes: self.block(yes), no: self.block(no) }
            }
            StmtKind::For { name, range, body } => {
                let range = range.iter().map(|part| self.flat(part)).collect();
                StmtKind::For { name: self.target(name), range, body: self.block(body) }
            }
            StmtKind::While { condition, body } => {
                StmtKind::While { condition: self.target(condition), body: self.block(body) }
            }
            StmtKind::With { object, name, body } => {
                let object = self.flat(object);
                let name = name.as_ref().map(|name| self.target(name));
                StmtKind::With { object, name, body: self.block(body) }
            }
            StmtKind::Pass => StmtKind::Pass,
            StmtKind::Return(value) => StmtKind::Return(value.as_ref().map(|value| self.flat(value))),
            StmtKind::Expr(value) => StmtKind::Expr(self.inner(value)),
            StmtKind::Define(function) => StmtKind::Define(Rc::clone(function)),
        };
        self.push(at, kind);
    }

    /// An expression without calls: these are statements before it.
    fn flat(&mut self, expr: &Expr) -> Expr {
        let inner = self.inner(expr);
        let is_part = matches!(
            inner.kind,
            ExprKind::Call { .. } | ExprKind::List(_) | ExprKind::Tuple(_) | ExprKind::Dict(_) | ExprKind::Index(..)
        );
        if !is_part {
            return inner;
        }
        let (at, name) = (inner.at, self.fresh());
        let targets = vec![Rc::clone(&name)];
        self.push(at, StmtKind::Assign { targets, unpack: false, values: vec![inner] });
        Expr { at, kind: ExprKind::Name(name) }
    }

    /// An expression whose parts have no calls.
    fn inner(&mut self, expr: &Expr) -> Expr {
        let boxed = |this: &mut Self, expr: &Expr| Box::new(this.flat(expr));
        let kind = match &expr.kind {
            ExprKind::Name(name) => ExprKind::Name(self.names.get(name).unwrap_or(name).clone()),
            ExprKind::Attribute(object, name) => ExprKind::Attribute(boxed(self, object), Rc::clone(name)),
            ExprKind::Call { callee, args, named } => {
                // The first argument of `annotate(List[int], [])` is a type.
                let types = usize::from(matches!(
                    callee.path().as_deref(),
                    Some("annotate" | "unchecked_cast" | "uninitialized")
                ));
                let args = args.iter().enumerate();
                let args = args.map(|(at, arg)| if at < types { arg.clone() } else { self.flat(arg) }).collect();
                let named = named.iter().map(|(name, value)| (Rc::clone(name), self.flat(value))).collect();
                ExprKind::Call { callee: boxed(self, callee), args, named }
            }
            ExprKind::Index(object, index) => ExprKind::Index(boxed(self, object), boxed(self, index)),
            ExprKind::Slice(object, start, end) => {
                let object = boxed(self, object);
                let start = start.as_ref().map(|start| boxed(self, start));
                ExprKind::Slice(object, start, end.as_ref().map(|end| boxed(self, end)))
            }
            ExprKind::Tuple(items) => ExprKind::Tuple(items.iter().map(|item| self.flat(item)).collect()),
            ExprKind::List(items) => ExprKind::List(items.iter().map(|item| self.flat(item)).collect()),
            ExprKind::Dict(pairs) => {
                ExprKind::Dict(pairs.iter().map(|(key, value)| (self.flat(key), self.flat(value))).collect())
            }
            ExprKind::Neg(inner) => ExprKind::Neg(boxed(self, inner)),
            _ => return expr.clone(),
        };
        Expr { at: expr.at, kind }
    }
}
