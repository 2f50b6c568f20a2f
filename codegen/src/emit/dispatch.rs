//! The tables: rules by overload, what is unsupported, the branches of the rules.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::function::{constant, is_opaque};
use super::types::{function_name, is_copy, rust_name};
use super::{Context, ident};
use aten2onnx_opmap::coverage::{Matrix, Status};
use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::tree::{Arm, Lower, Map, Param, Target, Unsupported};
use aten2onnx_opmap::types::Ty;

/// `RULES`, `LOWERS`, `RAISES`, `SAMES`, `UNSUPPORTED`, `COMPLEX`, `ARMS` of the rules that are written, and the functions that take a call's
/// arguments apart.
pub(super) fn tables(context: &Context<'_>, matrix: &Matrix) -> TokenStream {
    let program = context.program;
    let own = |span: Span| context.is_written(span);
    let maps: Vec<&Map> = program.maps.iter().filter(|m| own(m.function.span)).collect();
    let (calls, rows) = (maps.iter().map(|m| entry(context, m)), rows(context, matrix, &maps));
    let lowers = lowers_of(&mut program.lowers.iter().filter(|l| own(l.function.span)));
    let raises = lowers_of(&mut program.raises.iter().filter(|r| own(r.function.span)));
    let sames: BTreeSet<(&str, u32)> =
        program.sames.iter().filter(|same| own(same.span)).map(|same| (same.op.as_str(), same.to)).collect();
    let sames = sames.iter().map(|(op, to)| quote!((#op, #to)));
    let unsupported = unsupported(&mut program.unsupported.iter().filter(|u| own(u.span)));
    let arms = arms(context, &mut program.arms.iter().filter(|arm| own(arm.span)));
    let complex: BTreeSet<&str> = (program.examples.iter().filter(|e| own(e.span) && e.has_complex()))
        .filter_map(|e| if let Target::Map(name) = &e.target { Some(name.as_str()) } else { None })
        .collect();
    let complex = complex.iter();
    quote! {
        mod dispatch {
            #![allow(warnings, clippy::all, clippy::pedantic, clippy::restriction)]
            use super::prelude::*;
            use super::prelude::tables::*;
            use super::*;
            #(#calls)*
            /// Every `map`, by overload, sorted.
            pub static RULES: &[Rule] = &[#rows];
            /// Every `lower`: operator, opset, function. Sorted.
            pub static LOWERS: &[(&str, u32, LowerFn)] = &[#lowers];
            /// Every `raise`: operator, opset, function. Sorted.
            pub static RAISES: &[(&str, u32, LowerFn)] = &[#raises];
            /// Every branch of every rule; the index is its number.
            pub static ARMS: &[Arm] = &[#arms];
        }
        pub use dispatch::{ARMS, LOWERS, RAISES, RULES};
        /// Every `same`: operator, opset. Sorted.
        pub static SAMES: &[(&str, u32)] = &[#(#sames),*];
        /// What ONNX cannot say, and why, sorted.
        pub static UNSUPPORTED: &[(&str, &str)] = &[#unsupported];
        /// Overloads with an example on complex numbers, sorted.
        pub static COMPLEX: &[&str] = &[#(#complex),*];
    }
}

fn rows(context: &Context<'_>, matrix: &Matrix, maps: &[&Map]) -> TokenStream {
    let rows = maps.iter().map(|map| {
        let name = &map.function.name;
        let location = context.location(&map.function);
        let call = format_ident!("call_{}", function_name(name));
        let levels = matrix.rows.get(name).map(|row| row.iter().map(level).collect::<String>()).unwrap_or_default();
        let reasons = matrix.rows.get(name).map(|row| reasons(row)).unwrap_or_default();
        quote!(rule(#name, #location, #call, #levels, &[#(#reasons),*]))
    });
    quote!(#(#rows),*)
}

/// The rows of `lower` or `raise` items.
fn lowers_of(lowers: &mut dyn Iterator<Item = &Lower>) -> TokenStream {
    let mut sorted: Vec<&Lower> = lowers.collect();
    sorted.sort_by(|a, b| (&a.op, a.before).cmp(&(&b.op, b.before)));
    let rows = sorted.iter().map(|lower| {
        let (op, before, path) = (&lower.op, lower.before, function_name(&lower.function.name));
        quote!((#op, #before, super::#path))
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

fn arms(context: &Context<'_>, arms: &mut dyn Iterator<Item = &Arm>) -> TokenStream {
    let arms = arms.map(|arm| {
        let (rule, text, refuses) = (&arm.rule, &arm.text, arm.refuses);
        let location = context.sources.place(arm.span);
        quote!(arm(#rule, #text, #location, #refuses))
    });
    quote!(#(#arms),*)
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
        let (Status::Partial(reasons) | Status::No(reasons)) = status else { continue };
        for reason in reasons {
            if !all.contains(&reason.as_str()) {
                all.push(reason);
            }
        }
    }
    all
}

/// `fn call_aten_elu(cx, args) -> Result<Vec<Out>>`
fn entry(context: &Context<'_>, map: &Map) -> TokenStream {
    let function = &map.function;
    let name = function_name(&function.name);
    let call = format_ident!("call_{}", name);
    let mut lets = Vec::new();
    let mut passed = Vec::new();
    for param in function.params.iter().filter(|p| !is_opaque(&p.ty)) {
        let local = ident(&rust_name(&param.name));
        let value = argument(context, param);
        lets.push(quote!(let #local = #value;));
        passed.push(if is_copy(&param.ty) { quote!(#local) } else { quote!(&#local) });
    }
    quote! {
        fn #call(cx: &mut Builder, args: &Args) -> Result<Vec<Out>> {
            #(#lets)*
            Ok(#name(cx, #(#passed),*)?.into_outs())
        }
    }
}

/// Takes one argument out of a call.
fn argument(context: &Context<'_>, param: &Param) -> TokenStream {
    let name = &param.name;
    let getter = ident(getter(&param.ty));
    let sized = match list_element(&param.ty) {
        Some(Ty::Int | Ty::SymInt | Ty::Float | Ty::Bool) => {
            let size = match param.size {
                Some(size) => {
                    let size = size as usize;
                    quote!(Some(#size))
                }
                None => quote!(None),
            };
            quote!(, #size)
        }
        _ => quote!(),
    };
    match &param.default {
        Some(default) => {
            let default = constant(context, default);
            quote!(if args.has(#name) { args.#getter(cx, #name #sized)? } else { #default })
        }
        None => quote!(args.#getter(cx, #name #sized)?),
    }
}

fn list_element(ty: &Ty) -> Option<&Ty> {
    match ty {
        Ty::List(t) => Some(t),
        Ty::Optional(t) => list_element(t),
        _ => None,
    }
}

fn getter(ty: &Ty) -> &'static str {
    let list = |t: &Ty| match t {
        Ty::Tensor => "tensors",
        Ty::Optional(_) => "optional_tensors",
        Ty::Int => "ints",
        Ty::SymInt => "sym_ints",
        Ty::Float => "floats",
        Ty::Bool => "bools",
        Ty::Scalar => "scalars",
        _ => "strs",
    };
    match ty {
        Ty::Tensor => "tensor",
        Ty::Int => "int",
        Ty::Float => "float",
        Ty::Bool => "bool",
        Ty::Str => "str",
        Ty::Scalar => "scalar",
        Ty::SymInt => "sym_int",
        Ty::ScalarType => "dtype",
        Ty::List(t) => list(t),
        Ty::Optional(t) => match &**t {
            Ty::Tensor => "opt_tensor",
            Ty::Int => "opt_int",
            Ty::Float => "opt_float",
            Ty::Bool => "opt_bool",
            Ty::Str => "opt_str",
            Ty::Scalar => "opt_scalar",
            Ty::SymInt => "opt_sym_int",
            Ty::ScalarType => "opt_dtype",
            Ty::List(t) => match &**t {
                Ty::Int => "opt_ints",
                Ty::SymInt => "opt_sym_ints",
                Ty::Float => "opt_floats",
                Ty::Tensor => "opt_tensors_list",
                _ => "opt_strs",
            },
            _ => "opaque",
        },
        _ => "opaque",
    }
}
