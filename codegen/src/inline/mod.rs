//! Rules as they are at one opset: calls that it lacks become the bodies of their lowerings, and what the text alone tells
//! there is decided.
//!
//! `coverage` asks which refusals a call can really reach, `expand` shows the outcome.

mod fold;
mod lowering;

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::schema::Schemas;
use crate::tree::{
    Builtin, Expr, Function, Input, Item, Kind, MatchArm, Names, Node, Outputs, Pattern, Program, Stated, Statement,
    Text,
};
use crate::types::Ty;
use crate::visit;

/// What stands for names: parameters of lowerings, and names that had to be changed.
#[derive(Debug, Clone, Default)]
struct Env {
    values: HashMap<String, Expr>,
    /// What `outputs` is.
    outputs: Option<Expr>,
    /// It is a body in the place of a call: what is written out there need not be kept.
    inlined: bool,
    /// The most elements that a list of this name has.
    lengths: HashMap<String, usize>,
}

impl Env {
    /// What stands for a name.
    fn value_of(&self, name: &str, local: &Expr) -> Expr {
        match self.values.get(name) {
            None => local.clone(),
            // A changed name: of the type of the old one.
            Some(renamed) if renamed.ty == Ty::Never => Expr { ty: local.ty.clone(), ..renamed.clone() },
            Some(value) => value.clone(),
        }
    }
}

/// Writes rules as they are at one opset.
pub(crate) struct Inliner<'a> {
    program: &'a Program,
    schemas: &'a Schemas,
    opset: u32,
    /// Helpers and rules that are called.
    pub called: BTreeSet<String>,
    /// Lowerings (operator, opset) that are for dtypes which the older version does not take.
    pub typed: BTreeSet<(String, u32)>,
}

impl<'a> Inliner<'a> {
    pub fn new(program: &'a Program, schemas: &'a Schemas, opset: u32) -> Self {
        Inliner { program, schemas, opset, called: BTreeSet::new(), typed: BTreeSet::new() }
    }

    /// The body of a rule.
    pub fn body(&mut self, function: &Function) -> Expr {
        self.expr(&function.body, &Env::default())
    }

    fn boxed(&mut self, expr: &Expr, env: &Env) -> Box<Expr> {
        Box::new(self.expr(expr, env))
    }

    fn all(&mut self, exprs: &[Expr], env: &Env) -> Vec<Expr> {
        exprs.iter().map(|e| self.expr(e, env)).collect()
    }

    fn expr(&mut self, expr: &Expr, env: &Env) -> Expr {
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
            Kind::Local(name) => return env.value_of(name, expr),
            Kind::Opset => Kind::Int(i64::from(self.opset)),
            Kind::Outputs => return env.outputs.as_ref().unwrap_or(expr).clone(),
            Kind::Convert(inner) => Kind::Convert(self.boxed(inner, env)),
            Kind::Unary(op, inner) => return fold::unary(*op, self.expr(inner, env), expr),
            Kind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, env), self.expr(b, env));
                return fold::binary(*op, a, b, expr);
            }
            Kind::Node(node) => return self.node(node, expr, env),
            Kind::Rule(name, args) => {
                self.called.insert(name.clone());
                Kind::Rule(name.clone(), self.all(args, env))
            }
            Kind::Fn(name, args) => return self.fn_call(name, args, expr, env),
            Kind::Extern(name, args) => {
                let args = self.all(args, env);
                match fold::content(name, &args, expr) {
                    Some(value) => return value,
                    None => Kind::Extern(name.clone(), args),
                }
            }
            Kind::Builtin(builtin, args) => {
                let args = self.all(args, env);
                match fold::builtin(*builtin, &args, expr).filter(|_| env.inlined) {
                    Some(value) => return value,
                    None => Kind::Builtin(*builtin, args),
                }
            }
            Kind::If { arms, condition, then, other } => {
                let condition = self.expr(condition, env);
                match fold::outcome(&condition) {
                    Some(true) => return self.expr(then, env),
                    Some(false) => return self.expr(other, env),
                    None => {
                        let (then, other) = (self.boxed(then, env), self.boxed(other, env));
                        Kind::If { arms: *arms, condition: Box::new(condition), then, other }
                    }
                }
            }
            Kind::IfLet { arms, name, value, then, other } => {
                let value = self.expr(value, env);
                if fold::literal(&value) == Some(fold::Literal::None) {
                    return self.expr(other, env);
                }
                if let Some(there) = fold::present(&value) {
                    return self.with(name, there.clone(), then, env);
                }
                let (name, inner) = bind(name, env);
                let (then, other) = (self.boxed(then, &inner), self.boxed(other, env));
                Kind::IfLet { arms: *arms, name, value: Box::new(value), then, other }
            }
            Kind::Match { value, arms } => return self.match_on(value, arms, expr, env),
            Kind::Coalesce { arms, value, other } => {
                let value = self.expr(value, env);
                if fold::literal(&value) == Some(fold::Literal::None) {
                    return self.expr(other, env);
                }
                if let Some(there) = fold::present(&value) {
                    return there.clone();
                }
                Kind::Coalesce { arms: *arms, value: Box::new(value), other: self.boxed(other, env) }
            }
            Kind::List(items) => Kind::List(self.items(items, env)),
            Kind::Comprehension { element, names, list, condition } => {
                let list = self.boxed(list, env);
                if let (true, Names::One(name), None, Some(items)) =
                    (env.inlined, names, condition, fold::elements(&list))
                {
                    let each = |item: Expr| Item::One(self.with(name, item, element, env));
                    let items = items.into_iter().map(each).collect();
                    return Expr::new(Kind::List(items), expr.ty.clone(), expr.span);
                }
                let (names, inner) = bind_names(names, env);
                let condition = condition.as_ref().map(|c| self.boxed(c, &inner));
                Kind::Comprehension { element: self.boxed(element, &inner), names, list, condition }
            }
            Kind::Tuple(parts) => Kind::Tuple(self.all(parts, env)),
            Kind::Index(list, index) => {
                let (list, index) = (self.boxed(list, env), self.boxed(index, env));
                match fold::element(&list, &index).filter(|_| env.inlined) {
                    Some(element) => return element,
                    None => Kind::Index(list, index),
                }
            }
            Kind::Slice(list, from, to) => {
                let list = self.boxed(list, env);
                let from = from.as_ref().map(|e| self.boxed(e, env));
                Kind::Slice(list, from, to.as_ref().map(|e| self.boxed(e, env)))
            }
            Kind::Block(statements, result) => return self.block(statements, result, expr, env),
            Kind::Fail(parts) => Kind::Fail(self.texts(parts, env)),
            Kind::Closure(names, body) => {
                let (names, inner) = bind_all(names, env);
                Kind::Closure(names, self.boxed(body, &inner))
            }
        };
        Expr::new(kind, expr.ty.clone(), expr.span)
    }

    fn items(&mut self, items: &[Item], env: &Env) -> Vec<Item> {
        let each = |item: &Item| match item {
            Item::One(e) => Item::One(self.expr(e, env)),
            Item::Spread(e) => Item::Spread(self.expr(e, env)),
        };
        items.iter().map(each).collect()
    }

    fn texts(&mut self, parts: &[Text], env: &Env) -> Vec<Text> {
        let each = |part: &Text| match part {
            Text::Text(text) => Text::Text(text.clone()),
            Text::Value(e) => Text::Value(self.expr(e, env)),
        };
        parts.iter().map(each).collect()
    }

    /// A body in which a name is a value: in its place if it is simple or stands once, else bound before.
    fn with(&mut self, name: &str, value: Expr, body: &Expr, env: &Env) -> Expr {
        let mut inner = env.clone();
        if fold::is_simple(&value) || uses(body, name) <= 1 {
            inner.values.insert(name.to_owned(), value);
            return self.expr(body, &inner);
        }
        let (bound, inner) = bind(name, env);
        let body = self.expr(body, &inner);
        in_block(vec![Statement::Let(Names::One(bound), value)], body)
    }

    /// A helper whose branches the arguments decide is what is left of it.
    fn fn_call(&mut self, name: &str, args: &[Expr], expr: &Expr, env: &Env) -> Expr {
        let args = self.all(args, env);
        let function = self.program.fns.iter().find(|f| f.name == name);
        let telling = |f: &Function| args.iter().zip(&f.params).any(|(arg, param)| tells(fold::bare(arg), &param.ty));
        if let Some(function) = function.filter(|f| args.iter().all(fold::is_simple) && telling(f)) {
            let values = function.params.iter().map(|p| p.name.clone()).zip(args.iter().cloned()).collect();
            let mut inner = Inliner::new(self.program, self.schemas, self.opset);
            let answer = inner.expr(&function.body, &Env { values, inlined: true, ..Env::default() });
            if fold::literal(&answer).is_some() || (branches(&function.body) && !branches(&answer)) {
                self.called.append(&mut inner.called);
                self.typed.append(&mut inner.typed);
                return answer;
            }
        }
        self.called.insert(name.to_owned());
        Expr::new(Kind::Fn(name.to_owned(), args), expr.ty.clone(), expr.span)
    }

    fn match_on(&mut self, value: &Expr, arms: &[MatchArm], expr: &Expr, env: &Env) -> Expr {
        let value = self.expr(value, env);
        let mut left: Vec<MatchArm> = Vec::new();
        let longest = longest(&value, env);
        for arm in arms {
            if longest.is_some_and(|longest| (0..=longest).all(|n| left.iter().any(|arm| takes_length(arm, n)))) {
                break;
            }
            let taken: Vec<Option<bool>> = arm.patterns.iter().map(|p| fold::takes(p, &value)).collect();
            if taken.iter().all(|t| *t == Some(false)) {
                continue;
            }
            if left.is_empty() && taken.contains(&Some(true)) {
                return match arm.patterns.as_slice() {
                    [Pattern::Bind { name, unwrap }] => {
                        let bound = if *unwrap { fold::present(&value).unwrap_or(&value) } else { &value };
                        self.with(name, bound.clone(), &arm.value, env)
                    }
                    _ => self.expr(&arm.value, env),
                };
            }
            let mut inner = env.clone();
            let patterns = arm.patterns.iter().map(|p| bind_pattern(p, &mut inner)).collect();
            left.push(MatchArm { arm: arm.arm, patterns, value: self.expr(&arm.value, &inner) });
        }
        Expr::new(Kind::Match { value: Box::new(value), arms: left }, expr.ty.clone(), expr.span)
    }

    fn block(&mut self, statements: &[Statement], result: &Expr, expr: &Expr, env: &Env) -> Expr {
        let mut env = env.clone();
        let mut written = Vec::new();
        for statement in statements {
            match statement {
                Statement::Since(since, reason, span) if self.opset < *since => {
                    let refused = Expr::new(Kind::Since(*since, reason.clone()), Ty::Never, *span);
                    return in_block(written, refused);
                }
                Statement::Since(..) => {}
                Statement::Expr(e) => {
                    let e = self.expr(e, &env);
                    if !matches!(&e.kind, Kind::Tuple(parts) if parts.is_empty()) {
                        written.push(Statement::Expr(e));
                    }
                }
                Statement::Let(Names::One(name), value) => {
                    let value = self.expr(value, &env);
                    // A mere name for a literal or another name tells nothing.
                    let mere = fold::literal(&value).is_some() || matches!(fold::bare(&value).kind, Kind::Local(_));
                    if mere || (env.inlined && fold::is_simple(&value)) {
                        env.values.insert(name.clone(), value);
                        continue;
                    }
                    let (name, inner) = bind(name, &env);
                    env = inner;
                    match fold::most(&value, &env.lengths) {
                        Some(most) => drop(env.lengths.insert(name.clone(), most)),
                        None => drop(env.lengths.remove(&name)),
                    }
                    written.push(Statement::Let(Names::One(name), value));
                }
                Statement::Let(names, value) => {
                    let value = self.expr(value, &env);
                    let (names, inner) = bind_names(names, &env);
                    env = inner;
                    written.push(Statement::Let(names, value));
                }
            }
        }
        let result = self.expr(result, &env);
        let mut block = in_block(written, result);
        block.ty = expr.ty.clone();
        block
    }

    fn node(&mut self, node: &Node, expr: &Expr, env: &Env) -> Expr {
        let inputs = node.inputs.iter().map(|input| self.input(input, env)).collect();
        let attrs = node.attrs.iter().map(|(name, form, value)| (name.clone(), *form, self.expr(value, env))).collect();
        let outputs = match &node.outputs {
            Outputs::List(count) => Outputs::List(self.boxed(count, env)),
            Outputs::Typed(stated) => {
                let one =
                    |s: &Stated, i: &mut Self| Stated { dtype: i.expr(&s.dtype, env), shape: i.expr(&s.shape, env) };
                Outputs::Typed(stated.iter().map(|output| one(output, self)).collect())
            }
            outputs => outputs.clone(),
        };
        let node = Node { op: node.op.clone(), form: node.form, inputs, attrs, outputs };
        self.lowered(&node).unwrap_or_else(|| Expr::new(Kind::Node(Box::new(node)), expr.ty.clone(), expr.span))
    }

    fn input(&mut self, input: &Input, env: &Env) -> Input {
        let Some(given) = visit::input(input) else { return Input::Absent };
        let value = self.expr(given, env);
        match input {
            // What was an optional parameter may have turned out to be absent, or to be a number.
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

/// Statements and a result; statements of a result that is a block itself come before it.
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

/// The greatest length that a match on the length of a list can meet.
fn longest(value: &Expr, env: &Env) -> Option<usize> {
    match &value.kind {
        Kind::Builtin(Builtin::Len, args) => fold::most(args.first()?, &env.lengths),
        _ => None,
    }
}

fn takes_length(arm: &MatchArm, length: usize) -> bool {
    let is = |p: &Pattern| matches!(p, Pattern::Literal(e) if fold::literal(e) == Some(fold::Literal::Number(length as f64)));
    arm.patterns.iter().any(is)
}

/// Does an argument tell more than the parameter's type?
fn tells(arg: &Expr, param: &Ty) -> bool {
    !matches!(arg.kind, Kind::Local(_)) || arg.ty != *param
}

/// Does it depend on something which way it goes?
fn branches(expr: &Expr) -> bool {
    let mut found = false;
    visit::each(expr, &mut |e| {
        found |= matches!(
            e.kind,
            Kind::If { .. } | Kind::IfLet { .. } | Kind::Match { .. } | Kind::Coalesce { .. } | Kind::Block(..)
        );
    });
    found
}

/// How often a name stands in an expression; in what is done several times it counts as often.
fn uses(expr: &Expr, name: &str) -> usize {
    let mut count = 0;
    visit::each(expr, &mut |e| match &e.kind {
        Kind::Local(n) if n == name => count += 1,
        Kind::Closure(..) | Kind::Comprehension { .. } => {
            let mut inside = 0;
            visit::each(e, &mut |e| inside += usize::from(matches!(&e.kind, Kind::Local(n) if n == name)));
            count += inside;
        }
        _ => {}
    });
    count
}

/// Binds a name; under another one if that would hide a name that some value speaks of.
fn bind(name: &str, env: &Env) -> (String, Env) {
    let mut hidden = HashSet::new();
    for value in env.values.values() {
        visit::each(value, &mut |e| {
            if let Kind::Local(n) = &e.kind {
                hidden.insert(n.clone());
            }
        });
    }
    let mut inner = env.clone();
    inner.values.remove(name);
    let mut bound = name.to_owned();
    let mut n = 2;
    while hidden.contains(&bound) {
        bound = format!("{name}_{n}");
        n += 1;
    }
    if bound != name {
        let local = Expr::new(Kind::Local(bound.clone()), Ty::Never, crate::source::Span::default());
        inner.values.insert(name.to_owned(), local);
    }
    (bound, inner)
}

fn bind_all(names: &[String], env: &Env) -> (Vec<String>, Env) {
    let mut inner = env.clone();
    let mut bound = Vec::new();
    for name in names {
        let (name, next) = bind(name, &inner);
        bound.push(name);
        inner = next;
    }
    (bound, inner)
}

fn bind_names(names: &Names, env: &Env) -> (Names, Env) {
    match names {
        Names::One(name) => {
            let (name, env) = bind(name, env);
            (Names::One(name), env)
        }
        Names::Tuple(names) => {
            let (names, env) = bind_all(names, env);
            (Names::Tuple(names), env)
        }
    }
}

fn bind_pattern(pattern: &Pattern, env: &mut Env) -> Pattern {
    match pattern {
        Pattern::Bind { name, unwrap } => {
            let (name, inner) = bind(name, env);
            *env = inner;
            Pattern::Bind { name, unwrap: *unwrap }
        }
        Pattern::Tuple(parts) => Pattern::Tuple(parts.iter().map(|p| bind_pattern(p, env)).collect()),
        other => other.clone(),
    }
}
