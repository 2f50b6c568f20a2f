//! Calls of helpers, `extern fn`s, other rules and built-in functions.

use std::collections::{HashMap, HashSet};

use super::types::join;
use super::wording::{counted, with_article};
use super::{Checker, Signature, did_you_mean};
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::Span;
use crate::syntax::ast::{self, Argument, Ident, OpName};
use crate::tree::{Builtin, Expr, Kind};
use crate::types::Ty;
use aten2onnx_schemas::nearest::nearest;

const BUILTINS: &[(&str, Builtin)] = &[
    ("len", Builtin::Len),
    ("range", Builtin::Range),
    ("enumerate", Builtin::Enumerate),
    ("zip", Builtin::Zip),
    ("reversed", Builtin::Reversed),
    ("min", Builtin::Min),
    ("max", Builtin::Max),
    ("sum", Builtin::Sum),
    ("abs", Builtin::Abs),
    ("int", Builtin::Int),
    ("float", Builtin::Float),
];

/// The names of the built-in functions, with their calls.
pub(crate) fn builtin_usages() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILTINS.iter().map(|(name, builtin)| (*name, usage(*builtin)))
}

impl Checker<'_> {
    pub(super) fn rule_call(&mut self, op: &OpName, args: &[Argument], span: Span) -> Expr {
        let name = op.full();
        let Some(signature) = self.context.maps.get(&name) else {
            args.iter().for_each(|arg| self.unchecked(value_of(arg)));
            if self.context.broken.contains(&name) {
                return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
            }
            let mut diagnostic =
                Diagnostic::new("E0101", op.span, format!("no rule for `{name}`")).label("not defined");
            if self.context.schemas.aten.get(&name).is_some() {
                diagnostic = diagnostic.note("PyTorch has this overload, but there is no `map` for it");
            }
            let candidate = nearest(&name, self.context.maps.keys().map(String::as_str));
            return self.poison(did_you_mean(diagnostic, candidate));
        };
        match self.arguments(&name, signature, args, span) {
            Some(args) => Expr::new(Kind::Rule(name, args), signature.returns.clone(), span),
            None => Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span),
        }
    }

    pub(super) fn call(&mut self, name: &Ident, args: &[Argument], want: Option<&Ty>, span: Span) -> Expr {
        if let Some(bound) = self.scopes.get(&name.text).filter(|local| local.ty == Ty::Graph).map(|local| local.span) {
            self.scopes.take(&name.text);
            self.scopes.link(name.span, bound);
            return self.apply(name, args, want, span);
        }
        let context = self.context;
        let Some(helper) = context.helpers.find(name.span.file, &name.text) else {
            if let Some((_, builtin)) = BUILTINS.iter().find(|b| b.0 == name.text) {
                return self.builtin(*builtin, name, args, want, span);
            }
            args.iter().for_each(|arg| self.unchecked(value_of(arg)));
            if self.scopes.take(&name.text).is_some_and(|local| local.ty == Ty::Never) {
                return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
            }
            let diagnostic = self.unknown_function(name);
            return self.poison(diagnostic);
        };
        self.scopes.links.calls.push((name.span, helper.key.clone()));
        if helper.key != self.rule {
            self.used.insert(helper.key.clone());
        }
        let Some(signature) = &helper.signature else {
            args.iter().for_each(|arg| self.unchecked(value_of(arg)));
            return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
        };
        let Some(args) = self.arguments(&name.text, signature, args, span) else {
            return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
        };
        let kind = match helper.is_extern {
            true => Kind::Extern(helper.key.clone(), args),
            false => Kind::Fn(helper.key.clone(), args),
        };
        Expr::new(kind, signature.returns.clone(), span)
    }

    fn unknown_function(&mut self, name: &Ident) -> Diagnostic {
        let context = self.context;
        if let Some(local) = self.scopes.take(&name.text) {
            let text = format!("`{}` is {}, not a function", name.text, with_article(&local.ty));
            return Diagnostic::new("E0104", name.span, text).label("cannot be called").also(local.span, "bound here");
        }
        if let Some(helper) = context.helpers.hidden_helper(&name.text) {
            self.used.insert(helper.key.clone());
            let file = &context.sources.file(helper.span.file).path;
            let text = format!("the helper `{}` is private to {file}", name.text);
            let diagnostic = Diagnostic::new("E0107", name.span, text).label("not visible here");
            return diagnostic
                .also(helper.span, "defined here")
                .help(format!("write `pub` before its `fn` in {file}"))
                .fix(format!("export it from {file}"), FixPlace::ItemStart(helper.span), "pub");
        }
        let diagnostic =
            Diagnostic::new("E0104", name.span, format!("unknown function `{}`", name.text)).label("not defined");
        let all = context.helpers.names(name.span.file).chain(BUILTINS.iter().map(|b| b.0));
        did_you_mean(diagnostic, nearest(&name.text, all))
    }

    /// The arguments of a call in the order of the header, with defaults filled in.
    fn arguments(&mut self, callee: &str, signature: &Signature, args: &[Argument], span: Span) -> Option<Vec<Expr>> {
        let mut given: HashMap<usize, Expr> = HashMap::new();
        let mut fine = true;
        let mut position = 0;
        // Parameters that were given under a wrong name, which is reported already.
        let mut misnamed = HashSet::new();
        for arg in args {
            let Some((index, expr)) = self.place_of(callee, signature, arg, &mut position, &mut misnamed) else {
                fine = false;
                continue;
            };
            let Some(param) = signature.params.get(index) else {
                let text = format!("`{callee}` takes {}", counted(signature.params.len(), "argument"));
                let diagnostic = Diagnostic::new("E0408", expr.span, text).label("one too many");
                self.out.push(diagnostic.also(signature.span, "the header"));
                self.unchecked(expr);
                fine = false;
                continue;
            };
            let ty = param.ty.clone();
            let value = self.expr_as(expr, &ty);
            if let Some(first) = given.get(&index) {
                let text = format!("`{}` is given twice", param.name);
                self.out.push(Diagnostic::new("E0307", expr.span, text).also(first.span, "first here"));
                fine = false;
            }
            given.insert(index, value);
        }
        let mut all = Vec::new();
        for (i, param) in signature.params.iter().enumerate() {
            match given.remove(&i).or_else(|| param.default.clone()) {
                Some(value) => all.push(value),
                None if misnamed.contains(&param.name) => {}
                None => {
                    let text = format!("`{callee}` needs the argument `{}`", param.name);
                    let label = format!("`{} {}` is missing", param.ty, param.name);
                    let diagnostic = Diagnostic::new("E0408", span, text).label(label);
                    self.out.push(diagnostic.also(signature.span, "the header"));
                    fine = false;
                }
            }
        }
        fine.then_some(all)
    }

    /// Which parameter an argument is for, and its value.
    fn place_of<'e>(
        &mut self,
        callee: &str,
        signature: &Signature,
        arg: &'e Argument,
        position: &mut usize,
        misnamed: &mut HashSet<String>,
    ) -> Option<(usize, &'e ast::Expr)> {
        let names = signature.params.iter().map(|p| p.name.as_str());
        match arg {
            Argument::Positional(expr) => {
                *position += 1;
                Some((*position - 1, expr))
            }
            Argument::Named(name, expr) => {
                if let Some(index) = names.clone().position(|n| n == name.text) {
                    return Some((index, expr));
                }
                let text = format!("`{callee}` has no argument `{}`", name.text);
                let diagnostic = Diagnostic::new("E0409", name.span, text).label("unknown argument");
                let candidate = nearest(&name.text, names);
                misnamed.extend(candidate.map(str::to_owned));
                self.out.push(did_you_mean(diagnostic.also(signature.span, "the header"), candidate));
                self.unchecked(expr);
                None
            }
            Argument::Spread(expr) => {
                let text = "`..` is only allowed among the inputs of ONNX operators";
                self.out.push(Diagnostic::new("E0408", expr.span, text));
                self.unchecked(expr);
                misnamed.extend(names.map(str::to_owned));
                None
            }
        }
    }

    fn builtin(&mut self, builtin: Builtin, name: &Ident, args: &[Argument], want: Option<&Ty>, span: Span) -> Expr {
        let mut exprs = Vec::new();
        for arg in args {
            match arg {
                Argument::Positional(expr) => exprs.push(self.expr(expr, None)),
                Argument::Named(_, expr) | Argument::Spread(expr) => {
                    self.unchecked(expr);
                    let text = format!("`{}` takes only positional arguments", name.text);
                    return self.poison(Diagnostic::new("E0408", expr.span, text));
                }
            }
        }
        if exprs.iter().any(|e| e.ty == Ty::Never) {
            return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
        }
        match self.builtin_type(builtin, &mut exprs, want) {
            Some((builtin, ty)) => Expr::new(Kind::Builtin(builtin, exprs), ty, span),
            None => {
                let types = exprs.iter().map(|e| e.ty.to_string()).collect::<Vec<_>>().join(", ");
                let diagnostic = Diagnostic::new("E0408", span, format!("`{}` does not take ({types})", name.text))
                    .help(usage(builtin));
                self.poison(diagnostic)
            }
        }
    }

    fn builtin_type(&mut self, builtin: Builtin, args: &mut Vec<Expr>, _want: Option<&Ty>) -> Option<(Builtin, Ty)> {
        let tys: Vec<Ty> = args.iter().map(|a| a.ty.clone()).collect();
        let ty = match (builtin, tys.as_slice()) {
            (Builtin::Len, [Ty::List(_)]) => Ty::Int,
            (Builtin::Range, [Ty::Int] | [Ty::Int, Ty::Int] | [Ty::Int, Ty::Int, Ty::Int]) => Ty::list(Ty::Int),
            (Builtin::Enumerate, [Ty::List(t)]) => Ty::list(Ty::Tuple(vec![Ty::Int, (**t).clone()])),
            (Builtin::Zip, [Ty::List(a), Ty::List(b)]) => Ty::list(Ty::Tuple(vec![(**a).clone(), (**b).clone()])),
            (Builtin::Reversed, [list @ Ty::List(_)]) => list.clone(),
            (Builtin::Min | Builtin::Max, [Ty::List(t)]) if matches!(**t, Ty::Int | Ty::Float) => {
                let of = if builtin == Builtin::Min { Builtin::MinOf } else { Builtin::MaxOf };
                return Some((of, (**t).clone()));
            }
            (Builtin::Min | Builtin::Max, [a, b]) => {
                let ty = join(a, b).filter(|t| matches!(t, Ty::Int | Ty::Float | Ty::SymInt))?;
                let taken = std::mem::take(args);
                args.extend(taken.into_iter().map(|a| self.coerce(a, &ty)));
                ty
            }
            (Builtin::Sum, [Ty::List(t)]) if matches!(**t, Ty::Int | Ty::Float | Ty::SymInt) => (**t).clone(),
            (Builtin::Abs, [t @ (Ty::Int | Ty::Float)]) => t.clone(),
            (Builtin::Int, [Ty::Int | Ty::Float | Ty::Bool | Ty::Scalar]) => Ty::Int,
            (Builtin::Float, [Ty::Int | Ty::Float | Ty::Bool | Ty::Scalar]) => Ty::Float,
            _ => return None,
        };
        Some((builtin, ty))
    }
}

fn usage(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Len => "`len(list)`",
        Builtin::Range => "`range(stop)`, `range(start, stop)` or `range(start, stop, step)` of ints",
        Builtin::Enumerate => "`enumerate(list)`",
        Builtin::Zip => "`zip(list, list)`",
        Builtin::Reversed => "`reversed(list)`",
        Builtin::Min | Builtin::MinOf => "`min(a, b)` of int, float or SymInt, `min(list)` of int or float",
        Builtin::Max | Builtin::MaxOf => "`max(a, b)` of int, float or SymInt, `max(list)` of int or float",
        Builtin::Sum => "`sum(list)` of int, float or SymInt",
        Builtin::Abs => "`abs(x)` of an int or float",
        Builtin::Int => "`int(x)` of an int, float, bool or Scalar",
        Builtin::Float => "`float(x)` of an int, float, bool or Scalar",
    }
}

/// The value of an argument.
pub(super) fn value_of(arg: &Argument) -> &ast::Expr {
    match arg {
        Argument::Positional(e) | Argument::Spread(e) | Argument::Named(_, e) => e,
    }
}
