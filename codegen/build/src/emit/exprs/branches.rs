//! `if`, `if let` and `match`. Each branch reports to the builder that it is taken.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::quote;

use super::super::ident;
use super::super::types::{is_copy, peeled, rust_name};
use super::Body;
use aten2onnx_opmap::tree::{Expr, Kind, MatchArm, Pattern};
use aten2onnx_opmap::types::Ty;

impl Body<'_> {
    pub(super) fn if_else(&mut self, arm: u32, condition: &Expr, then: &Expr, other: &Expr) -> TokenStream {
        let condition = self.hoisted(condition, "condition");
        let condition = self.reported(arm, condition);
        let then = self.scoped(|b| b.owned(then));
        if matches!(&other.kind, Kind::Tuple(parts) if parts.is_empty()) {
            return quote!(if #condition #then);
        }
        let other = self.scoped(|b| b.owned(other));
        quote!(if #condition #then else #other)
    }

    /// A condition that reports whether the branch is taken. An exporter for one opset is not traced.
    fn reported(&self, arm: u32, condition: TokenStream) -> TokenStream {
        if self.context.only.is_some() {
            return condition;
        }
        let arm = self.context.arm(arm);
        quote!(cx.branch(#arm, #condition))
    }

    /// The statement that reports that a branch is taken.
    pub(super) fn taken(&self, arm: u32) -> TokenStream {
        if self.context.only.is_some() {
            return TokenStream::new();
        }
        let arm = self.context.arm(arm);
        quote!(cx.arm(#arm);)
    }

    fn report(&mut self, arm: u32) {
        let taken = self.taken(arm);
        if !taken.is_empty() {
            self.statements.push(taken);
        }
    }

    pub(super) fn if_let(
        &mut self,
        arms: [u32; 2],
        name: &str,
        value: &Expr,
        then: &Expr,
        other: &Expr,
    ) -> TokenStream {
        let copy = is_copy(&value.ty);
        let value = if copy { self.hoisted(value, "value") } else { self.reference(value, "value") };
        let [there, absent] = arms;
        let then = self.scoped(|b| {
            b.bind(name, !copy);
            b.report(there);
            b.owned(then)
        });
        let name = ident(&rust_name(name));
        let other = self.scoped(|b| {
            b.report(absent);
            b.owned(other)
        });
        quote!(if let Some(#name) = #value #then else #other)
    }

    pub(super) fn match_on(&mut self, value: &Expr, arms: &[MatchArm]) -> TokenStream {
        let scrutinee = self.scrutinee(value);
        let mut written = Vec::new();
        for arm in arms {
            for pattern in &arm.patterns {
                let outer = self.borrowed.len();
                self.borrowed.push(HashMap::new());
                let mut guards = Vec::new();
                let pattern = self.pattern(pattern, &value.ty, &mut guards);
                let body = self.scoped(|b| {
                    b.report(arm.arm);
                    b.owned(&arm.value)
                });
                self.borrowed.truncate(outer);
                let guard = if guards.is_empty() { quote!() } else { quote!(if #(#guards)&&*) };
                written.push(quote!(#pattern #guard => #body));
            }
        }
        quote!(match #scrutinee { #(#written)* })
    }

    /// The value in the form that patterns match: copied or borrowed.
    fn scrutinee(&mut self, value: &Expr) -> TokenStream {
        if let Kind::Tuple(parts) = &value.kind {
            let parts: Vec<_> = parts.iter().map(|p| self.scrutinee(p)).collect();
            return quote!((#(#parts),*));
        }
        match &value.ty {
            Ty::Str => self.text(value),
            Ty::Optional(t) if **t == Ty::Str => self.text(value),
            ty if is_copy(ty) => self.hoisted(value, "value"),
            Ty::Optional(_) => {
                let value = self.reference(value, "value");
                quote!((#value).as_ref())
            }
            _ => self.reference(value, "value"),
        }
    }

    fn pattern(&mut self, pattern: &Pattern, ty: &Ty, guards: &mut Vec<TokenStream>) -> TokenStream {
        let (inner, optional) = match ty {
            Ty::Optional(inner) => (&**inner, true),
            ty => (ty, false),
        };
        let some = |p: TokenStream| if optional { quote!(Some(#p)) } else { p };
        match pattern {
            Pattern::Wild => quote!(_),
            Pattern::None => quote!(None),
            Pattern::Bind { name, unwrap } => {
                self.bind(name, !is_copy(ty));
                let name = ident(&rust_name(name));
                if *unwrap { quote!(Some(#name)) } else { quote!(#name) }
            }
            Pattern::Literal(literal) => match inner {
                Ty::Str => {
                    let Kind::Str(text) = &peeled(literal).kind else { return quote!(_) };
                    some(quote!(#text))
                }
                Ty::Int | Ty::Bool | Ty::ScalarType => {
                    let literal = self.owned(literal);
                    some(quote!(#literal))
                }
                _ => {
                    let name = self.fresh("case");
                    let literal = self.owned(literal);
                    guards.push(match is_copy(inner) {
                        true => quote!(#name == #literal),
                        false => quote!(*#name == #literal),
                    });
                    some(quote!(#name))
                }
            },
            Pattern::Tuple(parts) => {
                let Ty::Tuple(tys) = ty else { return quote!(_) };
                let parts: Vec<_> = parts.iter().zip(tys).map(|(p, t)| self.pattern(p, t, guards)).collect();
                quote!((#(#parts),*))
            }
        }
    }
}
