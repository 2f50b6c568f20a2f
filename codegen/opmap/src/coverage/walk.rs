//! Walks over every path of a rule with everything that it calls. The result of each expression is what is known of its value,
//! and the opsets at which it has one.

use std::rc::Rc;

use super::conditions::opset_comparison;
use super::lists::element;
use super::numbers::arithmetic;
use super::opsets::Opsets;
use super::scope::Scope;
use super::trace::Event;
use super::values::{Abs, Graph, Kinds, Known, List, Number, Optional, Text, Truth, Values};
use super::{Coverage, Path, Seen};
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Expr, Kind, Names, Statement};
use crate::types::Ty;
use aten2onnx_schemas::dtypes::DtypeSet;

impl<'a> Coverage<'a> {
    /// What an expression may be, and the opsets at which it has a value.
    pub(super) fn expr(&mut self, expr: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Seen {
        if at.is_empty() {
            return Seen::never();
        }
        let value = match &expr.kind {
            Kind::Int(i) => Abs::Number(Number::between(*i, *i)),
            Kind::Float(x) => {
                Abs::Number(Number { known: Known::YES, values: Values::Float(x.to_bits()), kinds: Kinds::FLOAT })
            }
            Kind::Bool(b) => Abs::Truth(Truth::always(*b, at)),
            Kind::Str(text) => Abs::Text(Text::one(text)),
            Kind::Dtype(name) => Abs::Dtype(DtypeSet::one(name)),
            Kind::None => Abs::Optional(Optional::nothing()),
            Kind::Local(name) => match scope.get(name) {
                Some(Abs::Truth(truth)) => Abs::Truth(truth.at(at)),
                Some(value) => value.clone().fit(&expr.ty, self.all, at),
                None => self.top(&expr.ty, at),
            },
            Kind::Opset => {
                let (low, high) = (at.iter().next().unwrap_or(0), at.last().unwrap_or(u32::MAX));
                Abs::Number(Number::between(i64::from(low), i64::from(high)))
            }
            Kind::Outputs => scope.outputs.clone().unwrap_or_else(|| Abs::Number(Number::between(0, i64::MAX))),
            Kind::Convert(inner) => return self.converted(inner, expr, scope, at),
            Kind::Unary(op, inner) => return self.unary(*op, inner, expr, scope, at),
            Kind::Binary(op, a, b) => return self.binary(*op, a, b, expr, scope, at),
            Kind::Node(node) => return self.node(node, expr, scope, at),
            Kind::Rule(name, args) => return self.rule(name, args, expr, scope, at),
            Kind::Fn(name, args) => {
                let (values, at) = self.values(args, scope, at);
                return match self.program.helper(name) {
                    Some(function) => self.call(function, values, None, at),
                    None => Seen { value: self.top(&expr.ty, at), at },
                };
            }
            Kind::Extern(name, args) => {
                let (values, at) = self.values(args, scope, at);
                self.external(name, at);
                self.follow_emitted(name, &values, at, expr.span);
                self.check_extern(name, &values, args);
                return Seen { value: self.fact(name, &values, &expr.ty, at), at };
            }
            Kind::Builtin(builtin, args) => {
                let (values, at) = self.values(args, scope, at);
                return Seen { value: self.builtin(*builtin, &values, &expr.ty, at), at };
            }
            Kind::If { arms, condition, then, other } => {
                let at = self.expr(condition, scope, at).at;
                let paths = [(then, true), (other, false)].map(|(branch, outcome)| {
                    let path = self.assume(condition, outcome, scope, at);
                    (branch, path)
                });
                return self.branches(arms, paths.into_iter().map(|(branch, path)| (&**branch, path)));
            }
            Kind::IfLet { arms, name, value, then, other } => {
                let at = self.expr(value, scope, at).at;
                let present = self.present(value, scope, at).map(|(value, origin, mut path)| {
                    path.scope.bind(name, value, origin);
                    path
                });
                let absent = self.absent(value, scope, at);
                return self.branches(arms, [(&**then, present), (&**other, absent)].into_iter());
            }
            Kind::Coalesce { arms, value, other } => return self.coalesce(arms, value, other, expr, scope, at),
            Kind::Match { value, arms } => return self.matched(value, arms, scope, at),
            Kind::List(items) => return self.list(items, scope, at),
            Kind::Comprehension { element, names, list, condition } => {
                return self.comprehension(element, names, list, condition.as_deref(), scope, at);
            }
            Kind::Tuple(parts) => {
                let (values, at) = self.values(parts, scope, at);
                return Seen { value: Abs::Tuple(values.into()), at };
            }
            Kind::Index(list, index) => {
                let list = self.expr(list, scope, at);
                let index = self.expr(index, scope, list.at);
                return Seen { value: element(&list.value, &index.value, &expr.ty), at: index.at }
                    .or_top(self, &expr.ty);
            }
            Kind::Slice(list, from, to) => return self.slice(list, from.as_deref(), to.as_deref(), scope, at),
            Kind::Block(statements, result) => return self.block(statements, result, scope, at),
            Kind::Fail(parts) => {
                for part in parts {
                    if let crate::tree::Text::Value(value) = part {
                        self.expr(value, scope, at);
                    }
                }
                self.failed(&reason_of(parts), false, at);
                return Seen::never();
            }
            Kind::Since(since, reason) => {
                self.since_value(expr.span, *since, reason, at);
                return Seen::never();
            }
            Kind::Fold { state, init, item, list, body } => {
                return self.fold((state, init), (item, list), body, &expr.ty, scope, at);
            }
            Kind::Closure(params, body) => {
                let mut inner = scope.clone();
                for name in &params.names {
                    inner.bind(name, self.top(&Ty::Tensor, at), None);
                }
                if let Some(name) = &params.rest {
                    inner.bind(name, self.top(&Ty::list(Ty::Tensor), at), None);
                }
                let seen = self.expr(body, &inner, at);
                return Seen { value: graph_of(params, seen.value), at: seen.at };
            }
            Kind::Apply(graph, args) => {
                let seen = self.expr(graph, scope, at);
                let given = self.list(args, scope, seen.at);
                self.check_apply(&seen.value, &given.value, expr);
                return Seen { value: self.top(&expr.ty, given.at), at: given.at };
            }
        };
        Seen { value, at }
    }

    /// Every value of a type.
    pub(super) fn top(&self, ty: &Ty, at: Opsets) -> Abs {
        Abs::top(ty, self.all, at)
    }

    /// The values of expressions that run one after the other.
    pub(super) fn values(&mut self, exprs: &'a [Expr], scope: &Scope<'a>, mut at: Opsets) -> (Vec<Abs>, Opsets) {
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let seen = self.expr(expr, scope, at);
            at = seen.at;
            values.push(seen.value);
        }
        (values, at)
    }

    fn converted(&mut self, inner: &'a Expr, expr: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Seen {
        let seen = self.expr(inner, scope, at);
        Seen { value: converted(seen.value, &expr.ty), at: seen.at }.or_top(self, &expr.ty)
    }

    fn unary(&mut self, op: UnaryOp, inner: &'a Expr, expr: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Seen {
        let seen = self.expr(inner, scope, at);
        let value = match (op, &seen.value) {
            (_, Abs::Never) => Abs::Never,
            (UnaryOp::Not, Abs::Truth(truth)) => Abs::Truth(truth.negated()),
            (UnaryOp::Neg, Abs::Number(number)) => {
                let values = match number.values {
                    Values::Between(low, high) => Values::Between(high.saturating_neg(), low.saturating_neg()),
                    Values::Float(bits) => Values::Float((-f64::from_bits(bits)).to_bits()),
                    _ => Values::Any,
                };
                Abs::Number(Number { values, ..number.clone() })
            }
            _ => self.top(&expr.ty, seen.at),
        };
        Seen { value, at: seen.at }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        a: &'a Expr,
        b: &'a Expr,
        expr: &'a Expr,
        scope: &Scope<'a>,
        at: Opsets,
    ) -> Seen {
        if let Some(truth) = opset_comparison(op, a, b, at) {
            return Seen { value: Abs::Truth(truth), at };
        }
        let left = self.expr(a, scope, at);
        if let (BinaryOp::And | BinaryOp::Or, Abs::Truth(first)) = (op, &left.value) {
            // The second one runs only if the first one does not decide.
            let first = *first;
            let goes_on = self.assume(a, op == BinaryOp::And, scope, left.at);
            let decided = if op == BinaryOp::And { first.no } else { first.yes };
            let (second, done) = match goes_on {
                Some(path) => {
                    let seen = self.expr(b, &path.scope, path.at);
                    (seen.value, seen.at)
                }
                None => (Abs::Never, Opsets::NONE),
            };
            let second = if let Abs::Truth(truth) = second { truth.at(done) } else { Truth::either(done) };
            let truth = match op {
                BinaryOp::And => Truth { yes: second.yes, no: second.no.or(first.no) },
                _ => Truth { yes: first.yes.or(second.yes), no: second.no },
            };
            return Seen { value: Abs::Truth(truth), at: decided.or(done).and(left.at) };
        }
        let right = self.expr(b, scope, left.at);
        let at = right.at;
        let value = match op {
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::In => {
                Abs::Truth(super::conditions::compare(op, &left.value, &right.value, at))
            }
            _ => arithmetic(op, &left.value, &right.value),
        };
        Seen { value, at }.or_top(self, &expr.ty)
    }

    /// Branches of which one is taken. `arms` are their numbers.
    fn branches(&mut self, arms: &[u32; 2], paths: impl Iterator<Item = (&'a Expr, Option<Path<'a>>)>) -> Seen {
        let mut all = Seen::never();
        for (arm, (branch, path)) in arms.iter().zip(paths) {
            let Some(path) = path else { continue };
            self.note(Event::Arm(*arm, path.at));
            self.within.push(*arm);
            let seen = self.expr(branch, &path.scope, path.at);
            self.within.pop();
            all = all.or(seen);
        }
        all
    }

    fn coalesce(
        &mut self,
        arms: &[u32; 2],
        value: &'a Expr,
        other: &'a Expr,
        expr: &'a Expr,
        scope: &Scope<'a>,
        at: Opsets,
    ) -> Seen {
        let seen = self.expr(value, scope, at);
        let at = seen.at;
        let (may_be_present, may_be_absent, present) = match seen.value {
            Abs::Optional(optional) => (optional.may_be_present(), optional.absent, (*optional.present).clone()),
            other => (true, false, other),
        };
        let mut all = Seen::never();
        if may_be_present {
            self.note(Event::Arm(arms[0], at));
            all = Seen { value: converted(present, &expr.ty), at }.or_top(self, &expr.ty);
        }
        if may_be_absent && let Some(path) = self.absent(value, scope, at) {
            self.note(Event::Arm(arms[1], path.at));
            self.within.push(arms[1]);
            let second = self.expr(other, &path.scope, path.at);
            self.within.pop();
            all = all.or(second);
        }
        all
    }

    fn block(&mut self, statements: &'a [Statement], result: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Seen {
        let mut scope = scope.clone();
        let mut at = at;
        for (i, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Let(names, e) => {
                    let seen = self.expr(e, &scope, at);
                    at = seen.at;
                    match names {
                        Names::One(name) => {
                            let origin = self.place(e, &scope);
                            scope.bind_to(name, seen.value, origin, e);
                        }
                        names => bind(&mut scope, names, &seen.value),
                    }
                }
                Statement::Expr(e) => {
                    at = self.expr(e, &scope, at).at;
                    if let Some(path) = self.after(e, &scope, at) {
                        scope = path.scope;
                        at = at.and(path.at);
                    }
                }
                Statement::Since(since, reason, span) => {
                    let rest = &statements[i + 1..];
                    self.since_statement(*since, reason, *span, at, &mut |this, at| {
                        this.block(rest, result, &scope, at)
                    });
                    at = at.from(*since);
                }
            }
            if at.is_empty() {
                return Seen::never();
            }
        }
        self.expr(result, &scope, at)
    }

    /// What is known after `if c { fail ".." }`: that `c` is false.
    fn after(&mut self, statement: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Option<Path<'a>> {
        let Kind::If { condition, then, other, .. } = &statement.kind else { return None };
        match (then.is_never(), other.is_never()) {
            (true, false) => self.assume(condition, false, scope, at),
            (false, true) => self.assume(condition, true, scope, at),
            _ => None,
        }
    }
}

impl Seen {
    /// Any value of the type if nothing is known.
    pub(super) fn or_top(self, coverage: &Coverage<'_>, ty: &Ty) -> Seen {
        Seen { value: self.value.fit(ty, coverage.all, self.at), at: self.at }
    }
}

/// The text of a `fail`, with `..` in place of values.
fn reason_of(parts: &[crate::tree::Text]) -> String {
    let text = |part: &crate::tree::Text| match part {
        crate::tree::Text::Text(text) => text.clone(),
        crate::tree::Text::Value(_) => "..".to_owned(),
    };
    parts.iter().map(text).collect()
}

/// A closure as a value.
fn graph_of(params: &crate::tree::ClosureParams, results: Abs) -> Abs {
    let least = u32::try_from(params.names.len()).unwrap_or(u32::MAX);
    let most = if params.rest.is_some() { u32::MAX } else { least };
    let results = match results {
        Abs::List(list) => list,
        Abs::Tuple(parts) => List::of(parts.to_vec()),
        one @ Abs::Tensor(_) => List::of(vec![one]),
        _ => return Abs::Any,
    };
    Abs::Graph(Graph { least, most, results })
}

/// Binds the names of a `let` or a comprehension.
pub(super) fn bind<'a>(scope: &mut Scope<'a>, names: &'a Names, value: &Abs) {
    match names {
        Names::One(name) => scope.bind(name, value.clone(), None),
        Names::Tuple(names) => {
            for (i, name) in names.iter().enumerate() {
                let part = match value {
                    Abs::Tuple(parts) => parts.get(i).cloned(),
                    Abs::List(list) => list.items.as_ref().and_then(|items| items.get(i).cloned()),
                    Abs::Never => Some(Abs::Never),
                    _ => None,
                };
                scope.bind(name, part.unwrap_or(Abs::Any), None);
            }
        }
    }
}

/// A value after an implicit conversion to a type.
pub(super) fn converted(value: Abs, ty: &Ty) -> Abs {
    match (value, ty) {
        (Abs::Never, _) => Abs::Never,
        (Abs::Optional(optional), Ty::Optional(of)) => {
            let present = converted((*optional.present).clone(), of);
            Abs::Optional(Optional { absent: optional.absent, present: Rc::new(present) })
        }
        (value, Ty::Optional(of)) => Abs::Optional(Optional { absent: false, present: Rc::new(converted(value, of)) }),
        (Abs::Truth(truth), Ty::Scalar | Ty::Int) => {
            let values = match (truth.yes.is_empty(), truth.no.is_empty()) {
                (false, true) => Values::Between(1, 1),
                (true, false) => Values::Between(0, 0),
                _ => Values::Between(0, 1),
            };
            let kinds = if *ty == Ty::Int { Kinds::INT } else { Kinds::BOOL };
            Abs::Number(Number { known: Known::YES, values, kinds })
        }
        (Abs::Number(number), Ty::Float) => {
            let values = match number.values {
                Values::Between(low, high) if low == high => Values::Float((low as f64).to_bits()),
                Values::Float(bits) => Values::Float(bits),
                _ => Values::Any,
            };
            Abs::Number(Number { values, kinds: Kinds::FLOAT, ..number })
        }
        (Abs::Tuple(parts), Ty::Tuple(types)) if parts.len() == types.len() => {
            Abs::Tuple(parts.iter().zip(types).map(|(part, ty)| converted(part.clone(), ty)).collect())
        }
        (Abs::List(list), Ty::List(of)) => Abs::List(list.map(|item| converted(item.clone(), of))),
        (value, _) => value,
    }
}
