//! Headers of `lower` and `raise` items against ONNX's schemas.

use super::wording::{opsets, quoted};
use super::{BodyPlace, Context, Signature, did_you_mean};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{self, AVOIDED, Ident, LowerOutputs};
use crate::tree::Param;
use crate::types::Ty;
use aten2onnx_schemas::onnx::{AttrKind, PortOption, Version};

/// The suffix of an attribute's kind, and its type in opmap.
pub(crate) fn attr_type(kind: AttrKind) -> Option<(char, Ty)> {
    Some(match kind {
        AttrKind::Float => ('f', Ty::Float),
        AttrKind::Floats => ('f', Ty::list(Ty::Float)),
        AttrKind::Int => ('i', Ty::Int),
        AttrKind::Ints => ('i', Ty::list(Ty::Int)),
        AttrKind::String => ('s', Ty::Str),
        AttrKind::Strings => ('s', Ty::list(Ty::Str)),
        AttrKind::Tensor => ('t', Ty::Tensor),
        AttrKind::Graph => ('g', Ty::Graph),
        AttrKind::SparseTensor | AttrKind::TypeProto | AttrKind::Tensors | AttrKind::Graphs => return None,
    })
}

/// The signature of a `lower` or `raise`, and the version that its header has.
pub(super) fn lower_signature<'a>(
    context: &'a Context<'_>,
    lower: &ast::Lower,
    place: BodyPlace,
    out: &mut Vec<Diagnostic>,
) -> Option<(Signature, &'a Version)> {
    let version = header_version(context, lower, place, out)?;
    let wanted = lower_params(version);
    let names: Vec<&str> = wanted.iter().map(|w| w.0.as_str()).collect();
    let fact = format!("{}-{}: ({})", version.name, version.since, names.join(", "));
    check_params(lower, &wanted, version.inputs.len(), &fact, out)?;
    let mut params: Vec<Param> = Vec::new();
    for ident in &lower.params {
        let ty = wanted.iter().find(|w| w.0 == ident.text).map(|w| w.1.clone())?;
        params.push(Param { name: ident.text.clone(), ty, size: None, default: None, span: ident.span });
    }
    if lower.rest.is_some() {
        let unlisted = wanted.into_iter().filter(|w| !lower.params.iter().any(|p| p.text == w.0));
        let span = lower.header_span;
        params.extend(unlisted.map(|(name, ty)| Param { name, ty, size: None, default: None, span }));
    }
    let returns = lower_returns(lower, version, place, out)?;
    Some((Signature { params, returns, span: lower.header_span }, version))
}

/// The version that the header must have: for a `lower` the one of its opset, for a `raise` the one before.
fn header_version<'a>(
    context: &'a Context<'_>,
    lower: &ast::Lower,
    place: BodyPlace,
    out: &mut Vec<Diagnostic>,
) -> Option<&'a Version> {
    let op = lower.op.full();
    let onnx = &context.schemas.onnx;
    let Some(versions) = onnx.ops.get(&op) else {
        let diagnostic =
            Diagnostic::new("E0102", lower.op.span, format!("ONNX has no operator `{op}`")).label("unknown");
        out.push(did_you_mean(diagnostic, onnx.nearest(&op)));
        return None;
    };
    if lower.before == AVOIDED {
        return versions.last();
    }
    let at = versions.iter().position(|v| v.since == lower.before);
    let label = if at.is_none() { "no version of this opset" } else { "no version before it" };
    let back = usize::from(place == BodyPlace::Raise);
    let version = at.and_then(|at| versions.get(at.checked_sub(back)?));
    if version.is_none() {
        let text = format!("`{op}` did not change at opset {}", lower.before);
        let fact = format!("`{op}` was added or changed at {}", opsets(versions.iter().map(|v| v.since)));
        out.push(Diagnostic::new("E0203", lower.before_span, text).label(label).note(fact));
    }
    version
}

/// The names in the header of a `lower` or `raise`: `data, axes, keepdims_i`.
pub fn lower_header(version: &Version) -> String {
    lower_params(version).iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

pub(crate) fn lower_params(version: &Version) -> Vec<(String, Ty)> {
    let mut wanted: Vec<(String, Ty)> = version
        .inputs
        .iter()
        .map(|port| {
            let ty = match port.option {
                PortOption::Single => Ty::Tensor,
                PortOption::Optional => Ty::optional(Ty::Tensor),
                PortOption::Variadic(_) => Ty::list(Ty::Tensor),
            };
            (port.name.clone(), ty)
        })
        .collect();
    for attribute in &version.attributes {
        let Some((suffix, ty)) = attr_type(attribute.kind) else { continue };
        let ty = if attribute.required || attribute.default.is_some() { ty } else { Ty::optional(ty) };
        wanted.push((format!("{}_{suffix}", attribute.name), ty));
    }
    wanted
}

/// Inputs in order, then all attributes in any order.
fn check_params(
    lower: &ast::Lower,
    wanted: &[(String, Ty)],
    inputs: usize,
    fact: &str,
    out: &mut Vec<Diagnostic>,
) -> Option<()> {
    let unknown: Vec<&Ident> = lower.params.iter().filter(|p| !wanted.iter().any(|w| w.0 == p.text)).collect();
    if let Some(param) = unknown.first() {
        let diagnostic = Diagnostic::new(
            "E0202",
            param.span,
            format!("`{}` has no input or attribute `{}`", lower.op.full(), param.text),
        )
        .label("not in the schema")
        .note(fact);
        let candidate = aten2onnx_schemas::nearest::nearest(&param.text, wanted.iter().map(|w| w.0.as_str()));
        out.push(did_you_mean(diagnostic, candidate));
        return None;
    }
    let mut unlisted = wanted.iter().skip(inputs).filter(|w| !lower.params.iter().any(|p| p.text == w.0));
    if let Some(rest) = lower.rest.as_ref().filter(|_| unlisted.next().is_none()) {
        let text = format!("`..{}` stands for nothing", rest.text);
        let label = "all attributes are listed";
        out.push(Diagnostic::new("E0202", rest.span, text).label(label).note(fact));
        return None;
    }
    let required = if lower.rest.is_some() { &wanted[..inputs] } else { wanted };
    if let Some(missing) = required.iter().find(|w| !lower.params.iter().any(|p| p.text == w.0)) {
        out.push(
            Diagnostic::new("E0202", lower.header_span, format!("the header lacks `{}`", missing.0))
                .label("must name all inputs, then all attributes")
                .note(fact),
        );
        return None;
    }
    let ordered = wanted[..inputs].iter().zip(&lower.params).find(|(w, p)| w.0 != p.text);
    if let Some((want, have)) = ordered {
        let text = format!("the input here is `{}`, not `{}`", want.0, have.text);
        out.push(Diagnostic::new("E0202", have.span, text).label(format!("write `{}`", want.0)).note(fact));
        return None;
    }
    Some(())
}

fn lower_returns(lower: &ast::Lower, version: &Version, place: BodyPlace, out: &mut Vec<Diagnostic>) -> Option<Ty> {
    let names: Vec<&str> = version.outputs.iter().map(|o| o.name.as_str()).collect();
    let variadic = version.outputs.iter().any(|o| matches!(o.option, PortOption::Variadic(_)));
    let fact = format!("outputs of {}-{}: {}", version.name, version.since, quoted(names.iter().copied()));
    let wrong = |span: Span, problem: String| Diagnostic::new("E0202", span, problem).note(fact.clone());
    match &lower.outputs {
        LowerOutputs::Single if variadic => {
            let all = names.join(", ");
            let text = format!("the outputs of `{}` are variadic", version.name);
            out.push(wrong(lower.header_span, text).label(format!("write `-> [{all}]` after it")));
            None
        }
        LowerOutputs::Single => Some(Ty::Tensor),
        LowerOutputs::List(given) if variadic || place != BodyPlace::Raise => {
            let name = given.first()?;
            if !variadic || given.len() > 1 || names.first() != Some(&name.text.as_str()) {
                let diagnostic = wrong(name.span, format!("`{}` is not a variadic output", name.text));
                out.push(match variadic {
                    true => diagnostic.label(format!("write `{}`", names.join(", "))),
                    false => {
                        diagnostic.help("name the outputs in parentheses, `-> (Y)`, or omit `->` if there is only one")
                    }
                });
                return None;
            }
            Some(Ty::list(Ty::Tensor))
        }
        LowerOutputs::List(given) => {
            first_outputs(given, &names, &version.name, &wrong, out)?;
            Some(Ty::list(Ty::Tensor))
        }
        LowerOutputs::Named(given) => {
            first_outputs(given, &names, &version.name, &wrong, out)?;
            Some(if given.len() == 1 { Ty::Tensor } else { Ty::Tuple(vec![Ty::Tensor; given.len()]) })
        }
    }
}

/// The outputs that a lowering with this result does not return.
pub(super) fn left_out(version: &Version, returns: &Ty) -> Vec<(String, bool)> {
    let count = match returns {
        Ty::Tuple(parts) => parts.len(),
        Ty::List(_) => return Vec::new(),
        _ => 1,
    };
    version.outputs.iter().skip(count).map(|port| (port.name.clone(), false)).collect()
}

/// Checks that these are the first outputs of the schema, which has `names`.
fn first_outputs(
    given: &[Ident],
    names: &[&str],
    op: &str,
    wrong: &dyn Fn(Span, String) -> Diagnostic,
    out: &mut Vec<Diagnostic>,
) -> Option<()> {
    for (i, name) in given.iter().enumerate() {
        let Some(want) = names.get(i) else {
            out.push(wrong(name.span, format!("`{op}` has no output `{}`", name.text)));
            return None;
        };
        if *want != name.text {
            let text = format!("the output here is `{want}`, not `{}`", name.text);
            out.push(wrong(name.span, text).label(format!("write `{want}`")));
            return None;
        }
    }
    Some(())
}
