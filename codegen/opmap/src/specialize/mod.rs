//! Rules as they are at one opset. Calls of operators that the opset lacks become the bodies of their lowerings, and conditions
//! that are known are decided.
//!
//! The command `expand` prints the result.

mod condition;
mod fold;
mod lowering;
mod scope;

use std::collections::BTreeSet;

use crate::tree::{
    Builtin, ClosureParams, Expr, Function, Input, Item, Kind, MatchArm, Names, Node, Outputs, Pattern, Program,
    Stated, Statement, Text,
};
use crate::types::Ty;
use crate::visit;
use aten2onnx_schemas::Schemas;
pub use condition::opset_condition;
use scope::{Scope, bind, bind_all, bind_names, bind_pattern, count_uses};

/// Specialises rules to one opset.
pub struct Specializer<'a> {
    program: &'a Program,
    schemas: &'a Schemas,
    opset: u32,
    /// Helpers and rules that the specialised rules call.
    pub called: BTreeSet<String>,
    /// Lowerings (operator, opset) for dtypes that the older version does not support.
    pub typed: BTreeSet<(String, u32)>,
    /// Branches that no call takes at the opset.
    pub untaken: BTreeSet<u32>,
}

impl<'a> Specializer<'a> {
    /// A specialiser for one opset.
    pub fn new(program: &'a Program, schemas: &'a Schemas, opset: u32) -> Self {
        Specializer {
            program,
            schemas,
            opset,
            called: BTreeSet::new(),
            typed: BTreeSet::new(),
            untaken: BTreeSet::new(),
        }
    }

    /// The specialised body of a rule.
    pub fn body(&mut self, function: &Function) -> Expr {
        self.expr(&function.body, &Scope::default())
    }

    /// Records that a branch and all branches inside it are not taken. In an inlined body that holds for one call only.
    fn rule_out(&mut self, arm: u32, branch: &Expr, scope: &Scope) {
        if scope.inlined {
            return;
        }
        self.untaken.insert(arm);
        visit::walk(branch, &mut |inside| self.untaken.extend(visit::arms(inside)));
    }

    fn boxed(&mut self, expr: &Expr, scope: &Scope) -> Box<Expr> {
        Box::new(self.expr(expr, scope))
    }

    fn exprs(&mut self, exprs: &[Expr], scope: &Scope) -> Vec<Expr> {
        exprs.iter().map(|e| self.expr(e, scope)).collect()
    }

    fn expr(&mut self, expr: &Expr, scope: &Scope) -> Expr {
        let kind = match &expr.kind {
            Kind::Int(_)
            | Kind::Float(_)
            | Kind::Bool(_)
            | Kind::Str(_)
            | Kind::Dtype(_)
            | Kind::None
            | Kind::Since(..) => {
                return expr.clone();
            }
            Kind::Local(name) => return scope.value_of(name, expr),
            Kind::Opset => Kind::Int(i64::from(self.opset)),
            Kind::Outputs => return scope.outputs.as_ref().unwrap_or(expr).clone(),
            Kind::Convert(inner) => Kind::Convert(self.boxed(inner, scope)),
            Kind::Unary(op, inner) => return fold::unary(*op, self.expr(inner, scope), expr),
            Kind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, scope), self.expr(b, scope));
                return fold::binary(*op, a, b, expr);
            }
            Kind::Node(node) => return self.node(node, expr, scope),
            Kind::Rule(name, args) => {
                self.called.insert(name.clone());
                Kind::Rule(name.clone(), self.exprs(args, scope))
            }
            Kind::Fn(name, args) => return self.fn_call(name, args, expr, scope),
            Kind::Extern(name, args) => {
                let args = self.exprs(args, scope);
                match fold::read_constant(self.program, name, &args, expr) {
                    Some(value) => return value,
                    None => Kind::Extern(name.clone(), args),
                }
            }
            Kind::Builtin(builtin, args) => {
                let args = self.exprs(args, scope);
                match fold::builtin(*builtin, &args, expr).filter(|_| scope.inlined) {
                    Some(value) => return value,
                    None => Kind::Builtin(*builtin, args),
                }
            }
            Kind::If { arms, condition, then, other } => {
                let condition = self.expr(condition, scope);
                match fold::outcome(&condition) {
                    Some(true) => {
                        self.rule_out(arms[1], other, scope);
                        return self.expr(then, scope);
                    }
                    Some(false) => {
                        self.rule_out(arms[0], then, scope);
                        return self.expr(other, scope);
                    }
                    None => {
                        let (then, other) = (self.boxed(then, scope), self.boxed(other, scope));
                        Kind::If { arms: *arms, condition: Box::new(condition), then, other }
                    }
                }
            }
            Kind::IfLet { arms, name, value, then, other } => {
                let value = self.expr(value, scope);
                if fold::literal(&value) == Some(fold::Literal::None) {
                    self.rule_out(arms[0], then, scope);
                    return self.expr(other, scope);
                }
                if let Some(present) = fold::present(&value) {
                    self.rule_out(arms[1], other, scope);
                    return self.with_bound(name, present.clone(), then, scope);
                }
                let (name, inner) = bind(name, scope);
                let (then, other) = (self.boxed(then, &inner), self.boxed(other, scope));
                Kind::IfLet { arms: *arms, name, value: Box::new(value), then, other }
            }
            Kind::Match { value, arms } => return self.match_on(value, arms, expr, scope),
            Kind::Coalesce { arms, value, other } => {
                let value = self.expr(value, scope);
                if fold::literal(&value) == Some(fold::Literal::None) {
                    return self.expr(other, scope);
                }
                if let Some(present) = fold::present(&value) {
                    self.rule_out(arms[1], other, scope);
                    return present.clone();
                }
                Kind::Coalesce { arms: *arms, value: Box::new(value), other: self.boxed(other, scope) }
            }
            Kind::List(items) => Kind::List(self.items(items, scope)),
            Kind::Comprehension { element, names, list, condition } => {
                let list = self.boxed(list, scope);
                if let (true, Names::One(name), None, Some(items)) =
                    (scope.inlined, names, condition, fold::elements(&list))
                {
                    let bound = |item: Expr| Item::One(self.with_bound(name, item, element, scope));
                    let items = items.into_iter().map(bound).collect();
                    return Expr::new(Kind::List(items), expr.ty.clone(), expr.span);
                }
                let (names, inner) = bind_names(names, scope);
                let condition = condition.as_ref().map(|c| self.boxed(c, &inner));
                Kind::Comprehension { element: self.boxed(element, &inner), names, list, condition }
            }
            Kind::Fold { state, init, item, list, body } => {
                let (list, init) = (self.boxed(list, scope), self.boxed(init, scope));
                let (item, inner) = bind_names(item, scope);
                let (state, inner) = bind_names(state, &inner);
                Kind::Fold { state, init, item, list, body: self.boxed(body, &inner) }
            }
            Kind::Apply(graph, args) => {
                let graph = self.boxed(graph, scope);
                let args = self.items(args, scope);
                if !matches!(graph.kind, Kind::Closure(..)) {
                    return Expr::new(Kind::Apply(graph, args), expr.ty.clone(), expr.span);
                }
                // Only a name can be called.
                let (name, _) = bind("graph", scope);
                let local = Box::new(Expr::new(Kind::Local(name.clone()), Ty::Graph, graph.span));
                let call = Expr::new(Kind::Apply(local, args), expr.ty.clone(), expr.span);
                return in_block(vec![Statement::Let(Names::One(name), *graph)], call);
            }
            Kind::Tuple(parts) => Kind::Tuple(self.exprs(parts, scope)),
            Kind::Index(list, index) => {
                let (list, index) = (self.boxed(list, scope), self.boxed(index, scope));
                match fold::element(&list, &index).filter(|_| scope.inlined) {
                    Some(element) => return element,
                    None => Kind::Index(list, index),
                }
            }
            Kind::Slice(list, from, to) => {
                let list = self.boxed(list, scope);
                let from = from.as_ref().map(|e| self.boxed(e, scope));
                Kind::Slice(list, from, to.as_ref().map(|e| self.boxed(e, scope)))
            }
            Kind::Block(statements, result) => return self.block(statements, result, expr, scope),
            Kind::Fail(parts) => Kind::Fail(self.texts(parts, scope)),
            Kind::Closure(params, body) => {
                let (names, inner) = bind_all(&params.names, scope);
                let (rest, inner) = bind_all(params.rest.as_slice(), &inner);
                let params = ClosureParams { names, rest: rest.into_iter().next() };
                Kind::Closure(params, self.boxed(body, &inner))
            }
        };
        Expr::new(kind, expr.ty.clone(), expr.span)
    }

    fn items(&mut self, items: &[Item], scope: &Scope) -> Vec<Item> {
        let specialized = |item: &Item| match item {
            Item::One(e) => Item::One(self.expr(e, scope)),
            Item::Spread(e) => Item::Spread(self.expr(e, scope)),
        };
        items.iter().map(specialized).collect()
    }

    fn texts(&mut self, parts: &[Text], scope: &Scope) -> Vec<Text> {
        let specialized = |part: &Text| match part {
            Text::Text(text) => Text::Text(text.clone()),
            Text::Value(e) => Text::Value(self.expr(e, scope)),
        };
        parts.iter().map(specialized).collect()
    }

    /// A body in which a name has a value. The value replaces the name if it is simple or used once, else it is bound first.
    fn with_bound(&mut self, name: &str, value: Expr, body: &Expr, scope: &Scope) -> Expr {
        let mut inner = scope.clone();
        if fold::is_simple(&value) || count_uses(body, name) <= 1 {
            inner.values.insert(name.to_owned(), value);
            return self.expr(body, &inner);
        }
        let (bound, inner) = bind(name, scope);
        let body = self.expr(body, &inner);
        in_block(vec![Statement::Let(Names::One(bound), value)], body)
    }

    /// A call of a helper. If the arguments decide its branches, the rest of its body replaces the call.
    fn fn_call(&mut self, name: &str, args: &[Expr], expr: &Expr, scope: &Scope) -> Expr {
        let args = self.exprs(args, scope);
        let function = self.program.fns.iter().find(|f| f.name == name);
        let is_called_with_more = |f: &Function| {
            args.iter().zip(&f.params).any(|(arg, param)| is_more_specific(fold::without_conversions(arg), &param.ty))
        };
        if let Some(function) = function.filter(|f| args.iter().all(fold::is_simple) && is_called_with_more(f)) {
            let values = function.params.iter().map(|p| p.name.clone()).zip(args.iter().cloned()).collect();
            let mut inner = Specializer::new(self.program, self.schemas, self.opset);
            let answer = inner.expr(&function.body, &Scope { values, inlined: true, ..Scope::default() });
            if fold::literal(&answer).is_some() || (has_branches(&function.body) && !has_branches(&answer)) {
                self.called.append(&mut inner.called);
                self.typed.append(&mut inner.typed);
                return answer;
            }
        }
        self.called.insert(name.to_owned());
        Expr::new(Kind::Fn(name.to_owned(), args), expr.ty.clone(), expr.span)
    }

    fn match_on(&mut self, value: &Expr, arms: &[MatchArm], expr: &Expr, scope: &Scope) -> Expr {
        let value = self.expr(value, scope);
        let mut left: Vec<MatchArm> = Vec::new();
        let longest = longest_list(&value, scope);
        for arm in arms {
            if longest.is_some_and(|longest| (0..=longest).all(|n| left.iter().any(|arm| takes_length(arm, n)))) {
                break;
            }
            let taken: Vec<Option<bool>> = arm.patterns.iter().map(|p| fold::matches(p, &value)).collect();
            if taken.iter().all(|t| *t == Some(false)) {
                self.rule_out(arm.arm, &arm.value, scope);
                continue;
            }
            if left.is_empty() && taken.contains(&Some(true)) {
                return match arm.patterns.as_slice() {
                    [Pattern::Bind { name, unwrap }] => {
                        let bound = if *unwrap { fold::present(&value).unwrap_or(&value) } else { &value };
                        self.with_bound(name, bound.clone(), &arm.value, scope)
                    }
                    _ => self.expr(&arm.value, scope),
                };
            }
            let mut inner = scope.clone();
            let patterns = arm.patterns.iter().map(|p| bind_pattern(p, &mut inner)).collect();
            left.push(MatchArm { arm: arm.arm, patterns, value: self.expr(&arm.value, &inner) });
        }
        Expr::new(Kind::Match { value: Box::new(value), arms: left }, expr.ty.clone(), expr.span)
    }

    fn block(&mut self, statements: &[Statement], result: &Expr, expr: &Expr, scope: &Scope) -> Expr {
        let mut scope = scope.clone();
        let mut written = Vec::new();
        for statement in statements {
            match statement {
                Statement::Since(since, reason, span) if self.opset < *since => {
                    let refused = Expr::new(Kind::Since(*since, reason.clone()), Ty::Never, *span);
                    return in_block(written, refused);
                }
                Statement::Since(..) => {}
                Statement::Expr(e) => {
                    let e = self.expr(e, &scope);
                    if !matches!(&e.kind, Kind::Tuple(parts) if parts.is_empty()) {
                        written.push(Statement::Expr(e));
                    }
                }
                Statement::Let(Names::One(name), value) => {
                    let value = self.expr(value, &scope);
                    // A second name for a literal or for another name is left out.
                    let mere = fold::literal(&value).is_some()
                        || matches!(fold::without_conversions(&value).kind, Kind::Local(_));
                    if mere || (scope.inlined && fold::is_simple(&value)) {
                        scope.values.insert(name.clone(), value);
                        continue;
                    }
                    let (name, inner) = bind(name, &scope);
                    scope = inner;
                    match fold::longest(&value, &scope.lengths) {
                        Some(most) => drop(scope.lengths.insert(name.clone(), most)),
                        None => drop(scope.lengths.remove(&name)),
                    }
                    written.push(Statement::Let(Names::One(name), value));
                }
                Statement::Let(names, value) => {
                    let value = self.expr(value, &scope);
                    let (names, inner) = bind_names(names, &scope);
                    scope = inner;
                    written.push(Statement::Let(names, value));
                }
            }
        }
        let result = self.expr(result, &scope);
        let mut block = in_block(written, result);
        block.ty = expr.ty.clone();
        block
    }

    fn node(&mut self, node: &Node, expr: &Expr, scope: &Scope) -> Expr {
        let inputs = node.inputs.iter().map(|input| self.input(input, scope)).collect();
        let attrs =
            node.attrs.iter().map(|(name, form, value)| (name.clone(), *form, self.expr(value, scope))).collect();
        let outputs = match &node.outputs {
            Outputs::List(count) => Outputs::List(self.boxed(count, scope)),
            Outputs::Typed(stated) => {
                let one = |s: &Stated, i: &mut Self| Stated {
                    dtype: i.expr(&s.dtype, scope),
                    shape: i.expr(&s.shape, scope),
                };
                Outputs::Typed(stated.iter().map(|output| one(output, self)).collect())
            }
            outputs => outputs.clone(),
        };
        let node = Node { op: node.op.clone(), form: node.form, inputs, attrs, outputs };
        self.lowered(&node).unwrap_or_else(|| Expr::new(Kind::Node(Box::new(node)), expr.ty.clone(), expr.span))
    }

    fn input(&mut self, input: &Input, scope: &Scope) -> Input {
        let Some(given) = visit::input_expr(input) else { return Input::Absent };
        let value = self.expr(given, scope);
        match input {
            // An optional parameter may now be absent or a number.
            _ if matches!(value.kind, Kind::None) => Input::Absent,
            Input::Absent => Input::Absent,
            Input::Tensor(_) | Input::Optional(_) => match &value.ty {
                Ty::List(of) if **of == Ty::Float => Input::Floats(value),
                Ty::List(_) => Input::Ints(value),
                ty if ty.is_number() => Input::Number(value),
                Ty::Optional(_) => Input::Optional(value),
                _ => Input::Tensor(value),
            },
            Input::Number(_) => Input::Number(value),
            Input::OptionalNumber(_) => Input::OptionalNumber(value),
            Input::Ints(_) => Input::Ints(value),
            Input::Floats(_) => Input::Floats(value),
            Input::Spread(_) => Input::Spread(value),
        }
    }
}

/// Statements and a result as a block. If the result is a block itself, both become one.
fn in_block(mut statements: Vec<Statement>, result: Expr) -> Expr {
    let (result, ty, span) = match result.kind {
        Kind::Block(inner, last) => {
            statements.extend(inner);
            let (ty, span) = (last.ty.clone(), last.span);
            (*last, ty, span)
        }
        kind => (Expr::new(kind, result.ty.clone(), result.span), result.ty, result.span),
    };
    if statements.is_empty() {
        return result;
    }
    Expr::new(Kind::Block(statements, Box::new(result)), ty, span)
}

/// The largest value of a `len(list)` that is matched on.
fn longest_list(value: &Expr, scope: &Scope) -> Option<usize> {
    match &value.kind {
        Kind::Builtin(Builtin::Len, args) => fold::longest(args.first()?, &scope.lengths),
        _ => None,
    }
}

fn takes_length(arm: &MatchArm, length: usize) -> bool {
    let is =
        |p: &Pattern| matches!(p, Pattern::Literal(e) if fold::literal(e) == Some(fold::Literal::Int(length as i64)));
    arm.patterns.iter().any(is)
}

/// Whether more is known of an argument than the parameter's type.
fn is_more_specific(arg: &Expr, param: &Ty) -> bool {
    !matches!(arg.kind, Kind::Local(_)) || arg.ty != *param
}

/// Whether an expression has branches.
fn has_branches(expr: &Expr) -> bool {
    let mut found = false;
    visit::walk(expr, &mut |e| {
        found |= matches!(
            e.kind,
            Kind::If { .. } | Kind::IfLet { .. } | Kind::Match { .. } | Kind::Coalesce { .. } | Kind::Block(..)
        );
    });
    found
}
