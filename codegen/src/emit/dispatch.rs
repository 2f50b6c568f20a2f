//! The tables: rules by overload, what is unsupported, the branches of the rules.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::function::{constant, is_opaque};
use super::types::{function_name, is_copy, rust_name};
use super::{Context, ident};
use crate::coverage::{Matrix, Status};
use crate::tree::{Kind, Map, Param};
use crate::types::Ty;

/// `RULES`, `UNSUPPORTED`, `ARMS` and the functions that take a call's arguments apart.
pub(super) fn tables(context: &Context<'_>, matrix: &Matrix) -> TokenStream {
    let program = context.program;
    let calls = program.maps.iter().map(|m| entry(context, m));
    let rows = program.maps.iter().map(|map| {
        let name = &map.function.name;
        let location = context.location(&map.function);
        let call = format_ident!("call_{}", function_name(name));
        let levels = matrix.rows.get(name).map(|row| row.iter().map(level).collect::<Vec<_>>()).unwrap_or_default();
        let reasons = matrix.rows.get(name).map(|row| reasons(row)).unwrap_or_default();
        quote!(Rule { name: #name, location: #location, call: #call, support: &[#(#levels),*], reasons: &[#(#reasons),*] })
    });
    let unsupported = program.unsupported.iter().map(|u| {
        let (name, reason) = (&u.name, &u.reason);
        quote!((#name, #reason))
    });
    let arms = program.arms.iter().map(|arm| {
        let (rule, text, refuses) = (&arm.rule, &arm.text, arm.refuses);
        let location = format!("{}:{}", context.sources.file(arm.span.file).path, context.sources.line(arm.span));
        quote!(Arm { rule: #rule, text: #text, location: #location, refuses: #refuses })
    });
    quote! {
        mod dispatch {
            #![allow(warnings, clippy::all, clippy::pedantic, clippy::restriction)]
            use super::prelude::*;
            use super::*;
            #(#calls)*
            /// Every `map`, by overload, sorted.
            pub static RULES: &[Rule] = &[#(#rows),*];
        }
        pub use dispatch::RULES;
        /// What ONNX cannot say, and why, sorted.
        pub static UNSUPPORTED: &[(&str, &str)] = &[#(#unsupported),*];
        /// Every branch of every rule; the index is its number.
        pub static ARMS: &[Arm] = &[#(#arms),*];
    }
}

fn level(status: &Status) -> TokenStream {
    match status {
        Status::Full => quote!(Support::Full),
        Status::Partial(_) => quote!(Support::Partial),
        Status::No(_) => quote!(Support::No),
    }
}

/// All reasons of a row, once each.
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
    let optional = matches!(param.ty, Ty::Optional(_));
    let inner = match &param.ty {
        Ty::Optional(inner) => inner,
        ty => ty,
    };
    match inner {
        Ty::Tensor if optional => return quote!(args.opt_tensor(cx, #name)?),
        Ty::Tensor => return quote!(args.tensor(cx, #name)?),
        Ty::List(of) if matches!(**of, Ty::Optional(_)) => return quote!(args.opt_tensors(cx, #name)?),
        Ty::List(of) if **of == Ty::Tensor && optional => {
            return quote!(if args.get(#name).is_some() { Some(args.tensors(cx, #name)?) } else { None });
        }
        Ty::List(of) if **of == Ty::Tensor => return quote!(args.tensors(cx, #name)?),
        _ => {}
    }
    let size = match (inner, param.size) {
        (Ty::List(of), _) if matches!(**of, Ty::Scalar | Ty::Str) => quote!(),
        (Ty::List(_), Some(size)) => {
            let size = size as usize;
            quote!(, Some(#size))
        }
        (Ty::List(_), None) => quote!(, None),
        _ => quote!(),
    };
    let getter = getter(inner);
    let given = format_ident!("opt_{getter}");
    match &param.default {
        Some(default) if !optional => {
            let default = constant(context, default);
            quote!(args.#given(#name #size)?.unwrap_or_else(|| #default))
        }
        Some(default) if !matches!(default.kind, Kind::None) => {
            let default = constant(context, default);
            quote!(args.#given(#name #size)?.or_else(|| #default))
        }
        _ if optional => quote!(args.#given(#name #size)?),
        _ => quote!(args.#given(#name #size)?.ok_or_else(|| args.lacks(#name))?),
    }
}

fn getter(ty: &Ty) -> &'static str {
    match ty {
        Ty::Int => "int",
        Ty::Float => "float",
        Ty::Bool => "bool",
        Ty::Str => "str",
        Ty::Scalar => "scalar",
        Ty::SymInt => "sym_int",
        Ty::ScalarType => "dtype",
        Ty::List(of) => match &**of {
            Ty::Int => "ints",
            Ty::SymInt => "sym_ints",
            Ty::Float => "floats",
            Ty::Bool => "bools",
            Ty::Scalar => "scalars",
            _ => "strs",
        },
        _ => "opaque",
    }
}
