//! Graphs as values: closures, calls of graphs, and `..attrs`.

use super::lower_header::attr_type;
use super::nodes::{form, stem};
use super::scope::Use;
use super::{Checker, wording};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{self, Argument, Ident};
use crate::tree::{AttrForm, ClosureParams, Expr, Item, Kind};
use crate::types::Ty;
use aten2onnx_schemas::onnx::Version;

impl Checker<'_> {
    pub(super) fn closure(&mut self, params: &ast::ClosureParams, body: &ast::Expr, span: Span) -> Expr {
        self.scopes.push();
        for param in &params.names {
            self.bind_name(&param.text, Ty::Tensor, param.span, Use::Bound);
        }
        if let Some(rest) = &params.rest {
            self.bind_name(&rest.text, Ty::list(Ty::Tensor), rest.span, Use::Bound);
        }
        let body = self.expr(body, None);
        self.close_scope();
        let fits = match &body.ty {
            Ty::Tensor | Ty::Never => true,
            Ty::List(t) => matches!(**t, Ty::Tensor | Ty::Never),
            Ty::Tuple(ts) => ts.iter().all(|t| *t == Ty::Tensor),
            _ => false,
        };
        if !fits {
            let text = format!("a graph must return tensors, not `{}`", body.ty);
            return self.poison(Diagnostic::new("E0401", body.span, text));
        }
        let names = params.names.iter().map(|p| p.text.clone()).collect();
        let params = ClosureParams { names, rest: params.rest.as_ref().map(|p| p.text.clone()) };
        Expr::new(Kind::Closure(params, Box::new(body)), Ty::Graph, span)
    }

    /// `body(i, x, ..rest)`: the results of a graph, as a list unless the context wants a tensor or a tuple.
    pub(super) fn apply(&mut self, graph: &Ident, args: &[Argument], want: Option<&Ty>, span: Span) -> Expr {
        let graph = Expr::new(Kind::Local(graph.text.clone()), Ty::Graph, graph.span);
        let mut items = Vec::new();
        for arg in args {
            match arg {
                Argument::Positional(e) => items.push(Item::One(self.expr_as(e, &Ty::Tensor))),
                Argument::Spread(e) => items.push(Item::Spread(self.expr_as(e, &Ty::list(Ty::Tensor)))),
                Argument::Named(name, e) => {
                    self.unchecked(e);
                    self.out.push(Diagnostic::new("E0408", name.span, "a graph takes only positional arguments"));
                }
            }
        }
        let ty = match want {
            Some(Ty::Tensor) => Ty::Tensor,
            Some(Ty::Tuple(tys)) if tys.iter().all(|ty| *ty == Ty::Tensor) => Ty::Tuple(tys.clone()),
            _ => Ty::list(Ty::Tensor),
        };
        Expr::new(Kind::Apply(Box::new(graph), items), ty, span)
    }

    /// Whether an argument is `..attrs` of the header.
    pub(super) fn is_rest(&self, arg: &Argument) -> bool {
        let Argument::Spread(ast::Expr { kind: ast::ExprKind::Name(name), .. }) = arg else { return false };
        self.rest.as_ref().is_some_and(|rest| rest.name.text == name.text)
    }

    /// The attributes that `..attrs` passes on to a call, without those that the call names.
    pub(super) fn passed_on(
        &mut self,
        op: &str,
        version: &Version,
        args: &[Argument],
        span: Span,
    ) -> Vec<(String, AttrForm, Expr)> {
        let Some(rest) = &mut self.rest else { return Vec::new() };
        rest.used = true;
        let mut passed = Vec::new();
        for param in &rest.params {
            let name = stem(&param.name).0;
            if args.iter().any(|arg| matches!(arg, Argument::Named(n, _) if stem(&n.text).0 == name)) {
                continue;
            }
            let (inner, optional) = match &param.ty {
                Ty::Optional(inner) => (&**inner, true),
                ty => (ty, false),
            };
            let wrong = match version.attributes.iter().find(|a| a.name == name) {
                None => format!("`{op}` has no attribute `{name}`"),
                Some(attribute) => match (attr_type(attribute.kind), form(attribute.kind)) {
                    (Some((_, ty)), Some(_)) if ty == *inner && optional && attribute.required => {
                        format!("the attribute `{name}` of `{op}` is required, but it may be absent here")
                    }
                    (Some((_, ty)), Some(form)) if ty == *inner => {
                        let value = Expr::new(Kind::Local(param.name.clone()), param.ty.clone(), span);
                        passed.push((name.to_owned(), form, value));
                        continue;
                    }
                    _ => format!("the attribute `{name}` of `{op}` is {}", wording::kind_name(attribute.kind)),
                },
            };
            let diagnostic =
                Diagnostic::new("E0309", span, wrong).label(format!("`..{}` passes it on", rest.name.text));
            let help = format!("list `{}` in the header, and decide what becomes of it", param.name);
            self.out.push(diagnostic.also(rest.name.span, "the header").help(help));
        }
        passed
    }

    /// The error for the name of `..attrs`, or of one of its attributes, as a value.
    pub(super) fn rest_by_name(&mut self, name: &Ident) -> Option<Diagnostic> {
        let rest = self.rest.as_mut()?;
        let diagnostic = if rest.name.text == name.text {
            rest.used = true;
            let text = format!("`{}` can only be passed on to an ONNX operator", name.text);
            Diagnostic::new("E0309", name.span, text).label(format!("write `..{}` in a call", name.text))
        } else if rest.params.iter().any(|param| param.name == name.text) {
            let text = format!("`{}` is one of `..{}`", name.text, rest.name.text);
            Diagnostic::new("E0309", name.span, text).label("list it in the header to use it")
        } else {
            return None;
        };
        Some(diagnostic.also(rest.name.span, "the header"))
    }

    /// Reports `..attrs` that nothing uses.
    pub(super) fn rest_is_used(&mut self, body: &Expr) {
        let Some(rest) = self.rest.take() else { return };
        if !rest.used && !body.refuses() {
            let text = format!("the attributes `..{}` have no effect", rest.name.text);
            let diagnostic = Diagnostic::new("E0501", rest.name.span, text).label("not used");
            self.out.push(diagnostic.help("list them, and write `ignore(..) \"why\";` for those that cannot matter"));
        }
    }
}
