//! The value after the `=` of a fact: calls of PyTorch's operators on the arguments of the operator.

use super::Subject;
use crate::check::did_you_mean;
use crate::check::map_header::no_overload;
use crate::diagnostic::Diagnostic;
use crate::effects::{Literal, Term, TermCall};
use crate::source::Span;
use crate::syntax::ast::{Argument, BinaryOp, Expr, ExprKind, Ident, ListItem, OpName};
use crate::syntax::fact::FactKind;
use aten2onnx_schemas::aten::{self, Schema, plain_type};
use aten2onnx_schemas::nearest::nearest;

/// The names that exist in addition to the operator's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// None.
    Plain,
    /// `src`; for views in a list also `position`, `start` and `end`.
    View,
    /// `sizes`
    Sizes,
    /// None; the name of a list is one of its elements.
    Elements,
}

/// A term and its type as in the schemas, but without `?`, sizes of lists and `SymInt`.
type Typed = (Term, String);

/// The term of an expression, which must have one of the `wanted` types, and the number of its results. A call without results has
/// the type ``.
pub(super) fn value(subject: &mut Subject<'_>, expr: &Expr, scope: Scope, wanted: &[&str]) -> Option<(Term, usize)> {
    let (term, ty) = Terms { subject: &mut *subject, scope }.term(expr)?;
    if !wanted.contains(&ty.as_str()) {
        let wanted = wanted.first().copied().unwrap_or_default();
        return subject.wrong(expr.span, &format!("expected `{wanted}`"), &format!("this is `{ty}`"));
    }
    match &term {
        Term::Call(call) => {
            let results = call.results;
            let is_nested = call.args.iter().any(|(_, arg)| matches!(arg, Term::Call(_)));
            // A call that replaces a node cannot add other nodes.
            if is_nested && (subject.replaces() || results > 1) {
                return subject.wrong(expr.span, "expected one call", "its arguments are calls");
            }
            Some((term, results))
        }
        Term::Argument { .. } if subject.fact.kind == FactKind::Write => Some((term, 1)),
        _ => subject.wrong(expr.span, "expected a call", "not a call of an operator"),
    }
}

struct Terms<'s, 'a> {
    subject: &'s mut Subject<'a>,
    scope: Scope,
}

impl Terms<'_, '_> {
    fn term(&mut self, expr: &Expr) -> Option<Typed> {
        match &expr.kind {
            ExprKind::Int(number) => Some((Term::Literal(Literal::Int(*number)), "int".to_owned())),
            ExprKind::Float(number, _) => Some((Term::Literal(Literal::Float(*number)), "float".to_owned())),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Rule(op, args) => self.call(op, args, expr.span),
            ExprKind::Call(name, args) => self.function(name, args, expr.span),
            ExprKind::List(items) => {
                let mut terms = Vec::new();
                for item in items {
                    let ListItem::One(item) = item else { return self.not_known(expr.span) };
                    terms.push(self.of_type(item, "int")?);
                }
                Some((Term::List(terms), "int[]".to_owned()))
            }
            ExprKind::Binary(BinaryOp::Add, a, b) => {
                let (a, b) = (self.of_type(a, "int")?, self.of_type(b, "int")?);
                Some((Term::Sum(Box::new(a), Box::new(b)), "int".to_owned()))
            }
            _ => self.not_known(expr.span),
        }
    }

    /// A term of a type.
    fn of_type(&mut self, expr: &Expr, wanted: &str) -> Option<Term> {
        let (term, ty) = self.term(expr)?;
        if ty == wanted {
            return Some(term);
        }
        self.subject.wrong(expr.span, &format!("expected `{wanted}`"), &format!("this is `{ty}`"))
    }

    fn name(&mut self, name: &Ident) -> Option<Typed> {
        let is_list = self.scope == Scope::View && self.subject.gives_list();
        let literal = |literal: Literal, ty: &str| Some((Term::Literal(literal), ty.to_owned()));
        match name.text.as_str() {
            "True" => return literal(Literal::Bool(true), "bool"),
            "False" => return literal(Literal::Bool(false), "bool"),
            "None" => return literal(Literal::None, "None"),
            "src" if self.scope == Scope::View => return Some((Term::New, "Tensor".to_owned())),
            "sizes" if self.scope == Scope::Sizes => return Some((Term::Sizes, "int[]".to_owned())),
            "position" if is_list => return Some((Term::Position, "int".to_owned())),
            _ => {}
        }
        if let Some(arg) = self.subject.schema.arg(&name.text) {
            let ty = plain_type(&arg.ty);
            let ty = match ty.strip_suffix("[]") {
                Some(element @ ("Tensor" | "Scalar")) if self.scope == Scope::Elements => element.to_owned(),
                _ => ty,
            };
            return Some((Term::Argument { name: name.text.clone(), default: None }, ty));
        }
        if is_list && matches!(name.text.as_str(), "start" | "end") {
            self.subject.argument_of("dim", "int", name.span)?;
            return Some((if name.text == "start" { Term::Start } else { Term::End }, "int".to_owned()));
        }
        let (op, note) = (self.subject.fact.op.full(), self.subject.note());
        let text = format!("`{op}` has no argument `{}`", name.text);
        let diagnostic = Diagnostic::new("E0904", name.span, text).label("not in the schema").note(note);
        let candidate = nearest(&name.text, self.subject.schema.args.iter().map(|arg| arg.name.as_str()));
        self.subject.out.push(did_you_mean(diagnostic, candidate));
        None
    }

    /// `inverse(dims)`, `dtype(x)`, `rank(x)`, `range(a, b)`
    fn function(&mut self, name: &Ident, args: &[Argument], span: Span) -> Option<Typed> {
        let mut given = Vec::new();
        for arg in args {
            let Argument::Positional(arg) = arg else { return self.not_known(span) };
            given.push(arg);
        }
        Some(match (name.text.as_str(), given.as_slice()) {
            ("inverse", [dims]) => (Term::Inverse(Box::new(self.of_type(dims, "int[]")?)), "int[]".to_owned()),
            ("dtype", [x]) => (Term::Dtype(Box::new(self.tensor(x)?)), "ScalarType".to_owned()),
            ("rank", [x]) => (Term::Rank(Box::new(self.tensor(x)?)), "int".to_owned()),
            ("range", [a, b]) => {
                let (a, b) = (self.of_type(a, "int")?, self.of_type(b, "int")?);
                (Term::Range(Box::new(a), Box::new(b)), "int[]".to_owned())
            }
            _ => return self.not_known(span),
        })
    }

    /// A tensor whose dtype or rank is recorded.
    fn tensor(&mut self, expr: &Expr) -> Option<Term> {
        match self.of_type(expr, "Tensor")? {
            Term::Call(_) => self.not_known(expr.span),
            term => Some(term),
        }
    }

    fn call(&mut self, op: &OpName, args: &[Argument], span: Span) -> Option<Typed> {
        let name = op.full();
        let aten = &self.subject.context.schemas.aten;
        let Some(schema) = aten.get(&name) else {
            let diagnostic = no_overload(self.subject.context, op.span, &name);
            self.subject.out.push(diagnostic);
            return None;
        };
        let mut given: Vec<(String, Term)> = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            let (param, value) = match arg {
                Argument::Positional(value) => {
                    let param = schema.args.get(at).filter(|param| !param.keyword_only);
                    let Some(param) = param else {
                        return self.misfit(schema, value.span, "takes fewer positional arguments", "one too many");
                    };
                    (param, value)
                }
                Argument::Named(name, value) => match schema.arg(&name.text) {
                    Some(param) => (param, value),
                    None => {
                        let text = format!("has no argument `{}`", name.text);
                        return self.misfit(schema, name.span, &text, "not in the schema");
                    }
                },
                Argument::Spread(value) => return self.not_known(value.span),
            };
            let (term, ty) = self.term(value)?;
            if matches!(&term, Term::Call(call) if call.results != 1) {
                return self.misfit(schema, value.span, "takes one value for an argument", "this returns several");
            }
            if !fits(&ty, &param.ty) {
                let text = format!("takes `{}` for `{}`", param.ty, param.name);
                return self.misfit(schema, value.span, &text, &format!("this is `{ty}`"));
            }
            if given.iter().any(|(name, _)| *name == param.name) {
                return self.misfit(schema, value.span, &format!("is given `{}` twice", param.name), "second value");
            }
            given.push((param.name.clone(), self.with_default(term, param, value.span)?));
        }
        let missing =
            schema.args.iter().find(|p| p.default.is_none() && !given.iter().any(|(name, _)| *name == p.name));
        if let Some(missing) = missing {
            return self.misfit(schema, span, &format!("needs the argument `{}`", missing.name), "not given");
        }
        let ty = schema.returns.first().map_or(String::new(), |r| plain_type(&r.ty));
        Some((Term::Call(TermCall { op: name, args: given, results: schema.returns.len() }), ty))
    }

    /// An argument with its own default, if the parameter has another default or none.
    fn with_default(&mut self, term: Term, param: &aten::Arg, span: Span) -> Option<Term> {
        let Term::Argument { name, .. } = term else { return Some(term) };
        let own = self.subject.schema.arg(&name)?;
        let (Some(text), value) = (&own.default, own.default_value()) else {
            return Some(Term::Argument { name, default: None });
        };
        if param.default.is_some() && param.default_value() == value {
            return Some(Term::Argument { name, default: None });
        }
        let default = match value {
            Some(aten::Value::None) => Literal::None,
            Some(aten::Value::Bool(flag)) => Literal::Bool(flag),
            Some(aten::Value::Int(number)) => Literal::Int(number),
            Some(aten::Value::Float(number)) => Literal::Float(number),
            _ => {
                let text = format!("`{name}` may be left out, and its default `{text}` cannot be passed on");
                return self.subject.wrong(span, &text, "not allowed here");
            }
        };
        Some(Term::Argument { name, default: Some(default) })
    }

    fn not_known<T>(&mut self, span: Span) -> Option<T> {
        let diagnostic =
            Diagnostic::new("E0904", span, "a fact cannot contain this expression").label("not allowed here");
        self.subject.out.push(diagnostic.note(
            "allowed are calls of PyTorch's operators, names of arguments, constants, lists of integers, `a + b`, `inverse(dims)`, \
             `dtype(x)`, `rank(x)` and `range(a, b)`",
        ));
        None
    }

    /// The call does not fit the schema of the called operator.
    fn misfit<T>(&mut self, schema: &Schema, span: Span, problem: &str, label: &str) -> Option<T> {
        let text = format!("`{}` {problem}", schema.name);
        self.subject.out.push(Diagnostic::new("E0904", span, text).label(label).note(format!("PyTorch: {schema}")));
        None
    }
}

/// Whether a value of a type can be given for a parameter.
fn fits(ty: &str, param: &str) -> bool {
    let plain = plain_type(param);
    match ty {
        "None" => param.ends_with('?'),
        "int" | "float" | "bool" if plain == "Scalar" => true,
        "int" if plain == "float" => true,
        _ => plain == ty,
    }
}
