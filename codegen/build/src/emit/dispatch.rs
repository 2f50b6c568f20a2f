//! The table of compiled rules: rules by overload, what is unsupported, the branches of the rules.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::function::is_opaque;
use super::types::{float, function_name, int, is_copy, owned_type};
use super::{Context, ident};
use aten2onnx_opmap::coverage::{Matrix, Status};
use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::tree::{Arm, Expr, Item, Kind, Lower, Map, Param, Target, Unsupported};
use aten2onnx_opmap::types::Ty;
use aten2onnx_schemas::dtypes::variant;

/// The table of the rules that are written: a `CompiledRules`. `left_out` is the text of the overloads that were left out, `lines` makes the
/// value of a text of many lines.
pub(super) fn table(
    context: &Context<'_>,
    matrix: &Matrix,
    first_arm: u32,
    left_out: TokenStream,
    lines: &mut dyn FnMut(&str, String) -> TokenStream,
) -> TokenStream {
    let program = context.program;
    let own = |span: Span| context.is_written(span);
    let maps: Vec<&Map> = program.maps.iter().filter(|m| own(m.function.span)).collect();
    let rows = maps.iter().map(|map| row(map));
    let lowers = lowers_of(&mut program.lowers.iter().filter(|l| own(l.function.span)));
    let raises = lowers_of(&mut program.raises.iter().filter(|r| own(r.function.span)));
    let sames: BTreeSet<(&str, u32)> =
        program.sames.iter().filter(|same| own(same.span)).map(|same| (same.op.as_str(), same.to)).collect();
    let sames = sames.iter().map(|(op, to)| quote!((#op, #to)));
    let unsupported = unsupported(&mut program.unsupported.iter().filter(|u| own(u.span)));
    let complex: BTreeSet<&str> = (program.examples.iter().filter(|e| own(e.span) && e.has_complex()))
        .filter_map(|e| if let Target::Map(name) = &e.target { Some(name.as_str()) } else { None })
        .collect();
    let complex = complex.iter();
    let fuses = program.fuses.iter().filter(|fuse| own(fuse.span)).map(|fuse| &fuse.fusion);
    // Text and numbers that a file can hold: it cannot fail.
    let fusions = serde_json::to_string(&fuses.collect::<Vec<_>>()).unwrap_or_default();
    let fusions = lines("fusions.json", fusions);
    let facts = lines("rules.tsv", maps.iter().map(|map| facts(context, matrix, map)).collect());
    let arms = program.arms.iter().filter(|arm| own(arm.span));
    let arms: String = arms.map(|arm| arm_line(context, arm)).collect();
    // An exporter for one opset is not traced.
    let arms = if context.only.is_some() { quote!("") } else { lines("arms.tsv", arms) };
    quote! {
        CompiledRules {
            maps: &[#(#rows),*],
            lowers: &[#lowers],
            raises: &[#raises],
            sames: &[#(#sames),*],
            unsupported: &[#unsupported],
            complex: &[#(#complex),*],
            fusions: Fusions::of(#fusions),
            left_out: Words::of(#left_out),
            facts: Lines::of(#facts),
            arms: Lines::of(#arms),
            first_arm: #first_arm,
        }
    }
}

/// What is known of a rule, as a line: its place, a letter for each opset, and reasons.
fn facts(context: &Context<'_>, matrix: &Matrix, map: &Map) -> String {
    let row = matrix.rows.get(&map.function.name).map_or(&[][..], Vec::as_slice);
    // An exporter for one opset knows of that one; the first letter is that of the oldest opset.
    let before = context.only.map_or(0, |opset| opset.saturating_sub(context.schemas.opsets.min) as usize);
    let levels: String = std::iter::repeat_n('N', before).chain(row.iter().map(level)).collect();
    let place = context.location(&map.function);
    line([place.as_str(), &levels].into_iter().chain(reasons(row)))
}

fn arm_line(context: &Context<'_>, arm: &Arm) -> String {
    let place = context.sources.place(arm.span);
    let refuses = if arm.refuses { "refuses" } else { "" };
    line([arm.rule.as_str(), &arm.text, &place, refuses])
}

/// A line of parts with tabs between. A part is one line itself.
fn line<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts = parts.into_iter().map(|part| part.replace(['\t', '\n'], " "));
    parts.collect::<Vec<_>>().join("\t") + "\n"
}

/// The rows of `lower` or `raise` items.
fn lowers_of(lowers: &mut dyn Iterator<Item = &Lower>) -> TokenStream {
    let mut sorted: Vec<&Lower> = lowers.collect();
    sorted.sort_by(|a, b| (&a.op, a.before).cmp(&(&b.op, b.before)));
    let rows = sorted.iter().map(|lower| {
        let (op, before, path) = (&lower.op, lower.before, function_name(&lower.function.name));
        quote!((#op, #before, #path))
    });
    quote!(#(#rows),*)
}

fn unsupported(items: &mut dyn Iterator<Item = &Unsupported>) -> TokenStream {
    let rows = items.map(|u| {
        let (name, reason) = (&u.name, &u.reason);
        quote!((#name, #reason))
    });
    quote!(#(#rows),*)
}

/// A letter for each opset: full, partial, none.
fn level(status: &Status) -> char {
    match status {
        Status::Full => 'F',
        Status::Partial(_) => 'P',
        Status::No(_) => 'N',
    }
}

/// All reasons of a row, without duplicates.
fn reasons(row: &[Status]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for status in row {
        let own: Vec<&str> = match status {
            Status::Full => Vec::new(),
            Status::Partial(reasons) => reasons.iter().collect(),
            Status::No(reasons) => reasons.iter().map(String::as_str).collect(),
        };
        let new: Vec<&str> = own.into_iter().filter(|reason| !all.contains(reason)).collect();
        all.extend(new);
    }
    all
}

/// `("aten::elu", &[given("self", Kind::Tensor, Shape::One), ..], |cx, args| ..)`
fn row(map: &Map) -> TokenStream {
    let name = &map.function.name;
    let function = function_name(name);
    let params: Vec<&Param> = map.function.params.iter().filter(|p| !is_opaque(&p.ty)).collect();
    let described = params.iter().map(|param| described(param));
    let passed = params.iter().map(|param| {
        let ty = owned_type(&param.ty);
        if is_copy(&param.ty) { quote!(args.take::<#ty>()?) } else { quote!(&args.take::<#ty>()?) }
    });
    let args = if params.is_empty() { quote!(_) } else { quote!(args) };
    quote! {
        (#name, &[#(#described),*], |cx, #args| #function(cx, #(#passed),*).map(IntoOuts::into_outs))
    }
}

/// A parameter as data.
fn described(param: &Param) -> TokenStream {
    let name = &param.name;
    let (of, shape) = match &param.ty {
        Ty::List(of) => match &**of {
            Ty::Optional(of) => (&**of, quote!(OptionalItems)),
            of => (of, quote!(List)),
        },
        Ty::Optional(of) => match &**of {
            Ty::List(of) => (&**of, quote!(OptionalList)),
            of => (of, quote!(Optional)),
        },
        ty => (ty, quote!(One)),
    };
    let kind = match of {
        Ty::Tensor => quote!(Tensor),
        Ty::Int => quote!(Int),
        Ty::Float => quote!(Float),
        Ty::Bool => quote!(Bool),
        Ty::Scalar => quote!(Scalar),
        Ty::SymInt => quote!(SymInt),
        Ty::ScalarType => quote!(Dtype),
        _ => quote!(Str),
    };
    let described = match &param.default {
        Some(default) => {
            let default = default_of(default);
            quote!(omitted(#name, Kind::#kind, Shape::#shape, #default))
        }
        None => quote!(given(#name, Kind::#kind, Shape::#shape)),
    };
    match param.size {
        Some(size) => {
            let size = size as usize;
            quote!(sized(#described, #size))
        }
        None => described,
    }
}

/// A default as data. Headers have constants alone, of which conversions only change the type.
fn default_of(default: &Expr) -> TokenStream {
    match &default.kind {
        Kind::Convert(of) => default_of(of),
        Kind::Bool(b) => quote!(Default::Bool(#b)),
        Kind::Int(n) => {
            let n = int(*n);
            quote!(Default::Int(#n))
        }
        Kind::Float(x) => {
            let x = float(*x);
            quote!(Default::Float(#x))
        }
        Kind::Str(text) => quote!(Default::Str(#text)),
        Kind::Dtype(name) => {
            let variant = ident(variant(name).unwrap_or("Float"));
            quote!(Default::Dtype(Dtype::#variant))
        }
        Kind::List(items) => {
            let items =
                items.iter().filter_map(|item| if let Item::One(one) = item { Some(default_of(one)) } else { None });
            quote!(Default::List(&[#(#items),*]))
        }
        _ => quote!(Default::None),
    }
}
