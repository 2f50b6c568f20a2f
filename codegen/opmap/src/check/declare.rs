//! The declarations that rules may refer to: maps, helpers, externs, domains.

use std::collections::HashMap;

use super::exprs::constant;
use super::map_header::against_schema;
use super::types::read_type;
use super::wording::with_article;
use super::{Context, Signature};
use crate::collect::Items;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::{Expr, Item, Kind, Param};
use crate::types::Ty;
use aten2onnx_schemas::DOMAINS;

/// Fills the tables of maps, helpers and externs.
pub(super) fn declare(items: &Items, context: &mut Context<'_>, out: &mut Vec<Diagnostic>) {
    for (_, map) in &items.maps {
        let name = map.op.full();
        match signature(&map.params, returns_of(map, out), map.header_span, out) {
            Some(signature) => {
                against_schema(context, map, &name, out);
                context.maps.entry(name).or_insert(signature);
            }
            None => drop(context.broken.insert(name)),
        }
    }
    for (_, f) in &items.fns {
        let returns = read_type(&f.returns, out).map(|r| r.0);
        let signature = helper_signature(&f.params, returns, f.name.span, out);
        context.helpers.add(&f.name, f.public, false, signature, out);
    }
    for (_, f) in &items.externs {
        let returns = read_type(&f.returns, out).map(|r| r.0);
        let signature = helper_signature(&f.params, returns, f.name.span, out);
        context.helpers.add(&f.name, f.public, true, signature, out);
    }
    context.helpers.hidden_exports(out);
}

/// The header of a helper. Parameters with a default are the last ones.
fn helper_signature(
    params: &[ast::Param],
    returns: Option<Ty>,
    span: Span,
    out: &mut Vec<Diagnostic>,
) -> Option<Signature> {
    let optional = params.iter().position(|param| param.default.is_some()).unwrap_or(params.len());
    if let Some(param) = params.iter().skip(optional).find(|param| param.default.is_none()) {
        let text = format!("`{}` needs a default", param.name.text);
        let diagnostic = Diagnostic::new("E0506", param.name.span, text).label("a parameter before it has one");
        out.push(diagnostic.help("put parameters with defaults last"));
    }
    signature(params, returns, span, out)
}

/// Fills the table of domains.
pub(super) fn domains(items: &Items, context: &mut Context<'_>, out: &mut Vec<Diagnostic>) {
    for item in &items.domains {
        let (name, span) = (&item.domain.text, item.domain.span);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        if DOMAINS.contains(&name.as_str()) || matches!(name.as_str(), "" | "ai.onnx") || !name.chars().all(is_name) {
            let text = match DOMAINS.contains(&name.as_str()) {
                true => format!("`{name}` need not be imported"),
                false => format!("`{name}` cannot be the name of your own domain"),
            };
            out.push(Diagnostic::new("E0105", span, text));
            continue;
        }
        match context.domains.get(name) {
            Some((version, first)) if *version != item.version => {
                let text = format!("`{name}` is imported in two versions, but a model can have only one");
                let label = format!("version {}", item.version);
                let diagnostic = Diagnostic::new("E0105", span, text).label(label);
                out.push(diagnostic.also(*first, format!("version {version}")));
            }
            _ => drop(context.domains.insert(name.clone(), (item.version, span))),
        }
    }
}

/// Whether it is the first of its name; an error if it is not.
pub(super) fn is_first(seen: &mut HashMap<String, Span>, name: &str, span: Span, out: &mut Vec<Diagnostic>) -> bool {
    match seen.get(name) {
        None => {
            seen.insert(name.to_owned(), span);
            true
        }
        Some(other) => {
            out.push(
                Diagnostic::new("E0105", span, format!("`{name}` is defined twice"))
                    .label("second definition")
                    .also(*other, "first here"),
            );
            false
        }
    }
}

fn returns_of(map: &ast::Map, out: &mut Vec<Diagnostic>) -> Option<Ty> {
    let mut tys: Vec<Ty> = Vec::new();
    for r in &map.returns {
        tys.push(read_type(&r.ty, out)?.0);
    }
    Some(match tys.len() {
        1 => tys.remove(0),
        _ => Ty::Tuple(tys),
    })
}

fn signature(params: &[ast::Param], returns: Option<Ty>, span: Span, out: &mut Vec<Diagnostic>) -> Option<Signature> {
    let mut checked = Vec::new();
    for param in params {
        let (ty, size) = read_type(&param.ty, out)?;
        let default = match &param.default {
            None => None,
            Some(text) => match default_value(&text.text, &ty, text.span) {
                Some(value) => Some(value),
                None => {
                    out.push(
                        Diagnostic::new("E0401", text.span, format!("`{}` is not {}", text.text, with_article(&ty)))
                            .label("as default"),
                    );
                    None
                }
            },
        };
        checked.push(Param { name: param.name.text.clone(), ty, size, default, span: param.name.span });
    }
    Some(Signature { params: checked, returns: returns?, span })
}

/// A default in PyTorch's notation as a value of the type.
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
    if let Some(constant) = constant(text, span).filter(|constant| constant.ty == *ty) {
        return Some(constant);
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

/// PyTorch names some defaults of enums.
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
