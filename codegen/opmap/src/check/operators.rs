//! Arithmetic, comparisons and logic. On export-time values they are computed, on tensors they become nodes.

use super::Checker;
use super::nodes::Given;
use super::types::{convertible, join};
use super::wording::{UNWRAP, short_or, with_article};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp, UnaryOp};
use crate::tree::{Expr, Item, Kind};
use crate::types::Ty;

impl Checker<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, inner: &ast::Expr, span: Span) -> Expr {
        let inner = self.expr(inner, None);
        match (op, &inner.ty, &inner.kind) {
            (_, Ty::Never, _) => inner,
            (UnaryOp::Neg, _, Kind::Int(i)) => Expr::new(Kind::Int(i.wrapping_neg()), Ty::Int, span),
            (UnaryOp::Neg, _, Kind::Float(f)) => Expr::new(Kind::Float(-f), Ty::Float, span),
            (UnaryOp::Neg, Ty::Tensor, _) => self.operator_node("Neg", vec![inner], span),
            (UnaryOp::Not, Ty::Tensor, _) => self.operator_node("Not", vec![inner], span),
            (UnaryOp::Neg, Ty::Int | Ty::Float | Ty::SymInt | Ty::Scalar, _) => {
                let ty = inner.ty.clone();
                Expr::new(Kind::Unary(op, Box::new(inner)), ty, span)
            }
            (UnaryOp::Not, _, _) => {
                let inner = self.coerce(inner, &Ty::Bool);
                Expr::new(Kind::Unary(op, Box::new(inner)), Ty::Bool, span)
            }
            (UnaryOp::Neg, ty, _) => {
                let diagnostic =
                    Diagnostic::new("E0407", span, format!("`-` cannot be applied to {}", with_article(ty)));
                self.poison(diagnostic)
            }
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: &ast::Expr, b: &ast::Expr, span: Span) -> Expr {
        let a = self.expr(a, None);
        let b = self.expr(b, None);
        if a.ty == Ty::Never || b.ty == Ty::Never {
            return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
        }
        if a.ty == Ty::Tensor || b.ty == Ty::Tensor {
            return self.on_tensors(op, a, b, span);
        }
        match op {
            BinaryOp::And | BinaryOp::Or => {
                let (a, b) = (self.coerce(a, &Ty::Bool), self.coerce(b, &Ty::Bool));
                Expr::new(Kind::Binary(op, Box::new(a), Box::new(b)), Ty::Bool, span)
            }
            BinaryOp::In => self.is_in(a, b, span),
            BinaryOp::Eq | BinaryOp::Ne => self.equal(op, a, b, span),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => self.ordered(op, a, b, span),
            _ => self.arithmetic(op, a, b, span),
        }
    }

    fn on_tensors(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if op == BinaryOp::In {
            let tensor = if b.ty == Ty::Tensor { b.span } else { a.span };
            let diagnostic =
                Diagnostic::new("E0402", tensor, "the elements of a `Tensor` are not known at export time")
                    .label("known only in the graph");
            return self.poison(diagnostic);
        }
        // What is not equal is the opposite of what is.
        let sign = if op == BinaryOp::Ne { BinaryOp::Eq.sign() } else { op.sign() };
        let Some(name) = self.context.schemas.operators.of_sign(sign) else {
            let text = format!("operators.toml has no operator with `sign = \"{sign}\"`");
            return self.poison(Diagnostic::new("E0407", span, text));
        };
        let node = self.operator_node(name, vec![a, b], span);
        match op {
            BinaryOp::Ne => self.operator_node("Not", vec![node], span),
            _ => node,
        }
    }

    /// The node for a sign, checked as a call of the operator.
    fn operator_node(&mut self, name: &str, inputs: Vec<Expr>, span: Span) -> Expr {
        let given = inputs.into_iter().map(|expr| Given { expr, spread: false }).collect();
        self.plain_node(name, given, span)
    }

    fn is_in(&mut self, a: Expr, b: Expr, span: Span) -> Expr {
        let Ty::List(of) = b.ty.clone() else {
            let diagnostic =
                Diagnostic::new("E0410", b.span, format!("`in` needs a list, not {}", with_article(&b.ty)));
            return self.poison(diagnostic);
        };
        if let Some(refused) = self.not_comparable(&of, &b, b.span) {
            return self.poison(refused);
        }
        let a = self.coerce(a, &of);
        Expr::new(Kind::Binary(BinaryOp::In, Box::new(a), Box::new(b)), Ty::Bool, span)
    }

    fn equal(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        let none = |e: &Expr| matches!(e.kind, Kind::None);
        if none(&a) || none(&b) {
            let other = if none(&a) { &b } else { &a };
            if !matches!(other.ty, Ty::Optional(_)) {
                let diagnostic =
                    Diagnostic::new("E0401", other.span, format!("{} is never None", with_article(&other.ty)));
                return self.poison(diagnostic);
            }
            return Expr::new(Kind::Binary(op, Box::new(a), Box::new(b)), Ty::Bool, span);
        }
        let Some(ty) = join(&a.ty, &b.ty) else {
            let diagnostic =
                Diagnostic::new("E0407", span, format!("{} cannot equal {}", with_article(&a.ty), with_article(&b.ty)));
            return self.poison(diagnostic);
        };
        self.compared(op, a, b, &ty, span)
    }

    /// A comparison of both sides, converted to their common type.
    fn compared(&mut self, op: BinaryOp, a: Expr, b: Expr, ty: &Ty, span: Span) -> Expr {
        let symbolic = if convertible(&b.ty, &Ty::Int) { &a } else { &b };
        if let Some(refused) = self.not_comparable(ty, symbolic, span) {
            return self.poison(refused);
        }
        let (a, b) = (self.coerce(a, ty), self.coerce(b, ty));
        Expr::new(Kind::Binary(op, Box::new(a), Box::new(b)), Ty::Bool, span)
    }

    /// The error for values of a type that cannot be compared. The advice is about `symbolic`.
    fn not_comparable(&self, ty: &Ty, symbolic: &Expr, span: Span) -> Option<Diagnostic> {
        match ty {
            Ty::SymInt => {
                let text = self.text(symbolic.span);
                let value = short_or(&text, "n");
                let help = match symbolic.ty {
                    Ty::List(_) => format!("`known_ints({value})` gives an `int[]?`, which can be compared"),
                    _ => {
                        format!(
                            "`known({value})` gives an `int?`, which is None (and equal to no number) if the size is not known"
                        )
                    }
                };
                Some(
                    Diagnostic::new("E0403", span, "a `SymInt` cannot be compared at export time")
                        .label("it may be known only in the graph")
                        .help(help),
                )
            }
            Ty::Optional(t) | Ty::List(t) => self.not_comparable(t, symbolic, span),
            Ty::Tensor | Ty::Graph | Ty::Tuple(_) | Ty::Opaque(_) => {
                Some(Diagnostic::new("E0407", span, format!("{} cannot be compared", with_article(ty))))
            }
            _ => None,
        }
    }

    fn ordered(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        for side in [&a, &b] {
            if let Ty::Optional(_) = side.ty {
                let diagnostic =
                    Diagnostic::new("E0404", side.span, format!("{} cannot be ordered", with_article(&side.ty)))
                        .label("it may be None")
                        .help(UNWRAP);
                return self.poison(diagnostic);
            }
        }
        let ty = join(&a.ty, &b.ty).filter(|t| matches!(t, Ty::Int | Ty::Float | Ty::Scalar | Ty::SymInt));
        let Some(ty) = ty else {
            let diagnostic = Diagnostic::new(
                "E0407",
                span,
                format!("{} and {} cannot be ordered", with_article(&a.ty), with_article(&b.ty)),
            );
            return self.poison(diagnostic);
        };
        self.compared(op, a, b, &ty, span)
    }

    fn arithmetic(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if let (Ty::List(_), Ty::List(_), BinaryOp::Add) = (&a.ty, &b.ty, op) {
            let Some((a, b, ty)) = self.unify(a, b) else {
                return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
            };
            return Expr::new(Kind::List(vec![Item::Spread(a), Item::Spread(b)]), ty, span);
        }
        for side in [&a, &b] {
            if let Ty::Optional(inner) = &side.ty
                && inner.is_number()
            {
                let diagnostic =
                    Diagnostic::new("E0404", side.span, format!("arithmetic on {}", with_article(&side.ty)))
                        .label("it may be None")
                        .help(UNWRAP);
                return self.poison(diagnostic);
            }
        }
        let ty = join(&a.ty, &b.ty).filter(|t| matches!(t, Ty::Int | Ty::Float | Ty::Scalar | Ty::SymInt));
        let Some(mut ty) = ty else {
            let diagnostic = Diagnostic::new(
                "E0407",
                span,
                format!("no arithmetic between {} and {}", with_article(&a.ty), with_article(&b.ty)),
            );
            return self.poison(diagnostic);
        };
        if op == BinaryOp::Pow && ty == Ty::SymInt {
            ty = Ty::Scalar;
        }
        let (a, b) = (self.coerce(a, &ty), self.coerce(b, &ty));
        Expr::new(Kind::Binary(op, Box::new(a), Box::new(b)), ty, span)
    }
}
