//! Attributes of a call of an ONNX operator.

use super::super::lower_header::attr_type;
use super::super::wording::{UNWRAP, attribute_fact, kind_name, opsets, quoted, with_article};
use super::super::{Checker, did_you_mean};
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::Span;
use crate::syntax::ast::{self, Argument, Ident};
use crate::tree::{AttrForm, Expr};
use crate::types::Ty;
use aten2onnx_schemas::nearest::nearest;
use aten2onnx_schemas::onnx::{AttrKind, Attribute, Version};

impl Checker<'_> {
    pub(in crate::check) fn attribute(
        &mut self,
        op: &str,
        version: &Version,
        name: &Ident,
        value: &ast::Expr,
    ) -> Option<(String, AttrForm, Expr)> {
        let (stem, suffix) = stem(&name.text);
        let by_name = |n: &str| version.attributes.iter().find(|a| a.name == n);
        let Some(attribute) = by_name(stem).or_else(|| by_name(&name.text)) else {
            return self.unknown_attribute(op, version, name, value);
        };
        let Some((wanted, ty)) = attr_type(attribute.kind) else {
            let text = format!("the attribute `{}` of `{op}` has a type that opmap does not support", attribute.name);
            self.out.push(Diagnostic::new("E0303", name.span, text).note(attribute_fact(op, version, attribute)));
            return None;
        };
        if suffix != Some(wanted) || attribute.name != stem {
            let text = format!("attribute `{}` of `{op}` is {}", attribute.name, kind_name(attribute.kind));
            self.out.push(
                Diagnostic::new("E0301", name.span, text)
                    .label(format!("write `{}_{wanted}`", attribute.name))
                    .note(attribute_fact(op, version, attribute)),
            );
        }
        let value = self.attribute_value(op, version, attribute, value, &ty)?;
        self.check_domain(op, attribute, &value);
        Some((attribute.name.clone(), form(attribute.kind)?, value))
    }

    fn unknown_attribute(
        &mut self,
        op: &str,
        version: &Version,
        name: &Ident,
        value: &ast::Expr,
    ) -> Option<(String, AttrForm, Expr)> {
        self.unchecked(value);
        let (stem, _) = stem(&name.text);
        let suffixed = |a: &Attribute| attr_type(a.kind).map_or(a.name.clone(), |(s, _)| format!("{}_{s}", a.name));
        let all: Vec<String> = version.attributes.iter().map(suffixed).collect();
        let mut diagnostic =
            Diagnostic::new("E0302", name.span, format!("`{op}` has no attribute `{stem}`")).label("unknown attribute");
        if let Some(input) = version.inputs.iter().find(|i| i.name == stem) {
            let inputs = version.inputs.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join(", ");
            self.out.push(
                diagnostic
                    .note(format!("`{}` is an input of {op}-{}", input.name, version.since))
                    .help(format!("pass it as an input: `{op}({inputs})`")),
            );
            return None;
        }
        let others = self.context.schemas.onnx.versions(op).iter().filter(|v| v.attribute(stem).is_some());
        let others: Vec<u32> = others.map(|v| v.since).collect();
        if !others.is_empty() {
            diagnostic =
                diagnostic.note(format!("`{op}` has it in the versions from {} only", opsets(others.into_iter())));
        }
        diagnostic = diagnostic.note(match all.is_empty() {
            true => format!("{op}-{} has no attributes", version.since),
            false => format!("{op}-{} has {}", version.since, quoted(all.iter().map(String::as_str))),
        });
        let candidate = nearest(&name.text, all.iter().map(String::as_str)).or_else(|| only(&all).map(String::as_str));
        self.out.push(did_you_mean(diagnostic, candidate));
        None
    }

    /// Checks a value without an expected type, so that its names count as used and its errors are reported.
    pub(in crate::check) fn unchecked(&mut self, value: &ast::Expr) {
        self.expr(value, None);
    }

    fn attribute_value(
        &mut self,
        op: &str,
        version: &Version,
        attribute: &Attribute,
        value: &ast::Expr,
        ty: &Ty,
    ) -> Option<Expr> {
        let checked = self.expr(value, Some(ty));
        let (inner, optional) = match &checked.ty {
            Ty::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        if optional && attribute.required {
            let text = format!("the attribute `{}` of `{op}` is required, but this may be None", attribute.name);
            let fact = attribute_fact(op, version, attribute);
            let diagnostic =
                Diagnostic::new("E0404", checked.span, text).label(with_article(&checked.ty)).note(fact).help(UNWRAP);
            self.out.push(diagnostic);
            return None;
        }
        if inner == Ty::Never {
            return None;
        }
        if fits_attribute(&inner, ty) {
            return Some(checked);
        }
        let text = format!(
            "the attribute `{}` of `{op}` takes {}, not `{}`",
            attribute.name,
            kind_name(attribute.kind),
            checked.ty
        );
        let mut diagnostic = Diagnostic::new("E0303", checked.span, text).note(attribute_fact(op, version, attribute));
        if matches!(inner, Ty::SymInt) || inner == Ty::list(Ty::SymInt) {
            diagnostic = diagnostic.help(
                "attributes must be known at export time: use `known(n) ?? fail \"..\"` or `known_ints(ns) ?? fail \"..\"`",
            );
        }
        self.out.push(diagnostic);
        None
    }
}

/// Reports required attributes that are missing.
pub(in crate::check) fn required_attributes(
    op: &str,
    version: &Version,
    span: Span,
    args: &[Argument],
    attrs: &[(String, AttrForm, Expr)],
    out: &mut Vec<Diagnostic>,
) {
    for attribute in version.attributes.iter().filter(|a| a.required) {
        let named = |a: &Argument| matches!(a, Argument::Named(n, _) if stem(&n.text).0 == attribute.name);
        if attrs.iter().any(|a| a.0 == attribute.name) || args.iter().any(named) {
            continue;
        }
        let text = format!("`{op}` needs the attribute `{}`", attribute.name);
        let mut diagnostic = Diagnostic::new("E0304", span, text).note(attribute_fact(op, version, attribute));
        if let Some((suffix, _)) = attr_type(attribute.kind) {
            let name = format!("{}_{suffix}", attribute.name);
            let value = first_value(attribute.kind);
            diagnostic = diagnostic.help(format!("add `{name} = ..`")).fix(
                format!("add `{name}`"),
                FixPlace::Argument(span),
                format!("{name} = {value}"),
            );
        }
        out.push(diagnostic);
    }
}

/// What an attribute that is added begins with.
fn first_value(kind: AttrKind) -> &'static str {
    match kind {
        AttrKind::Float => "0.0",
        AttrKind::Int => "0",
        AttrKind::String => "\"\"",
        AttrKind::Floats | AttrKind::Ints | AttrKind::Strings => "[]",
        _ => "None",
    }
}

/// The element, if there is only one.
fn only<T>(all: &[T]) -> Option<&T> {
    if let [one] = all { Some(one) } else { None }
}

pub(in crate::check) fn fits_attribute(ty: &Ty, wanted: &Ty) -> bool {
    match (ty, wanted) {
        (Ty::Float | Ty::Int | Ty::Scalar, Ty::Float) => true,
        (Ty::Int | Ty::Bool | Ty::ScalarType, Ty::Int) => true,
        (Ty::Str, Ty::Str) | (Ty::Tensor, Ty::Tensor) | (Ty::Graph, Ty::Graph) => true,
        (Ty::List(_), Ty::List(of)) if *ty == Ty::list(Ty::Never) => of.is_number() || **of == Ty::Str,
        (Ty::List(a), Ty::List(b)) => match **b {
            Ty::Float => matches!(**a, Ty::Float | Ty::Int),
            Ty::Int => matches!(**a, Ty::Int),
            _ => a == b,
        },
        _ => false,
    }
}

pub(in crate::check) fn form(kind: AttrKind) -> Option<AttrForm> {
    Some(match kind {
        AttrKind::Float => AttrForm::Float,
        AttrKind::Int => AttrForm::Int,
        AttrKind::String => AttrForm::Str,
        AttrKind::Floats => AttrForm::Floats,
        AttrKind::Ints => AttrForm::Ints,
        AttrKind::Strings => AttrForm::Strs,
        AttrKind::Tensor => AttrForm::Tensor,
        AttrKind::Graph => AttrForm::Graph,
        _ => return None,
    })
}

/// `alpha_f` is `alpha` with the suffix `f`.
pub(in crate::check) fn stem(name: &str) -> (&str, Option<char>) {
    match name.rsplit_once('_') {
        Some((stem, suffix)) if matches!(suffix, "f" | "i" | "s" | "t" | "g") => (stem, suffix.chars().next()),
        _ => (name, None),
    }
}
