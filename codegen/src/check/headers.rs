//! Headers against the schemas, and the declarations that rules may refer to.

use std::collections::HashMap;

use super::types::read;
use super::words::{NOT_IN_SNAPSHOT, opsets, quoted};
use super::{Signature, World, did_you_mean};
use crate::collect::Items;
use crate::diagnostic::Diagnostic;
use crate::schema::onnx::{AttrKind, Change, PortOption, Version};
use crate::schema::{DOMAINS, aten};
use crate::source::Span;
use crate::syntax::ast::{self, Ident, LowerOutputs, TypeExpr, TypeExprKind};
use crate::tree::{Expr, Item, Kind, Param, Program, Same, Unsupported};
use crate::types::Ty;

/// The namespaces whose operators the snapshot lists in full: any other is a user's own.
const NAMESPACES: &[&str] = &["aten", "complex", "prims", "quantized_decomposed", "torchvision"];

/// The overload whose schema a rule follows: `complex::exp` is `aten::exp` on complex numbers.
fn schema_name(name: &str) -> String {
    name.strip_prefix("complex::").map_or_else(|| name.to_owned(), |op| format!("aten::{op}"))
}

/// Fills the tables of maps, helpers and externs.
pub(super) fn declare(items: &Items, world: &mut World<'_>, out: &mut Vec<Diagnostic>) {
    let mut seen = HashMap::new();
    for (_, map) in &items.maps {
        let name = map.op.full();
        match signature(&map.params, returns_of(map, out), map.header_span, out) {
            Some(signature) => {
                against_schema(world, map, &name, out);
                world.maps.entry(name).or_insert(signature);
            }
            None => drop(world.broken.insert(name)),
        }
    }
    for (_, f) in &items.fns {
        if !first(&mut seen, &f.name.text, f.name.span, out) {
            // Which of the two a call means, nobody knows.
            world.broken.insert(f.name.text.clone());
            continue;
        }
        match signature(&f.params, read(&f.returns, out).map(|r| r.0), f.name.span, out) {
            Some(signature) => drop(world.fns.insert(f.name.text.clone(), signature)),
            None => drop(world.broken.insert(f.name.text.clone())),
        }
    }
    for (_, f) in &items.externs {
        if !first(&mut seen, &f.name.text, f.name.span, out) {
            // Which of the two a call means, nobody knows.
            world.broken.insert(f.name.text.clone());
            continue;
        }
        match signature(&f.params, read(&f.returns, out).map(|r| r.0), f.name.span, out) {
            Some(signature) => drop(world.externs.insert(f.name.text.clone(), signature)),
            None => drop(world.broken.insert(f.name.text.clone())),
        }
    }
}

/// Fills the table of domains.
pub(super) fn domains(items: &Items, world: &mut World<'_>, out: &mut Vec<Diagnostic>) {
    for item in &items.domains {
        let (name, span) = (&item.domain.text, item.domain.span);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        if DOMAINS.contains(&name.as_str()) || matches!(name.as_str(), "" | "ai.onnx") || !name.chars().all(is_name) {
            let text = match DOMAINS.contains(&name.as_str()) {
                true => format!("`{name}` is known: there is nothing to import"),
                false => format!("`{name}` is not the name of a domain of one's own"),
            };
            out.push(Diagnostic::new("E0105", span, text));
            continue;
        }
        match world.domains.get(name) {
            Some((version, first)) if *version != item.version => {
                let text = format!("`{name}` is imported in two versions: a model can have but one");
                let label = format!("version {}", item.version);
                let diagnostic = Diagnostic::new("E0105", span, text).label(label);
                out.push(diagnostic.also(*first, format!("version {version}")));
            }
            _ => drop(world.domains.insert(name.clone(), (item.version, span))),
        }
    }
}

/// Is it the first of its name? If not, says so.
pub(super) fn first(seen: &mut HashMap<String, Span>, name: &str, span: Span, out: &mut Vec<Diagnostic>) -> bool {
    match seen.get(name) {
        None => {
            seen.insert(name.to_owned(), span);
            true
        }
        Some(other) => {
            out.push(
                Diagnostic::new("E0105", span, format!("`{name}` is defined twice"))
                    .label("again")
                    .also(*other, "first here"),
            );
            false
        }
    }
}

fn returns_of(map: &ast::Map, out: &mut Vec<Diagnostic>) -> Option<Ty> {
    let mut tys: Vec<Ty> = Vec::new();
    for r in &map.returns {
        tys.push(read(&r.ty, out)?.0);
    }
    Some(match tys.len() {
        1 => tys.remove(0),
        _ => Ty::Tuple(tys),
    })
}

fn signature(params: &[ast::Param], returns: Option<Ty>, span: Span, out: &mut Vec<Diagnostic>) -> Option<Signature> {
    let mut checked = Vec::new();
    for param in params {
        let (ty, size) = read(&param.ty, out)?;
        let default = match &param.default {
            None => None,
            Some(text) => match default_value(&text.text, &ty, text.span) {
                Some(value) => Some(value),
                None => {
                    out.push(
                        Diagnostic::new("E0401", text.span, format!("`{}` is not a `{ty}`", text.text))
                            .label("as a default"),
                    );
                    None
                }
            },
        };
        checked.push(Param { name: param.name.text.clone(), ty, size, default, span: param.name.span });
    }
    Some(Signature { params: checked, returns: returns?, span })
}

/// A default as PyTorch writes it, as a value of the type.
fn default_value(text: &str, ty: &Ty, span: Span) -> Option<Expr> {
    let make = |kind| Some(Expr::new(kind, ty.clone(), span));
    if let Ty::Opaque(_) = ty {
        return make(Kind::None);
    }
    if let Ty::Optional(inner) = ty {
        if text == "None" || matches!(**inner, Ty::Opaque(_)) {
            return make(Kind::None);
        }
        let value = default_value(text, inner, span)?;
        return make(Kind::Convert(Box::new(value)));
    }
    let literal = |kind, of| Expr::new(kind, of, span);
    match ty {
        Ty::Int => make(Kind::Int(int_default(text)?)),
        Ty::SymInt => make(Kind::Convert(Box::new(literal(Kind::Int(int_default(text)?), Ty::Int)))),
        Ty::Float => make(Kind::Float(text.parse().ok()?)),
        Ty::Bool => make(Kind::Bool(match text {
            "True" => true,
            "False" => false,
            _ => return None,
        })),
        Ty::Str => make(Kind::Str(text.trim_matches(['"', '\'']).to_owned())),
        Ty::Scalar => {
            let inner = match (text.parse::<i64>(), text) {
                (Ok(i), _) => literal(Kind::Int(i), Ty::Int),
                (_, "True" | "False") => literal(Kind::Bool(text == "True"), Ty::Bool),
                _ => literal(Kind::Float(text.parse().ok()?), Ty::Float),
            };
            make(Kind::Convert(Box::new(inner)))
        }
        Ty::ScalarType => make(Kind::Dtype(match text {
            "long" => "int64".to_owned(),
            "float" => "float32".to_owned(),
            other => super::types::DTYPES.contains(&other).then(|| other.to_owned())?,
        })),
        Ty::List(element) => {
            let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
            let parts: Vec<&str> = match inner {
                Some(inner) => inner.split(',').map(str::trim).filter(|p| !p.is_empty()).collect(),
                None => vec![text],
            };
            let items =
                parts.iter().map(|p| default_value(p, element, span).map(Item::One)).collect::<Option<Vec<_>>>()?;
            make(Kind::List(items))
        }
        _ => None,
    }
}

/// PyTorch writes some enums' defaults by name.
fn int_default(text: &str) -> Option<i64> {
    match text {
        "Mean" => Some(1),
        "Sum" => Some(2),
        "None" => None,
        "long" => Some(4),
        "contiguous_format" => Some(0),
        _ => text.parse().ok(),
    }
}

/// Is the header of a `map` the one in the snapshot?
fn against_schema(world: &World<'_>, map: &ast::Map, name: &str, out: &mut Vec<Diagnostic>) {
    let aten = &world.schemas.aten;
    if !NAMESPACES.contains(&map.op.namespace.text.as_str()) {
        return;
    }
    let name = &schema_name(name);
    let Some(schema) = aten.get(name) else {
        out.push(no_overload(world, map.op.span, name));
        return;
    };
    let fact = format!("PyTorch: {schema}");
    for (i, want) in schema.args.iter().enumerate() {
        let Some(have) = map.params.get(i) else {
            let last = map.params.last().map_or(map.op.span, |p| p.span);
            let text = format!("the header lacks the argument `{}`", want.name);
            let label = format!(
                "write `{}{want}` after it",
                if want.keyword_only && !keyword_only(map, i) { "*, " } else { "" }
            );
            out.push(Diagnostic::new("E0201", last, text).label(label).note(fact));
            return;
        };
        if let Some(diagnostic) = differs(have, want) {
            out.push(diagnostic.note(fact));
            return;
        }
    }
    if let Some(extra) = map.params.get(schema.args.len()) {
        let text = format!("`{name}` has no argument `{}`", extra.name.text);
        out.push(Diagnostic::new("E0201", extra.span, text).label("not in the schema").note(fact));
        return;
    }
    let have: Vec<(String, Option<&str>)> =
        map.returns.iter().map(|r| (type_text(&r.ty), r.name.as_ref().map(|n| n.text.as_str()))).collect();
    let want: Vec<(String, Option<&str>)> = schema.returns.iter().map(|r| (r.ty.clone(), r.name.as_deref())).collect();
    if have != want {
        let results = want.iter().map(|(ty, name)| name.map_or(ty.clone(), |name| format!("{ty} {name}")));
        let results = results.collect::<Vec<_>>().join(", ");
        let wanted = if want.len() == 1 { results } else { format!("({results})") };
        let text = format!("the results of `{name}` differ from the schema's");
        out.push(Diagnostic::new("E0201", returns_span(map), text).label(format!("write `{wanted}`")).note(fact));
    }
}

/// Does some parameter before the one at `index` stand after `*`?
fn keyword_only(map: &ast::Map, index: usize) -> bool {
    map.params.iter().take(index).any(|p| p.keyword_only)
}

/// Where the results are written.
fn returns_span(map: &ast::Map) -> Span {
    let end = |r: &ast::Return| r.name.as_ref().map_or(r.ty.span, |n| n.span);
    match (map.returns.first(), map.returns.last()) {
        (Some(first), Some(last)) if map.rows.is_none() => first.ty.span.to(end(last)),
        _ => map.header_span,
    }
}

/// An overload that is not there, with those that are.
fn no_overload(world: &World<'_>, span: Span, name: &str) -> Diagnostic {
    const SHOWN: usize = 8;
    let aten = &world.schemas.aten;
    let mut diagnostic =
        Diagnostic::new("E0101", span, format!("there is no overload `{name}`")).label(NOT_IN_SNAPSHOT);
    let base = name.split('.').next().unwrap_or(name);
    let overloads = aten.overloads(base);
    if !overloads.is_empty() {
        let more = overloads.len().saturating_sub(SHOWN);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let some = quoted(overloads.iter().take(SHOWN).map(|s| s.name.as_str()));
        diagnostic = diagnostic.note(format!("there are {some}{more}"));
    }
    did_you_mean(diagnostic, aten.nearest(name))
}

fn differs(have: &ast::Param, want: &aten::Arg) -> Option<Diagnostic> {
    let wrong = |span: Span, text: String, label: String| Some(Diagnostic::new("E0201", span, text).label(label));
    if have.name.text != want.name {
        let text = format!("the argument here is `{}`, not `{}`", want.name, have.name.text);
        return wrong(have.name.span, text, format!("write `{}`", want.name));
    }
    let ty = type_text(&have.ty);
    if ty != want.ty {
        let text = format!("the type of `{}` is `{}`, not `{ty}`", want.name, want.ty);
        return wrong(have.ty.span, text, format!("write `{}`", want.ty));
    }
    let default = have.default.as_ref().map(|d| d.text.as_str());
    if !same_default(&want.ty, default, want.default.as_deref()) {
        let span = have.default.as_ref().map_or(have.name.span, |d| d.span);
        let should = want.default.as_ref().map_or("no default".to_owned(), |d| format!("the default `{d}`"));
        return wrong(span, format!("`{}` has {should}", want.name), format!("write `{want}`"));
    }
    match (have.keyword_only, want.keyword_only) {
        (false, true) => {
            wrong(have.span, format!("`{}` stands after `*`", want.name), "write `*, ` before it".to_owned())
        }
        (true, false) => {
            wrong(have.span, format!("`{}` stands before any `*`", want.name), "move the `*` behind it".to_owned())
        }
        _ => None,
    }
}

/// PyTorch itself writes one default in several ways (`1` and `1.0`, `Mean` and `1`): their values are compared.
fn same_default(ty: &str, a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            a == b || matches!((aten::default_value(ty, a), aten::default_value(ty, b)), (Some(x), Some(y)) if x == y)
        }
        (None, None) => true,
        _ => false,
    }
}

/// A type as native_functions.yaml writes it.
fn type_text(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeExprKind::Name(name) => name.clone(),
        TypeExprKind::Optional(inner) => format!("{}?", type_text(inner)),
        TypeExprKind::List(inner, Some(size)) => format!("{}[{size}]", type_text(inner)),
        TypeExprKind::List(inner, None) => format!("{}[]", type_text(inner)),
        TypeExprKind::Tuple(parts) => format!("({})", parts.iter().map(type_text).collect::<Vec<_>>().join(", ")),
    }
}

/// Which arguments can never change a value, by `ignored_arguments.toml`.
pub(super) fn exempt(world: &World<'_>, params: &[Param]) -> Vec<bool> {
    params.iter().map(|p| world.schemas.ignored.why(&p.name, &p.ty.to_string()).is_some()).collect()
}

/// The suffix of an attribute's kind, and its type in opmap.
pub(super) fn attr_type(kind: AttrKind) -> Option<(char, Ty)> {
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

/// The parameters of a `lower` from the schema of the operator at `before`, and how many are inputs.
pub(super) fn lower_signature(
    world: &World<'_>,
    lower: &ast::Lower,
    out: &mut Vec<Diagnostic>,
) -> Option<(Signature, usize)> {
    let op = lower.op.full();
    let onnx = &world.schemas.onnx;
    let Some(versions) = onnx.ops.get(&op) else {
        let diagnostic =
            Diagnostic::new("E0102", lower.op.span, format!("ONNX has no operator `{op}`")).label("unknown");
        out.push(did_you_mean(diagnostic, onnx.nearest(&op)));
        return None;
    };
    let Some(version) = versions.iter().find(|v| v.since == lower.before) else {
        out.push(
            Diagnostic::new("E0203", lower.before_span, format!("`{op}` did not change at opset {}", lower.before))
                .label("not a version of it")
                .note(format!("`{op}` came or changed at {}", opsets(versions.iter().map(|v| v.since)))),
        );
        return None;
    };
    let wanted = lower_params(version);
    let fact =
        format!("{op}-{}: ({})", version.since, wanted.iter().map(|w| w.0.as_str()).collect::<Vec<_>>().join(", "));
    let inputs = version.inputs.len();
    check_params(lower, &wanted, inputs, &fact, out)?;
    let mut params: Vec<Param> = Vec::new();
    for ident in &lower.params {
        let ty = wanted.iter().find(|w| w.0 == ident.text).map(|w| w.1.clone())?;
        params.push(Param { name: ident.text.clone(), ty, size: None, default: None, span: ident.span });
    }
    let returns = lower_returns(lower, version, out)?;
    Some((Signature { params, returns, span: lower.header_span }, inputs))
}

/// The names that the header of a `lower` has: `data, axes, keepdims_i`.
pub(crate) fn lower_header(version: &Version) -> String {
    lower_params(version).iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

fn lower_params(version: &Version) -> Vec<(String, Ty)> {
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
        let candidate = crate::nearest::nearest(&param.text, wanted.iter().map(|w| w.0.as_str()));
        out.push(did_you_mean(diagnostic, candidate));
        return None;
    }
    if let Some(missing) = wanted.iter().find(|w| !lower.params.iter().any(|p| p.text == w.0)) {
        out.push(
            Diagnostic::new("E0202", lower.header_span, format!("the header lacks `{}`", missing.0))
                .label("names all inputs, then all attributes")
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

fn lower_returns(lower: &ast::Lower, version: &Version, out: &mut Vec<Diagnostic>) -> Option<Ty> {
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
        LowerOutputs::Variadic(name) => {
            if !variadic || names.first() != Some(&name.text.as_str()) {
                let diagnostic = wrong(name.span, format!("`{}` is not a variadic output", name.text));
                out.push(match variadic {
                    true => diagnostic.label(format!("write `{}`", names.join(", "))),
                    false => {
                        diagnostic.help("name outputs in parentheses, `-> (Y)`, or leave `->` out if there is but one")
                    }
                });
                return None;
            }
            Some(Ty::list(Ty::Tensor))
        }
        LowerOutputs::Named(given) => {
            for (i, name) in given.iter().enumerate() {
                let Some(want) = names.get(i) else {
                    out.push(wrong(name.span, format!("`{}` has no output `{}`", version.name, name.text)));
                    return None;
                };
                if *want != name.text {
                    let text = format!("the output here is `{want}`, not `{}`", name.text);
                    out.push(wrong(name.span, text).label(format!("write `{want}`")));
                    return None;
                }
            }
            Some(if given.len() == 1 { Ty::Tensor } else { Ty::Tuple(vec![Ty::Tensor; given.len()]) })
        }
    }
}

/// Checks the `same` items.
pub(super) fn sames(items: &Items, world: &World<'_>, program: &mut Program, out: &mut Vec<Diagnostic>) {
    let mut seen = HashMap::new();
    for (meta, same) in &items.sames {
        let op = same.op.full();
        let Some(versions) = world.schemas.onnx.ops.get(&op) else {
            let text = format!("ONNX has no operator `{op}`");
            let diagnostic = Diagnostic::new("E0102", same.op.span, text).label("unknown");
            out.push(did_you_mean(diagnostic, world.schemas.onnx.nearest(&op)));
            continue;
        };
        if !first(&mut seen, &format!("same {op} {}", same.to), same.numbers_span, out) {
            continue;
        }
        if let Some(problem) = same_problem(world, &op, same) {
            let versions = opsets(versions.iter().map(|v| v.since));
            out.push(
                Diagnostic::new("E0204", same.numbers_span, problem)
                    .label("nothing to say here")
                    .note(format!("`{op}` came or changed at {versions}")),
            );
            continue;
        }
        program.sames.push(Same { op, to: same.to, why: same.why.clone(), span: meta.span });
    }
}

/// Why a `same` says nothing, if so.
fn same_problem(world: &World<'_>, op: &str, same: &ast::Same) -> Option<String> {
    let (from, to) = (same.from, same.to);
    if !world.schemas.shape_change(op, to) {
        return Some(format!("`{op}` did not change shape at opset {to}"));
    }
    match world.schemas.onnx.versions(op).iter().rev().find(|v| v.since < to) {
        None => Some(format!("`{op}` came with opset {to}")),
        Some(before) if before.since != from => {
            Some(format!("what `{op}` was before opset {to} came with opset {}, not {from}", before.since))
        }
        Some(_) => None,
    }
}

/// Checks the `unsupported` items.
pub(super) fn unsupported(items: &Items, world: &World<'_>, program: &mut Program, out: &mut Vec<Diagnostic>) {
    let mut seen = HashMap::new();
    for (_, item) in &items.unsupported {
        let name = item.op.full();
        let aten = &world.schemas.aten;
        if NAMESPACES.contains(&item.op.namespace.text.as_str()) && aten.get(&schema_name(&name)).is_none() {
            out.push(no_overload(world, item.op.span, &schema_name(&name)));
            continue;
        }
        if let Some(map) = world.maps.get(&name) {
            out.push(
                Diagnostic::new("E0105", item.op.span, format!("`{name}` is unsupported and has a rule"))
                    .also(map.span, "the rule"),
            );
            continue;
        }
        if first(&mut seen, &name, item.op.span, out) {
            program.unsupported.push(Unsupported { name, reason: item.reason.clone(), span: item.op.span });
        }
    }
}

impl crate::schema::Schemas {
    /// Did the operator change shape or meaning (or appear) in this version?
    pub fn shape_change(&self, op: &str, since: u32) -> bool {
        self.change(op, since).is_some_and(|change| change != Change::Types)
    }
}
