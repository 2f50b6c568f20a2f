//! Headers of `map` and `unsupported` items against PyTorch's schemas.

use std::collections::HashMap;

use super::declare::is_first;
use super::wording::{NOT_IN_SNAPSHOT, quoted};
use super::{Context, did_you_mean};
use crate::collect::Items;
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::Span;
use crate::syntax::ast::{self, TypeExpr, TypeExprKind};
use crate::tree::{Param, Program, Unsupported};
use aten2onnx_schemas::aten;

/// The namespaces whose operators the snapshots list in full. Others are defined by users.
const NAMESPACES: &[&str] = &["aten", "complex", "prims", "quantized_decomposed", "torchvision"];

/// The overload whose schema a rule has: `complex::exp` is `aten::exp` on complex numbers.
pub(super) fn schema_name(name: &str) -> String {
    name.strip_prefix("complex::").map_or_else(|| name.to_owned(), |op| format!("aten::{op}"))
}

/// Checks that the header of a `map` is the same as in the snapshot.
pub(super) fn against_schema(context: &Context<'_>, map: &ast::Map, name: &str, out: &mut Vec<Diagnostic>) {
    let aten = &context.schemas.aten;
    if !NAMESPACES.contains(&map.op.namespace.text.as_str()) {
        return;
    }
    let name = &schema_name(name);
    let Some(schema) = aten.get(name) else {
        out.push(no_overload(context, map.op.span, name));
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
    if have.len() != want.len() || have.iter().zip(&want).any(|(have, want)| !same_result(have, want)) {
        let results = want.iter().map(|(ty, name)| name.map_or(ty.clone(), |name| format!("{ty} {name}")));
        let results = results.collect::<Vec<_>>().join(", ");
        let wanted = if want.len() == 1 { results } else { format!("({results})") };
        let text = format!("the results of `{name}` differ from those of the schema");
        out.push(Diagnostic::new("E0201", returns_span(map), text).label(format!("write `{wanted}`")).note(fact));
    }
}

/// Whether a result is that of the schema. `Tensor?` says that PyTorch leaves it undefined for some arguments, which schemas do not show.
fn same_result(have: &(String, Option<&str>), want: &(String, Option<&str>)) -> bool {
    have.1 == want.1 && (have.0 == want.0 || want.0 == "Tensor" && have.0 == "Tensor?")
}

/// Whether a parameter before the one at `index` is after `*`.
fn keyword_only(map: &ast::Map, index: usize) -> bool {
    map.params.iter().take(index).any(|p| p.keyword_only)
}

/// The place of the results.
fn returns_span(map: &ast::Map) -> Span {
    let end = |r: &ast::Return| r.name.as_ref().map_or(r.ty.span, |n| n.span);
    match (map.returns.first(), map.returns.last()) {
        (Some(first), Some(last)) if map.rows.is_none() => first.ty.span.to(end(last)),
        _ => map.header_span,
    }
}

/// The error for an overload that does not exist, with those that do.
pub(super) fn no_overload(context: &Context<'_>, span: Span, name: &str) -> Diagnostic {
    const SHOWN: usize = 8;
    let aten = &context.schemas.aten;
    let mut diagnostic = Diagnostic::new("E0101", span, format!("unknown overload `{name}`")).label(NOT_IN_SNAPSHOT);
    let base = name.split('.').next().unwrap_or(name);
    let overloads = aten.overloads(base);
    if !overloads.is_empty() {
        let more = overloads.len().saturating_sub(SHOWN);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let some = quoted(overloads.iter().take(SHOWN).map(|s| s.name.as_str()));
        diagnostic = diagnostic.note(format!("the overloads are {some}{more}"));
    }
    did_you_mean(diagnostic, aten.nearest(name))
}

fn differs(have: &ast::Param, want: &aten::Arg) -> Option<Diagnostic> {
    let wrong = |span: Span, text: String, label: String| Some(Diagnostic::new("E0201", span, text).label(label));
    if have.name.text != want.name {
        let text = format!("the argument here is `{}`, not `{}`", want.name, have.name.text);
        let diagnostic = wrong(have.name.span, text, format!("write `{}`", want.name))?;
        return Some(diagnostic.fix(format!("write `{}`", want.name), FixPlace::Text(have.name.span), &want.name));
    }
    let ty = type_text(&have.ty);
    if ty != want.ty && ty != taking_sizes(&want.ty) {
        let text = format!("the type of `{}` is `{}`, not `{ty}`", want.name, want.ty);
        let diagnostic = wrong(have.ty.span, text, format!("write `{}`", want.ty))?;
        return Some(diagnostic.fix(format!("write `{}`", want.ty), FixPlace::Text(have.ty.span), &want.ty));
    }
    let default = have.default.as_ref().map(|d| d.text.as_str());
    if !same_default(&want.ty, default, want.default.as_deref()) {
        let span = have.default.as_ref().map_or(have.name.span, |d| d.span);
        let should = want.default.as_ref().map_or("no default".to_owned(), |d| format!("the default `{d}`"));
        return wrong(span, format!("`{}` has {should}", want.name), format!("write `{want}`"));
    }
    match (have.keyword_only, want.keyword_only) {
        (false, true) => {
            wrong(have.span, format!("`{}` must be after `*`", want.name), "write `*, ` before it".to_owned())
        }
        (true, false) => {
            wrong(have.span, format!("`{}` must be before `*`", want.name), "move the `*` after it".to_owned())
        }
        _ => None,
    }
}

/// The type of an argument whose rule also takes what the model computes of sizes: `SymInt` in place of `int`.
fn taking_sizes(ty: &str) -> String {
    match ty.strip_prefix("int") {
        Some(rest) if rest.is_empty() || rest.starts_with(['[', '?']) => format!("SymInt{rest}"),
        _ => ty.to_owned(),
    }
}

/// PyTorch writes the same default in several ways (`1` and `1.0`, `Mean` and `1`), so their values are compared.
fn same_default(ty: &str, a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            a == b || matches!((aten::default_value(ty, a), aten::default_value(ty, b)), (Some(x), Some(y)) if x == y)
        }
        (None, None) => true,
        _ => false,
    }
}

/// A type in the notation of native_functions.yaml.
fn type_text(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeExprKind::Name(name) => name.clone(),
        TypeExprKind::Optional(inner) => format!("{}?", type_text(inner)),
        TypeExprKind::List(inner, Some(size)) => format!("{}[{size}]", type_text(inner)),
        TypeExprKind::List(inner, None) => format!("{}[]", type_text(inner)),
        TypeExprKind::Tuple(parts) => format!("({})", parts.iter().map(type_text).collect::<Vec<_>>().join(", ")),
    }
}

/// Which parameters can never change a result, by `ignored_arguments.toml`.
pub(super) fn may_be_unused(context: &Context<'_>, params: &[Param]) -> Vec<bool> {
    params.iter().map(|p| context.schemas.ignored.why(&p.name, &p.ty.to_string()).is_some()).collect()
}

/// Checks the `unsupported` items.
pub(super) fn unsupported(items: &Items, context: &Context<'_>, program: &mut Program, out: &mut Vec<Diagnostic>) {
    let mut seen = HashMap::new();
    for (_, item) in &items.unsupported {
        let name = item.op.full();
        let aten = &context.schemas.aten;
        if NAMESPACES.contains(&item.op.namespace.text.as_str()) && aten.get(&schema_name(&name)).is_none() {
            out.push(no_overload(context, item.op.span, &schema_name(&name)));
            continue;
        }
        if let Some(map) = context.maps.get(&name) {
            out.push(
                Diagnostic::new("E0105", item.op.span, format!("`{name}` is declared unsupported but has a rule"))
                    .also(map.span, "the rule"),
            );
            continue;
        }
        if is_first(&mut seen, &name, item.op.span, out) {
            program.unsupported.push(Unsupported { name, reason: item.reason.clone(), span: item.op.span });
        }
    }
}
