//! `since N` is the only way to say "from opset N": the matrix, the pages and the advice in errors take the number from there. A `fail`
//! under a condition on `opset` would hide it.

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::tree::{Expr, Function, Kind, Names, Program, Statement};
use crate::visit;

/// Errors for each `fail` that is reached or not by the opset.
pub(super) fn check(program: &Program, out: &mut Vec<Diagnostic>) {
    let rules = program.lowers.iter().chain(&program.raises).map(|rule| &rule.function);
    let functions = || program.maps.iter().map(|map| &map.function).chain(rules.clone()).chain(&program.fns);
    let asking = helpers_that_ask(program);
    for function in functions() {
        Search { asking: &asking, names: BTreeSet::new(), out }.walk_function(function);
    }
}

/// The helpers whose result depends on the opset: those of one bool or number that ask for it, or call one that does.
fn helpers_that_ask(program: &Program) -> BTreeSet<&str> {
    let mut asking = BTreeSet::new();
    loop {
        let known = asking.len();
        for function in &program.fns {
            let is_value = !matches!(function.returns, crate::types::Ty::Tensor | crate::types::Ty::Graph);
            if is_value && asks(&function.body, &asking, &BTreeSet::new()) {
                asking.insert(function.name.as_str());
            }
        }
        if asking.len() == known {
            return asking;
        }
    }
}

/// Whether an expression asks for the opset, itself or through a helper or a name.
fn asks(expr: &Expr, helpers: &BTreeSet<&str>, names: &BTreeSet<&str>) -> bool {
    let mut found = false;
    visit::walk(expr, &mut |part| {
        found |= match &part.kind {
            Kind::Opset => true,
            Kind::Local(name) => names.contains(name.as_str()),
            Kind::Fn(name, _) => helpers.contains(name.as_str()),
            _ => false,
        };
    });
    found
}

/// The search in one function.
struct Search<'s, 'p> {
    asking: &'s BTreeSet<&'p str>,
    /// The names of conditions that ask for the opset.
    names: BTreeSet<&'p str>,
    out: &'s mut Vec<Diagnostic>,
}

impl<'p> Search<'_, 'p> {
    fn walk_function(mut self, function: &'p Function) {
        self.walk(&function.body, None);
    }

    /// Walks an expression below a condition on the opset, if there is one.
    fn walk(&mut self, expr: &'p Expr, condition: Option<Span>) {
        match (&expr.kind, condition) {
            (Kind::Fail(_), Some(condition)) => return self.report(expr.span, condition),
            (Kind::Block(statements, _), _) => self.bind(statements),
            _ => {}
        }
        let asked: Option<&Expr> = match &expr.kind {
            Kind::If { condition, .. } => Some(condition),
            Kind::IfLet { value, .. } | Kind::Match { value, .. } | Kind::Coalesce { value, .. } => Some(value),
            _ => None,
        };
        let own = asked.filter(|asked| asks(asked, self.asking, &self.names)).map(|asked| asked.span);
        let below = own.or(condition);
        visit::children(expr, &mut |child| self.walk(child, below));
    }

    /// Remembers conditions with a name.
    fn bind(&mut self, statements: &'p [Statement]) {
        for statement in statements {
            if let Statement::Let(Names::One(name), value) = statement
                && value.ty == crate::types::Ty::Bool
                && asks(value, self.asking, &self.names)
            {
                self.names.insert(name);
            }
        }
    }

    fn report(&mut self, fail: Span, condition: Span) {
        let text = "this `fail` depends on the opset, which the proof and the matrix cannot see";
        let diagnostic = Diagnostic::new("E0710", fail, text).also(condition, "the condition");
        let help = "write `since N \"why\"` here, where N is the first opset that needs no refusal";
        self.out.push(diagnostic.help(help));
    }
}
