//! Operators on export-time values: arithmetic, comparisons, logic.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::ident;
use super::super::types::{is_copy, peeled};
use super::Body;
use aten2onnx_opmap::syntax::ast::{BinaryOp, UnaryOp};
use aten2onnx_opmap::tree::{Expr, Kind};
use aten2onnx_opmap::types::Ty;

impl Body<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, inner: &Expr, ty: &Ty) -> TokenStream {
        match (op, ty) {
            (UnaryOp::Neg, Ty::Int) => {
                let value = self.hoisted(inner, "value");
                quote!(0i64.saturating_sub(#value))
            }
            (UnaryOp::Neg, Ty::SymInt) => {
                let value = self.reference(inner, "value");
                quote!((-(#value)))
            }
            (UnaryOp::Neg, Ty::Scalar) => {
                let value = self.reference(inner, "value");
                quote!(cx.scalar_neg(#value)?)
            }
            (UnaryOp::Neg, _) => {
                let value = self.hoisted(inner, "value");
                quote!((-(#value)))
            }
            (UnaryOp::Not, _) => {
                let value = self.inline(|b| b.owned(inner));
                quote!((!(#value)))
            }
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, ty: &Ty) -> TokenStream {
        match op {
            BinaryOp::And | BinaryOp::Or => {
                let left = self.inline(|x| x.owned(a));
                let right = self.inline(|x| x.owned(b));
                match op {
                    BinaryOp::And => quote!((#left && #right)),
                    _ => quote!((#left || #right)),
                }
            }
            BinaryOp::In => {
                let (item, list) = (self.reference(a, "item"), self.reference(b, "list"));
                if a.ty == Ty::Str {
                    // A text is a `&str` or a `String`.
                    return quote!((#list).iter().any(|own| own == #item));
                }
                quote!((#list).contains(#item))
            }
            BinaryOp::Eq | BinaryOp::Ne => self.equal(op, a, b),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let (left, right) = (self.ordered(a), self.ordered(b));
                match op {
                    BinaryOp::Lt => quote!((#left < #right)),
                    BinaryOp::Le => quote!((#left <= #right)),
                    BinaryOp::Gt => quote!((#left > #right)),
                    _ => quote!((#left >= #right)),
                }
            }
            _ => self.arithmetic(op, a, b, ty),
        }
    }

    fn ordered(&mut self, side: &Expr) -> TokenStream {
        if side.ty == Ty::Scalar {
            let value = self.reference(side, "number");
            return quote!(support::known_float(#value)?);
        }
        self.hoisted(side, "number")
    }

    fn equal(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> TokenStream {
        let none = |e: &Expr| matches!(e.kind, Kind::None);
        let equal = if none(a) || none(b) {
            let value = self.reference(if none(a) { b } else { a }, "value");
            quote!((#value).is_none())
        } else if is_copy(&a.ty) && is_copy(&b.ty) {
            let (left, right) = (self.hoisted(a, "left"), self.hoisted(b, "right"));
            quote!((#left == #right))
        } else if a.ty == Ty::Str || a.ty == Ty::optional(Ty::Str) {
            let (left, right) = (self.text(a), self.text(b));
            quote!((#left == #right))
        } else {
            let (left, right) = (self.reference(a, "left"), self.reference(b, "right"));
            quote!((*(#left) == *(#right)))
        };
        if op == BinaryOp::Ne { quote!((!#equal)) } else { equal }
    }

    /// A string (or an optional one) as `&str` (or `Option<&str>`).
    pub fn text(&mut self, expr: &Expr) -> TokenStream {
        let literal = peeled(expr);
        match (&literal.kind, &expr.ty) {
            (Kind::Str(s), Ty::Optional(_)) => quote!(Some(#s)),
            (Kind::Str(s), _) => quote!(#s),
            (_, Ty::Optional(_)) => {
                let value = self.reference(expr, "text");
                quote!((#value).as_deref())
            }
            _ => {
                let value = self.reference(expr, "text");
                quote!(AsRef::<str>::as_ref(#value))
            }
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, a: &Expr, b: &Expr, ty: &Ty) -> TokenStream {
        match ty {
            Ty::Int => {
                let (a, b) = (self.hoisted(a, "left"), self.hoisted(b, "right"));
                match op {
                    BinaryOp::Add => quote!(i64::saturating_add(#a, #b)),
                    BinaryOp::Sub => quote!(i64::saturating_sub(#a, #b)),
                    BinaryOp::Mul => quote!(i64::saturating_mul(#a, #b)),
                    BinaryOp::Div => quote!(support::floor_div(#a, #b)?),
                    BinaryOp::Rem => quote!(support::modulo(#a, #b)?),
                    _ => quote!(support::power(#a, #b)?),
                }
            }
            Ty::Float => {
                let (a, b) = (self.hoisted(a, "left"), self.hoisted(b, "right"));
                match op {
                    BinaryOp::Add => quote!((#a + #b)),
                    BinaryOp::Sub => quote!((#a - #b)),
                    BinaryOp::Mul => quote!((#a * #b)),
                    BinaryOp::Div => quote!((#a / #b)),
                    BinaryOp::Rem => quote!(f64::rem_euclid(#a, #b)),
                    _ => quote!(f64::powf(#a, #b)),
                }
            }
            Ty::SymInt => {
                let (a, b) = (self.reference(a, "left"), self.reference(b, "right"));
                match op {
                    BinaryOp::Add => quote!(((#a) + (#b))),
                    BinaryOp::Sub => quote!(((#a) - (#b))),
                    BinaryOp::Mul => quote!(((#a) * (#b))),
                    BinaryOp::Div => quote!(SymInt::floor_div(#a, #b)),
                    _ => quote!(SymInt::modulo(#a, #b)),
                }
            }
            _ => {
                let (a, b) = (self.reference(a, "left"), self.reference(b, "right"));
                let op = ident(match op {
                    BinaryOp::Add => "Add",
                    BinaryOp::Sub => "Sub",
                    BinaryOp::Mul => "Mul",
                    BinaryOp::Div => "Div",
                    BinaryOp::Rem => "Mod",
                    _ => "Pow",
                });
                quote!(cx.scalar_op(ScalarOp::#op, #a, #b)?)
            }
        }
    }
}
