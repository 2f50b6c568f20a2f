//! Evaluates expressions with the same functions, in the same order, as the generated Rust of a rule.

use std::rc::Rc;

use aten2onnx_opmap::syntax::ast::{BinaryOp, UnaryOp};
use aten2onnx_opmap::tree::{Expr, Item, Kind, MatchArm, Names, Pattern, Statement, Text};
use aten2onnx_opmap::types::Ty;
use aten2onnx_opmap::visit;

use super::MappingFiles;
use crate::arguments::value::mismatch;
use crate::arguments::{FromVal, Val};
use crate::support;
use aten2onnx_builder::{Builder, Scalar, ScalarOp};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;

/// A running rule: its local names and their values.
pub(super) struct Frame<'r> {
    pub(super) rules: &'r MappingFiles,
    /// Local names; those of inner scopes come last.
    pub(super) locals: Vec<(&'r str, Val)>,
    /// The number of outputs requested from a lowering.
    pub(super) outputs: i64,
}

impl<'r> Frame<'r> {
    pub(super) fn new(rules: &'r MappingFiles) -> Frame<'r> {
        Frame { rules, locals: Vec::new(), outputs: 1 }
    }

    pub(super) fn bind(&mut self, name: &'r str, value: Val) {
        self.locals.push((name, value));
    }

    fn local(&self, name: &str) -> Result<&Val> {
        let found = self.locals.iter().rev().find(|(n, _)| *n == name);
        found.map(|(_, value)| value).ok_or_else(|| Error::internal(format!("the rule has no local `{name}`")))
    }

    /// Runs in a nested scope.
    pub(super) fn scoped<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = self.locals.len();
        let result = run(self);
        self.locals.truncate(outer);
        result
    }

    /// The value of an expression as a Rust type.
    pub(super) fn take<T: FromVal>(&mut self, cx: &mut Builder, expr: &'r Expr) -> Result<T> {
        T::from_val(self.eval(cx, expr)?)
    }

    /// The value of an expression.
    pub(super) fn eval(&mut self, cx: &mut Builder, expr: &'r Expr) -> Result<Val> {
        match &expr.kind {
            Kind::Int(i) => Ok(Val::Int(*i)),
            Kind::Float(f) => Ok(Val::Float(*f)),
            Kind::Bool(b) => Ok(Val::Bool(*b)),
            Kind::Str(s) => Ok(Val::Str(s.clone())),
            Kind::Dtype(name) => dtype(name).map(Val::Dtype),
            Kind::None => Ok(Val::None),
            Kind::Local(name) => self.local(name).cloned(),
            Kind::Opset => Ok(Val::Int(cx.opset())),
            Kind::Outputs => Ok(Val::Int(self.outputs)),
            Kind::Convert(inner) => converted(self.eval(cx, inner)?, &expr.ty),
            Kind::Unary(op, inner) => self.unary(cx, *op, inner),
            Kind::Binary(op, a, b) => self.binary(cx, *op, a, b),
            Kind::Node(node) => self.node(cx, node, expr.span),
            Kind::Rule(name, args) => self.rule_call(cx, name, args),
            Kind::Fn(name, args) => self.fn_call(cx, name, args),
            Kind::Extern(name, args) => self.extern_call(cx, name, args),
            Kind::Builtin(builtin, args) => self.builtin(cx, *builtin, args, &expr.ty),
            Kind::If { arms, condition, then, other } => {
                let condition = self.take(cx, condition)?;
                let taken = cx.branch(self.rules.arm(arms[0]), condition);
                self.branch(cx, if taken { then } else { other })
            }
            Kind::IfLet { arms, name, value, then, other } => self.if_let(cx, *arms, name, value, [then, other]),
            Kind::Match { value, arms } => self.match_on(cx, value, arms),
            Kind::Coalesce { arms, value, other } => {
                let value = self.eval(cx, value)?;
                let absent = matches!(value, Val::None);
                cx.arm(self.rules.arm(arms[usize::from(absent)]));
                if absent { self.branch(cx, other) } else { Ok(value) }
            }
            Kind::List(items) => self.list(cx, items).map(|items| Val::List(Rc::new(items))),
            Kind::Comprehension { element, names, list, condition } => {
                self.comprehension(cx, element, names, list, condition.as_deref())
            }
            Kind::Tuple(parts) => Ok(Val::Tuple(parts.iter().map(|part| self.eval(cx, part)).collect::<Result<_>>()?)),
            Kind::Index(list, index) => {
                let list = self.items(cx, list)?;
                support::item(&list, self.take(cx, index)?)
            }
            Kind::Slice(list, from, to) => {
                let list = self.items(cx, list)?;
                let from = from.as_deref().map(|e| self.take(cx, e)).transpose()?;
                let to = to.as_deref().map(|e| self.take(cx, e)).transpose()?;
                Ok(Val::List(Rc::new(support::part(&list, from, to))))
            }
            Kind::Block(statements, result) => self.scoped(|frame| {
                frame.statements(cx, statements)?;
                frame.eval(cx, result)
            }),
            Kind::Fail(parts) => Err(self.failure(cx, parts)?),
            Kind::Since(opset, reason) => Err(Error::refused(reason.as_str(), Some(*opset))),
            Kind::Fold { state, init, item, list, body } => self.fold(cx, state, init, item, list, body),
            Kind::Closure(params, body) => Ok(self.closure(params, body)),
            Kind::Apply(graph, args) => self.apply(cx, graph, args, &expr.ty),
        }
    }

    /// The elements of a list.
    pub(super) fn items(&mut self, cx: &mut Builder, list: &'r Expr) -> Result<Rc<Vec<Val>>> {
        match self.eval(cx, list)? {
            Val::List(items) => Ok(items),
            other => Err(mismatch("a list", &other)),
        }
    }

    fn branch(&mut self, cx: &mut Builder, expr: &'r Expr) -> Result<Val> {
        self.scoped(|frame| frame.eval(cx, expr))
    }

    fn statements(&mut self, cx: &mut Builder, statements: &'r [Statement]) -> Result<()> {
        for statement in statements {
            match statement {
                Statement::Let(names, value) => {
                    let value = self.eval(cx, value)?;
                    self.bind_names(names, value)?;
                }
                Statement::Since(opset, reason, _) if cx.opset() < i64::from(*opset) => {
                    return Err(Error::refused(reason.as_str(), Some(*opset)));
                }
                Statement::Since(..) => {}
                Statement::Expr(expr) => drop(self.eval(cx, expr)?),
            }
        }
        Ok(())
    }

    fn bind_names(&mut self, names: &'r Names, value: Val) -> Result<()> {
        match (names, value) {
            (Names::One(name), value) => self.bind(name, value),
            (Names::Tuple(names), Val::Tuple(parts)) => {
                for (name, part) in names.iter().zip(parts) {
                    self.bind(name, part);
                }
            }
            (Names::Tuple(_), other) => return Err(mismatch("a tuple", &other)),
        }
        Ok(())
    }

    fn if_let(
        &mut self,
        cx: &mut Builder,
        [there, absent]: [u32; 2],
        name: &'r str,
        value: &'r Expr,
        [then, other]: [&'r Expr; 2],
    ) -> Result<Val> {
        match self.eval(cx, value)? {
            Val::None => {
                cx.arm(self.rules.arm(absent));
                self.branch(cx, other)
            }
            value => self.scoped(|frame| {
                cx.arm(frame.rules.arm(there));
                frame.bind(name, value);
                frame.eval(cx, then)
            }),
        }
    }

    fn match_on(&mut self, cx: &mut Builder, value: &'r Expr, arms: &'r [MatchArm]) -> Result<Val> {
        let value = self.eval(cx, value)?;
        for arm in arms {
            for pattern in &arm.patterns {
                let outer = self.locals.len();
                if self.fits(cx, pattern, &value)? {
                    cx.arm(self.rules.arm(arm.arm));
                    let result = self.eval(cx, &arm.value);
                    self.locals.truncate(outer);
                    return result;
                }
                self.locals.truncate(outer);
            }
        }
        Err(Error::internal("no arm of a match applies"))
    }

    /// Whether the pattern matches. Binds its names.
    fn fits(&mut self, cx: &mut Builder, pattern: &'r Pattern, value: &Val) -> Result<bool> {
        Ok(match pattern {
            Pattern::Wild => true,
            Pattern::None => matches!(value, Val::None),
            Pattern::Bind { name, unwrap } => {
                let fits = !(*unwrap && matches!(value, Val::None));
                if fits {
                    self.bind(name, value.clone());
                }
                fits
            }
            Pattern::Literal(literal) => self.eval(cx, literal)?.equals(value),
            Pattern::Tuple(patterns) => {
                let Val::Tuple(parts) = value else { return Err(mismatch("a tuple", value)) };
                for (pattern, part) in patterns.iter().zip(parts) {
                    if !self.fits(cx, pattern, part)? {
                        return Ok(false);
                    }
                }
                true
            }
        })
    }

    pub(super) fn list(&mut self, cx: &mut Builder, items: &'r [Item]) -> Result<Vec<Val>> {
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::One(e) => all.push(self.eval(cx, e)?),
                Item::Spread(e) => all.extend(Rc::unwrap_or_clone(self.items(cx, e)?)),
            }
        }
        Ok(all)
    }

    fn comprehension(
        &mut self,
        cx: &mut Builder,
        element: &'r Expr,
        names: &'r Names,
        list: &'r Expr,
        condition: Option<&'r Expr>,
    ) -> Result<Val> {
        let mut gathered = Vec::new();
        for item in Rc::unwrap_or_clone(self.items(cx, list)?) {
            self.scoped(|frame| {
                frame.bind_names(names, item)?;
                let wanted = condition.map(|e| frame.take::<bool>(cx, e)).transpose()?;
                if wanted != Some(false) {
                    gathered.push(frame.eval(cx, element)?);
                }
                Ok(())
            })?;
        }
        Ok(Val::List(Rc::new(gathered)))
    }

    fn fold(
        &mut self,
        cx: &mut Builder,
        state: &'r Names,
        init: &'r Expr,
        item: &'r Names,
        list: &'r Expr,
        body: &'r Expr,
    ) -> Result<Val> {
        let mut value = self.eval(cx, init)?;
        for element in Rc::unwrap_or_clone(self.items(cx, list)?) {
            if let (Val::List(all), Some(items)) = (&mut value, visit::appended(state, body)) {
                let more = self.scoped(|frame| {
                    frame.bind_names(item, element)?;
                    frame.list(cx, items)
                })?;
                Rc::make_mut(all).extend(more);
                continue;
            }
            value = self.scoped(|frame| {
                frame.bind_names(item, element)?;
                frame.bind_names(state, value)?;
                frame.eval(cx, body)
            })?;
        }
        Ok(value)
    }

    fn failure(&mut self, cx: &mut Builder, parts: &'r [Text]) -> Result<Error> {
        let mut text = String::new();
        for part in parts {
            match part {
                Text::Text(piece) => text.push_str(piece),
                Text::Value(value) => text.push_str(&support::show(&self.eval(cx, value)?)),
            }
        }
        Ok(Error::refused(text, None))
    }

    fn unary(&mut self, cx: &mut Builder, op: UnaryOp, inner: &'r Expr) -> Result<Val> {
        Ok(match (op, self.eval(cx, inner)?) {
            (UnaryOp::Not, Val::Bool(b)) => Val::Bool(!b),
            (UnaryOp::Neg, Val::Int(n)) => Val::Int(0i64.saturating_sub(n)),
            (UnaryOp::Neg, Val::Float(x)) => Val::Float(-x),
            (UnaryOp::Neg, Val::SymInt(n)) => Val::SymInt(-&n),
            (UnaryOp::Neg, Val::Scalar(number)) => Val::Scalar(cx.scalar_neg(&number)?),
            (_, other) => return Err(mismatch("a number", &other)),
        })
    }

    fn binary(&mut self, cx: &mut Builder, op: BinaryOp, a: &'r Expr, b: &'r Expr) -> Result<Val> {
        match op {
            BinaryOp::And => Ok(Val::Bool(self.take(cx, a)? && self.take(cx, b)?)),
            BinaryOp::Or => Ok(Val::Bool(self.take(cx, a)? || self.take(cx, b)?)),
            BinaryOp::In => {
                let item = self.eval(cx, a)?;
                let list = self.items(cx, b)?;
                Ok(Val::Bool(list.iter().any(|x| x.equals(&item))))
            }
            BinaryOp::Eq => Ok(Val::Bool(self.eval(cx, a)?.equals(&self.eval(cx, b)?))),
            BinaryOp::Ne => Ok(Val::Bool(!self.eval(cx, a)?.equals(&self.eval(cx, b)?))),
            _ => {
                let (a, b) = (self.eval(cx, a)?, self.eval(cx, b)?);
                match op {
                    BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => ordered(op, &a, &b).map(Val::Bool),
                    _ => arithmetic(cx, op, a, b),
                }
            }
        }
    }
}

fn dtype(name: &str) -> Result<Dtype> {
    Dtype::from_torch_name(name).ok_or_else(|| Error::internal(format!("there is no dtype `{name}`")))
}

/// Converts a value to another type implicitly.
pub(super) fn converted(value: Val, to: &Ty) -> Result<Val> {
    Ok(match (value, to) {
        (Val::None, _) => Val::None,
        (value, Ty::Optional(inner)) => converted(value, inner)?,
        (Val::List(items), Ty::List(of)) => {
            let items = Rc::unwrap_or_clone(items).into_iter();
            Val::List(Rc::new(items.map(|item| converted(item, of)).collect::<Result<_>>()?))
        }
        (Val::Tuple(parts), Ty::Tuple(tys)) => {
            Val::Tuple(parts.into_iter().zip(tys).map(|(part, ty)| converted(part, ty)).collect::<Result<_>>()?)
        }
        (Val::Int(n), Ty::Float) => Val::Float(n as f64),
        (Val::Int(n), Ty::SymInt) => Val::SymInt(SymInt::from(n)),
        (Val::Int(n), Ty::Scalar) => Val::Scalar(Scalar::Int(n)),
        (Val::Float(x), Ty::Scalar) => Val::Scalar(Scalar::Float(x)),
        (Val::Bool(b), Ty::Scalar) => Val::Scalar(Scalar::Bool(b)),
        (Val::SymInt(n), Ty::Scalar) => Val::Scalar(Scalar::Sym(n)),
        (value, _) => value,
    })
}

fn ordered(op: BinaryOp, a: &Val, b: &Val) -> Result<bool> {
    fn holds<T: PartialOrd>(op: BinaryOp, a: T, b: T) -> bool {
        match op {
            BinaryOp::Lt => a < b,
            BinaryOp::Le => a <= b,
            BinaryOp::Gt => a > b,
            _ => a >= b,
        }
    }
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Ok(holds(op, a, b)),
        (Val::Float(a), Val::Float(b)) => Ok(holds(op, a, b)),
        (Val::Scalar(a), Val::Scalar(b)) => Ok(holds(op, support::known_float(a)?, support::known_float(b)?)),
        (other, _) => Err(mismatch("a number", other)),
    }
}

fn arithmetic(cx: &mut Builder, op: BinaryOp, a: Val, b: Val) -> Result<Val> {
    Ok(match (a, b) {
        (Val::Int(a), Val::Int(b)) => Val::Int(match op {
            BinaryOp::Add => a.saturating_add(b),
            BinaryOp::Sub => a.saturating_sub(b),
            BinaryOp::Mul => a.saturating_mul(b),
            BinaryOp::Div => support::floor_div(a, b)?,
            BinaryOp::Rem => support::modulo(a, b)?,
            _ => support::power(a, b)?,
        }),
        (Val::Float(a), Val::Float(b)) => Val::Float(match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::Rem => f64::rem_euclid(a, b),
            _ => f64::powf(a, b),
        }),
        (Val::SymInt(a), Val::SymInt(b)) => Val::SymInt(match op {
            BinaryOp::Add => &a + &b,
            BinaryOp::Sub => &a - &b,
            BinaryOp::Mul => &a * &b,
            BinaryOp::Div => a.floor_div(&b),
            _ => a.modulo(&b),
        }),
        (a, b) => {
            let (a, b) = (Scalar::from_val(a)?, Scalar::from_val(b)?);
            let op = match op {
                BinaryOp::Add => ScalarOp::Add,
                BinaryOp::Sub => ScalarOp::Sub,
                BinaryOp::Mul => ScalarOp::Mul,
                BinaryOp::Div => ScalarOp::Div,
                BinaryOp::Rem => ScalarOp::Mod,
                _ => ScalarOp::Pow,
            };
            Val::Scalar(cx.scalar_op(op, &a, &b)?)
        }
    })
}
