//! The types of expressions. `want` is the type that the context expects.

use super::folds::Fold;
use super::returns;
use super::scope::Use;
use super::types::{DTYPES, join};
use super::wording::with_article;
use super::{BodyPlace, Checker, did_you_mean};
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::Span;
use crate::syntax::ast::{self, Condition, ExprKind, Ident, ListItem, StatementKind, TextPart};
use crate::tree::{Expr, Item, Kind, Names, Statement, Text};
use crate::types::Ty;
use aten2onnx_schemas::nearest::nearest;

impl Checker<'_> {
    /// The expression, converted to this type.
    pub(crate) fn expr_as(&mut self, expr: &ast::Expr, ty: &Ty) -> Expr {
        let checked = self.expr(expr, Some(ty));
        self.coerce(checked, ty)
    }

    /// The expression with its own type. `want` decides where the form alone does not.
    pub(crate) fn expr(&mut self, expr: &ast::Expr, want: Option<&Ty>) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(i) => Expr::new(Kind::Int(*i), Ty::Int, span),
            ExprKind::Float(f, _) => Expr::new(Kind::Float(*f), Ty::Float, span),
            ExprKind::Str(s) => Expr::new(Kind::Str(s.clone()), Ty::Str, span),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Path(op) => self.poison(
                Diagnostic::new("E0408", span, format!("`{}` is not called", op.full())).label("add arguments"),
            ),
            ExprKind::Node(name, args) => self.node(name, args, want, span),
            ExprKind::Rule(op, args) => self.rule_call(op, args, span),
            ExprKind::Call(name, args) => self.call(name, args, want, span),
            ExprKind::Unary(op, inner) => self.unary(*op, inner, span),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, span),
            ExprKind::Coalesce(a, b) => self.coalesce(a, b, want, span),
            ExprKind::If(condition, then, other) => self.if_else(condition, then, other.as_deref(), want, span),
            ExprKind::Match(value, arms) => self.match_on(value, arms, want, span),
            ExprKind::List(items) => self.list(items, want, span),
            ExprKind::Comprehension { element, pattern, list, condition } => {
                self.comprehension(element, pattern, list, condition.as_deref(), want, span)
            }
            ExprKind::Tuple(parts) => self.tuple(parts, want, span),
            ExprKind::Index(list, index) => self.index(list, index, span),
            ExprKind::Slice(list, from, to) => self.slice(list, from.as_deref(), to.as_deref(), span),
            ExprKind::Block(block) => self.block(block, want),
            ExprKind::Fail(parts) => self.fail(parts, span),
            ExprKind::Since(clause) => Expr::new(Kind::Since(clause.opset, clause.reason.clone()), Ty::Never, span),
            ExprKind::Fold { state, init, item, list, body } => {
                self.fold(Fold { state, init, item, list, body }, want, span)
            }
            ExprKind::Closure(params, body) => self.closure(params, body, span),
        }
    }

    fn name(&mut self, name: &Ident) -> Expr {
        let span = name.span;
        if let Some(local) = self.scopes.take(&name.text) {
            let (ty, bound) = (local.ty.clone(), local.span);
            self.scopes.link(span, bound);
            return Expr::new(Kind::Local(name.text.clone()), ty, span);
        }
        if let Some(constant) = constant(&name.text, span) {
            return constant;
        }
        if let Some(diagnostic) = self.rest_by_name(name) {
            return self.poison(diagnostic);
        }
        match name.text.as_str() {
            "opset" => Expr::new(Kind::Opset, Ty::Int, span),
            "outputs" if matches!(self.place, BodyPlace::Lower | BodyPlace::Raise) => {
                Expr::new(Kind::Outputs, Ty::Int, span)
            }
            "outputs" => self.poison(
                Diagnostic::new("E0103", span, "`outputs` is only known in a `lower` or `raise`")
                    .label("not in scope")
                    .note("`outputs` is the number of requested outputs of the operator"),
            ),
            text => {
                let diagnostic = Diagnostic::new("E0103", span, format!("unknown name `{text}`")).label("not in scope");
                let known = self.scopes.names().chain(DTYPES.iter().copied()).chain(CONSTANTS.iter().copied());
                let candidate = nearest(text, known).map(str::to_owned);
                // The suggested name counts as used.
                candidate.as_ref().map(|name| self.scopes.take(name));
                self.poison(did_you_mean(diagnostic, candidate.as_deref()))
            }
        }
    }

    fn coalesce(&mut self, left: &ast::Expr, right: &ast::Expr, want: Option<&Ty>, span: Span) -> Expr {
        let optional = want.map(|w| Ty::optional(w.clone()));
        let value = self.expr(left, optional.as_ref());
        let Ty::Optional(inner) = value.ty.clone() else {
            self.unchecked(right);
            if value.ty == Ty::Never {
                return value;
            }
            let diagnostic = Diagnostic::new("E0602", right.span, "the value after `??` is never used")
                .label("unreachable")
                .also(value.span, format!("this is {}, which is never None", with_article(&value.ty)));
            return self.poison(diagnostic);
        };
        let arms = [
            self.arm(self.text(left.span), left.span),
            self.arm(format!("{} is None", self.text(left.span)), right.span),
        ];
        let other = self.expr(right, want.or(Some(&inner)));
        self.note_refusal(arms[1], &other);
        let Some(ty) = join(&inner, &other.ty) else {
            let diagnostic = Diagnostic::new("E0401", other.span, format!("expected `{inner}`, found `{}`", other.ty))
                .label(with_article(&other.ty))
                .also(value.span, with_article(&value.ty));
            return self.poison(diagnostic);
        };
        let value = match ty == *inner {
            true => value,
            false => self.coerce(value, &Ty::optional(ty.clone())),
        };
        let other = self.coerce(other, &ty);
        Expr::new(Kind::Coalesce { arms, value: Box::new(value), other: Box::new(other) }, ty, span)
    }

    fn if_else(
        &mut self,
        condition: &Condition,
        then: &ast::Block,
        other: Option<&ast::Block>,
        want: Option<&Ty>,
        span: Span,
    ) -> Expr {
        let (text, at) = match condition {
            Condition::Expr(e) => (self.text(e.span), e.span),
            Condition::Let(_, e) => (format!("{} is present", self.text(e.span)), e.span),
        };
        let arms = [self.arm(text.clone(), at), self.arm(format!("not: {text}"), other.map_or(at, |b| b.span))];
        let bound = match condition {
            Condition::Expr(e) => Err(self.expr_as(e, &Ty::Bool)),
            Condition::Let(name, e) => {
                let value = self.expr(e, None);
                let inner = self.unwrapped(&value);
                Ok((name, value, inner))
            }
        };
        self.scopes.push();
        if let Ok((name, _, ty)) = &bound {
            self.bind_name(&name.text, ty.clone(), name.span, Use::Bound);
        }
        let want_then = if other.is_some() { want } else { None };
        let then = self.block(then, want_then);
        self.close_scope();
        let other = match other {
            Some(block) => self.block(block, want),
            None => Expr::unit(span),
        };
        self.note_refusal(arms[0], &then);
        self.note_refusal(arms[1], &other);
        let Some((then, other, ty)) = self.unify(then, other) else {
            return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
        };
        let (then, other) = (Box::new(then), Box::new(other));
        let kind = match bound {
            Err(condition) => Kind::If { arms, condition: Box::new(condition), then, other },
            Ok((name, value, _)) => Kind::IfLet { arms, name: name.text.clone(), value: Box::new(value), then, other },
        };
        Expr::new(kind, ty, span)
    }

    /// The type of an optional value where it is present.
    fn unwrapped(&mut self, value: &Expr) -> Ty {
        match &value.ty {
            Ty::Optional(inner) => (**inner).clone(),
            Ty::Never => Ty::Never,
            ty => {
                let text = format!("`if let` needs an optional value, not {}", with_article(ty));
                self.out.push(Diagnostic::new("E0401", value.span, text));
                Ty::Never
            }
        }
    }

    fn list(&mut self, items: &[ListItem], want: Option<&Ty>, span: Span) -> Expr {
        let mut element = match want {
            Some(Ty::List(t)) => Some((**t).clone()),
            Some(Ty::Optional(o)) => match &**o {
                Ty::List(t) => Some((**t).clone()),
                _ => None,
            },
            _ => None,
        };
        let given = element.clone();
        let mut checked = Vec::new();
        for item in items {
            let (expr, spread) = match item {
                ListItem::One(e) => (self.expr(e, element.as_ref()), false),
                ListItem::Spread(e) => (self.expr(e, element.clone().map(Ty::list).as_ref()), true),
            };
            let ty = match (&expr.ty, spread) {
                (Ty::List(t), true) => (**t).clone(),
                (Ty::Never, _) => continue,
                (other, true) => {
                    let diagnostic =
                        Diagnostic::new("E0410", expr.span, format!("`..` needs a list, not {}", with_article(other)));
                    self.out.push(diagnostic);
                    continue;
                }
                (ty, false) => ty.clone(),
            };
            if given.is_none() {
                element = match &element {
                    None => Some(ty),
                    Some(before) => match join(before, &ty) {
                        Some(joined) => Some(joined),
                        None => {
                            let text =
                                format!("expected `{before}`, found `{ty}`: all elements of a list have one type");
                            self.out.push(Diagnostic::new("E0401", expr.span, text));
                            continue;
                        }
                    },
                };
            }
            checked.push((expr, spread));
        }
        let element = element.unwrap_or(Ty::Never);
        let items = checked
            .into_iter()
            .map(|(expr, spread)| match spread {
                true => Item::Spread(self.coerce(expr, &Ty::list(element.clone()))),
                false => Item::One(self.coerce(expr, &element)),
            })
            .collect();
        Expr::new(Kind::List(items), Ty::list(element), span)
    }

    fn comprehension(
        &mut self,
        element: &ast::Expr,
        pattern: &ast::Pattern,
        list: &ast::Expr,
        condition: Option<&ast::Expr>,
        want: Option<&Ty>,
        span: Span,
    ) -> Expr {
        let mut list = self.expr(list, None);
        let of = match &list.ty {
            Ty::List(of) => (**of).clone(),
            Ty::Never => Ty::Never,
            other => {
                let text = format!("`for` needs a list, not {}", with_article(other));
                list = self.poison(Diagnostic::new("E0410", list.span, text));
                Ty::Never
            }
        };
        self.scopes.push();
        let names = self.bind(pattern, &of);
        let condition = condition.map(|c| Box::new(self.expr_as(c, &Ty::Bool)));
        let wanted = match want {
            Some(Ty::List(t)) => Some((**t).clone()),
            _ => None,
        };
        let mut element = self.expr(element, wanted.as_ref());
        if let Some(wanted) = &wanted {
            element = self.coerce(element, wanted);
        }
        self.close_scope();
        if list.ty == Ty::Never {
            return list;
        }
        let ty = Ty::list(element.ty.clone());
        Expr::new(Kind::Comprehension { element: Box::new(element), names, list: Box::new(list), condition }, ty, span)
    }

    /// Binds the names of a `let` or a comprehension.
    pub(crate) fn bind(&mut self, pattern: &ast::Pattern, ty: &Ty) -> Names {
        match pattern {
            ast::Pattern::Name(name) => {
                self.bind_name(&name.text, ty.clone(), name.span, Use::Bound);
                Names::One(name.text.clone())
            }
            ast::Pattern::Tuple(names, span) => {
                let tys = match ty {
                    Ty::Tuple(tys) if tys.len() == names.len() => tys.clone(),
                    Ty::Never => vec![Ty::Never; names.len()],
                    other => {
                        let text = format!("{} names for {}", names.len(), with_article(other));
                        self.out.push(Diagnostic::new("E0411", *span, text));
                        vec![Ty::Never; names.len()]
                    }
                };
                for (name, ty) in names.iter().zip(tys) {
                    self.bind_name(&name.text, ty, name.span, Use::Bound);
                }
                Names::Tuple(names.iter().map(|n| n.text.clone()).collect())
            }
        }
    }

    fn tuple(&mut self, parts: &[ast::Expr], want: Option<&Ty>, span: Span) -> Expr {
        let wanted = match want {
            Some(Ty::Tuple(tys)) if tys.len() == parts.len() => tys.iter().map(Some).collect(),
            _ => vec![None; parts.len()],
        };
        let parts: Vec<Expr> = parts.iter().zip(wanted).map(|(p, w)| self.expr(p, w)).collect();
        let ty = Ty::Tuple(parts.iter().map(|p| p.ty.clone()).collect());
        Expr::new(Kind::Tuple(parts), ty, span)
    }

    /// The element type of a list. Other types are an error.
    fn element_of(&mut self, list: &Expr) -> Option<Ty> {
        match &list.ty {
            Ty::List(t) => Some((**t).clone()),
            Ty::Never => None,
            other => {
                let text = format!("only lists have elements, not {}", with_article(other));
                self.out.push(Diagnostic::new("E0410", list.span, text));
                None
            }
        }
    }

    fn index(&mut self, list: &ast::Expr, index: &ast::Expr, span: Span) -> Expr {
        let list = self.expr(list, None);
        let index = self.expr_as(index, &Ty::Int);
        match self.element_of(&list) {
            Some(ty) => Expr::new(Kind::Index(Box::new(list), Box::new(index)), ty, span),
            None => Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span),
        }
    }

    fn slice(&mut self, list: &ast::Expr, from: Option<&ast::Expr>, to: Option<&ast::Expr>, span: Span) -> Expr {
        let list = self.expr(list, None);
        let from = from.map(|e| Box::new(self.expr_as(e, &Ty::Int)));
        let to = to.map(|e| Box::new(self.expr_as(e, &Ty::Int)));
        let ty = list.ty.clone();
        match self.element_of(&list) {
            Some(_) => Expr::new(Kind::Slice(Box::new(list), from, to), ty, span),
            None => Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span),
        }
    }

    /// A block. Its type is that of its result, or `()` without one.
    pub(crate) fn block(&mut self, block: &ast::Block, want: Option<&Ty>) -> Expr {
        self.scopes.push();
        let mut statements = Vec::new();
        let mut refuses = false;
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Let(pattern, value) => {
                    let tuple = match pattern {
                        ast::Pattern::Tuple(names, _) => Some(Ty::Tuple(vec![Ty::Tensor; names.len()])),
                        ast::Pattern::Name(_) => None,
                    };
                    let value = self.expr(value, tuple.as_ref());
                    let names = self.bind(pattern, &value.ty.clone());
                    statements.push(Statement::Let(names, value));
                }
                StatementKind::Ignore(name, _) => self.ignore(name),
                StatementKind::Return(value) => {
                    self.unchecked(value);
                    self.out.push(returns::misplaced(statement.span));
                    refuses = true;
                }
                StatementKind::Since(clause) => {
                    statements.push(Statement::Since(clause.opset, clause.reason.clone(), clause.span));
                }
                StatementKind::Expr(expr) => {
                    let expr = self.expr(expr, None);
                    refuses |= expr.is_never();
                    if expr.ty != Ty::unit() && expr.ty != Ty::Never {
                        let text = format!("this `{}` is never used", expr.ty);
                        self.out
                            .push(Diagnostic::new("E0502", expr.span, text).help("remove it, or bind it with `let`"));
                    }
                    statements.push(Statement::Expr(expr));
                }
            }
        }
        let mut result = match &block.result {
            Some(result) => self.expr(result, want),
            None => Expr::unit(block.span),
        };
        self.close_scope();
        if refuses && block.result.is_none() {
            result.ty = Ty::Never;
            // `fail "..";` may end a block in place of a value.
            let last = statements.pop_if(|last| matches!(last, Statement::Expr(e) if e.is_never()));
            if let Some(Statement::Expr(refusal)) = last {
                result = refusal;
            }
        }
        if statements.is_empty() {
            return result;
        }
        let ty = result.ty.clone();
        Expr::new(Kind::Block(statements, Box::new(result)), ty, block.span)
    }

    fn ignore(&mut self, name: &Ident) {
        if let Some(left_out) = self.left_out.iter_mut().find(|left_out| left_out.0 == name.text) {
            left_out.1 = true;
            return;
        }
        let Some(param) = self.scopes.param(&name.text) else {
            let text = format!("`{}` is not an argument of this rule", name.text);
            self.out.push(Diagnostic::new("E0504", name.span, text).label("only arguments can be ignored"));
            return;
        };
        let bound = param.span;
        let is_again = param.ignored.replace(name.span).is_some();
        self.scopes.link(name.span, bound);
        if is_again {
            let text = format!("`{}` is ignored twice", name.text);
            self.out.push(Diagnostic::new("E0504", name.span, text).label("remove this"));
        }
    }

    /// Closes a scope and reports the names that nothing used.
    pub(crate) fn close_scope(&mut self) {
        for local in self.scopes.pop() {
            if !local.used && !local.name.starts_with('_') && local.origin == Use::Bound {
                let text = format!("`{}` is never used", local.name);
                self.out.push(Diagnostic::new("E0502", local.span, text).label("remove it, or write `_`").fix(
                    "write `_`",
                    FixPlace::Text(local.span),
                    "_",
                ));
            }
        }
    }

    fn fail(&mut self, parts: &[TextPart], span: Span) -> Expr {
        let refusal = Some(self.refusal.clone()).filter(|text| !text.is_empty()).map(Text::Text);
        let parts = parts.iter().map(|part| match part {
            TextPart::Text(text) => Text::Text(text.clone()),
            TextPart::Expr(expr) => {
                let value = self.expr(expr, None);
                if value.ty.is_graph() {
                    let text = format!("{} cannot be part of a message", with_article(&value.ty));
                    self.out
                        .push(Diagnostic::new("E0402", value.span, text).label("its value is known only in the graph"));
                }
                Text::Value(value)
            }
        });
        Expr::new(Kind::Fail(refusal.into_iter().chain(parts).collect()), Ty::Never, span)
    }

    /// The source text of a span on one line.
    pub(crate) fn text(&self, span: Span) -> String {
        self.context.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The constants of the language.
pub(crate) const CONSTANTS: &[&str] = &["INT64_MAX", "INT64_MIN", "INF", "NAN", "PI", "True", "False", "None"];

/// A constant of the language, or a dtype.
pub(crate) fn constant(text: &str, span: Span) -> Option<Expr> {
    let (kind, ty) = match text {
        "INT64_MAX" => (Kind::Int(i64::MAX), Ty::Int),
        "INT64_MIN" => (Kind::Int(i64::MIN), Ty::Int),
        "INF" => (Kind::Float(f64::INFINITY), Ty::Float),
        "NAN" => (Kind::Float(f64::NAN), Ty::Float),
        "PI" => (Kind::Float(std::f64::consts::PI), Ty::Float),
        "True" | "true" => (Kind::Bool(true), Ty::Bool),
        "False" | "false" => (Kind::Bool(false), Ty::Bool),
        "None" => (Kind::None, Ty::optional(Ty::Never)),
        dtype if DTYPES.contains(&dtype) => (Kind::Dtype(dtype.to_owned()), Ty::ScalarType),
        _ => return None,
    };
    Some(Expr::new(kind, ty, span))
}
