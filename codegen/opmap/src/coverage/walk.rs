//! Walks one rule at one opset, with everything that it calls.

use super::{Coverage, Reach};
use crate::diagnostic::Diagnostic;
use crate::specialize::opset_condition;
use crate::tree::{Expr, Function, Item, Kind, Lower, Node, Statement, Text};
use crate::visit;

impl<'a> Coverage<'a> {
    pub(super) fn map(&mut self, name: &str, opset: u32) -> Reach {
        let program = self.program;
        let Ok(index) = program.maps.binary_search_by(|m| m.function.name.as_str().cmp(name)) else {
            return Reach::default();
        };
        self.function(&program.maps[index].function, opset)
    }

    pub(super) fn lower(&mut self, index: usize, opset: u32) -> Reach {
        let program = self.program;
        self.function(&program.lowers[index].function, opset)
    }

    pub(super) fn raise(&mut self, raise: &'a Lower, opset: u32) -> Reach {
        self.function(&raise.function, opset)
    }

    /// A rule or helper. It is walked once for each opset.
    fn function(&mut self, function: &'a Function, opset: u32) -> Reach {
        let key = (function.name.clone(), opset);
        if let Some(known) = self.memo.get(&key) {
            return known.clone();
        }
        if let Some(at) = self.stack.iter().position(|s| *s == function.name) {
            let cycle: Vec<String> =
                self.stack[at..].iter().chain([&function.name]).map(|n| format!("`{n}`")).collect();
            let text = format!("`{}` calls itself", function.name);
            let diagnostic =
                Diagnostic::new("E0603", function.span, text).note(format!("the cycle: {}", cycle.join(" -> ")));
            if !self.out.iter().any(|d| d.code == "E0603" && d.primary.0 == function.span) {
                self.out.push(diagnostic);
            }
            return Reach::default();
        }
        self.stack.push(function.name.clone());
        let reach = self.expr(&function.body, opset);
        self.stack.pop();
        self.memo.insert(key, reach.clone());
        reach
    }

    fn exprs<'e>(&mut self, exprs: impl Iterator<Item = &'e Expr>, opset: u32) -> Reach {
        let mut reach = Reach::default();
        for expr in exprs {
            let next = self.expr(expr, opset);
            reach.then(next);
        }
        reach
    }

    pub(super) fn expr(&mut self, expr: &Expr, opset: u32) -> Reach {
        match &expr.kind {
            Kind::Int(_)
            | Kind::Float(_)
            | Kind::Bool(_)
            | Kind::Str(_)
            | Kind::Dtype(_)
            | Kind::None
            | Kind::Local(_)
            | Kind::Opset
            | Kind::Outputs => Reach::default(),
            Kind::Convert(e) | Kind::Unary(_, e) => self.expr(e, opset),
            Kind::Binary(_, a, b) | Kind::Index(a, b) => self.exprs([&**a, &**b].into_iter(), opset),
            Kind::Node(node) => self.node(node, expr, opset),
            Kind::Rule(name, args) => {
                let mut reach = self.exprs(args.iter(), opset);
                let called = self.called_map(name, opset);
                reach.then(called);
                reach
            }
            Kind::Fn(name, args) => {
                let mut reach = self.exprs(args.iter(), opset);
                let program = self.program;
                if let Some(function) = program.fns.iter().find(|f| f.name == *name) {
                    let called = self.function(function, opset);
                    let called = self.seen_from_here(called);
                    reach.then(called);
                }
                reach
            }
            Kind::Extern(_, args) | Kind::Builtin(_, args) | Kind::Tuple(args) => self.exprs(args.iter(), opset),
            Kind::If { arms, condition, then, other } => {
                let mut reach = self.expr(condition, opset);
                let known = opset_condition(condition, opset);
                if let Some(outcome) = known {
                    let met = self.outcomes.entry(*arms).or_default();
                    met[usize::from(!outcome)] = true;
                }
                let next = match known {
                    Some(true) => self.expr(then, opset),
                    Some(false) => self.expr(other, opset),
                    None => {
                        let then = self.expr(then, opset);
                        then.or(self.expr(other, opset))
                    }
                };
                reach.then(next);
                reach
            }
            Kind::IfLet { value, then, other, .. } => {
                let mut reach = self.expr(value, opset);
                let then = self.expr(then, opset);
                let next = then.or(self.expr(other, opset));
                reach.then(next);
                reach
            }
            Kind::Match { value, arms } => {
                let mut reach = self.expr(value, opset);
                let next = arms.iter().map(|arm| self.expr(&arm.value, opset)).reduce(Reach::or);
                reach.then(next.unwrap_or_default());
                reach
            }
            Kind::Coalesce { value, other, .. } => {
                let mut reach = self.expr(value, opset);
                let next = Reach::default().or(self.expr(other, opset));
                reach.then(next);
                reach
            }
            Kind::List(items) => self.exprs(
                items.iter().map(|item| match item {
                    Item::One(e) | Item::Spread(e) => e,
                }),
                opset,
            ),
            Kind::Comprehension { element, list, condition, .. } => {
                let mut reach = self.expr(list, opset);
                if let Some(condition) = condition {
                    reach.then(self.expr(condition, opset));
                }
                // The list may be empty, so a refusal in its elements does not refuse every call.
                let inner = Reach::default().or(self.expr(element, opset));
                reach.then(inner);
                reach
            }
            Kind::Slice(list, from, to) => {
                self.exprs([Some(list), from.as_ref(), to.as_ref()].into_iter().flatten().map(|e| &**e), opset)
            }
            Kind::Block(statements, result) => self.block(statements, result, opset),
            Kind::Fail(parts) => {
                let mut reach = self.exprs(
                    parts.iter().filter_map(|p| match p {
                        Text::Value(e) => Some(e),
                        Text::Text(_) => None,
                    }),
                    opset,
                );
                // `fail` does not depend on the opset, so it is not a gap in coverage.
                reach.refused = false;
                reach
            }
            Kind::Since(since, reason) => {
                self.since_values.entry(expr.span).or_insert_with(|| (*since, Default::default())).1.insert(opset);
                Reach { refused: true, reasons: [reason.clone()].into(), ..Reach::default() }
            }
            Kind::Closure(_, body) => self.expr(body, opset),
        }
    }

    /// What a called rule reaches, with the caller at the start of each path.
    pub(super) fn seen_from_here(&self, called: Reach) -> Reach {
        let Some(caller) = self.stack.last() else { return called };
        let gaps = called.gaps.into_iter().map(|mut gap| {
            gap.path.insert(0, caller.clone());
            gap
        });
        Reach { gaps: gaps.collect(), ..called }
    }

    fn called_map(&mut self, name: &str, opset: u32) -> Reach {
        let program = self.program;
        let since = program.maps.iter().find(|m| m.function.name == name).and_then(|m| m.since.as_ref());
        if let Some((_, reason)) = since.filter(|s| opset < s.0) {
            return Reach { refused: true, reasons: [reason.clone()].into(), ..Reach::default() };
        }
        let called = self.map(name, opset);
        self.seen_from_here(called)
    }

    fn block(&mut self, statements: &[Statement], result: &Expr, opset: u32) -> Reach {
        let mut reach = Reach::default();
        for (i, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Let(_, e) | Statement::Expr(e) => {
                    let next = self.expr(e, opset);
                    reach.then(next);
                }
                Statement::Since(since, reason, span) => {
                    if opset + 1 == *since {
                        let rest = self.block(&statements[i + 1..], result, opset);
                        let needed = rest.refused || !rest.gaps.is_empty();
                        self.since_statements.entry(*span).or_insert((*since, false)).1 |= needed;
                    }
                    if opset < *since {
                        reach.then(Reach { refused: true, reasons: [reason.clone()].into(), ..Reach::default() });
                        return reach;
                    }
                }
            }
        }
        let last = self.expr(result, opset);
        reach.then(last);
        reach
    }

    fn node(&mut self, node: &Node, expr: &Expr, opset: u32) -> Reach {
        let inputs = node.inputs.iter().filter_map(visit::input_expr);
        let attrs = node.attrs.iter().map(|(_, _, value)| value);
        let mut reach = self.exprs(inputs.chain(attrs).chain(visit::output_exprs(&node.outputs)), opset);
        let called = self.operator(node, opset, expr);
        reach.then(called);
        reach
    }
}
