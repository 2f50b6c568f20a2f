//! A rule as a function: its doc comment, its header, its parameters, its body.

use proc_macro2::TokenStream;
use quote::quote;

use super::exprs::Body;
use super::types::{function_name, owned_type, param_type, rust_name};
use super::{Context, ident};
use aten2onnx_opmap::tree::{Expr, Function, Kind, Lower, Map, Param, is_private, short_name};
use aten2onnx_opmap::types::Ty;
use aten2onnx_schemas::onnx::AttrValue;

/// `fn to_float(cx, x) -> Result<Value>`
pub(super) fn helper(context: &Context<'_>, function: &Function) -> TokenStream {
    let visibility = if is_private(&function.name) { quote!(pub(super)) } else { quote!(pub) };
    plain(context, function, short_name(&function.name), visibility, None)
}

/// `fn aten_elu(cx, self_, alpha, ..) -> Result<Value>`
pub(super) fn map(context: &Context<'_>, map: &Map) -> TokenStream {
    let since = map.since.as_ref().map(|(opset, reason)| super::exprs::needs(*opset, reason));
    plain(context, &map.function, &map.function.name, quote!(pub), since)
}

fn plain(
    context: &Context<'_>,
    function: &Function,
    name: &str,
    visibility: TokenStream,
    before: Option<TokenStream>,
) -> TokenStream {
    let docs = docs(context, function);
    let name = function_name(name);
    let params = function.params.iter().filter(|p| !is_opaque(&p.ty)).map(|p| {
        let name = ident(&rust_name(&p.name));
        let ty = param_type(&p.ty);
        quote!(#name: #ty)
    });
    let returns = owned_type(&function.returns);
    let mut body = Body::new(context);
    for param in &function.params {
        body.bind(&param.name, !super::types::is_copy(&param.ty));
    }
    let value = body.owned(&function.body);
    let statements = &body.statements;
    let result = finish(&function.body, &value, quote!(Ok(#value)));
    quote! {
        #docs
        #visibility fn #name(cx: &mut Builder, #(#params),*) -> Result<#returns> {
            #before
            #(#statements)*
            #result
        }
    }
}

/// The result of a body. One that only refuses has returned before.
fn finish(body: &Expr, value: &TokenStream, ok: TokenStream) -> TokenStream {
    match body.kind {
        Kind::Fail(_) | Kind::Since(..) => value.clone(),
        _ => ok,
    }
}

/// `fn Gelu_before_20(cx, call) -> Result<Vec<Value>>`, or `Squeeze_from_13`
pub(super) fn lower(context: &Context<'_>, lower: &Lower) -> TokenStream {
    let docs = docs(context, &lower.function);
    let name = function_name(&lower.function.name);
    let block = lower_body(context, lower);
    quote! {
        #docs
        pub fn #name(cx: &mut Builder, call: &NodeCall) -> Result<Vec<Value>> #block
    }
}

/// The body of a `lower` or `raise`, which uses `cx` and `call`.
pub(super) fn lower_body(context: &Context<'_>, lower: &Lower) -> TokenStream {
    let function = &lower.function;
    let mut body = Body::new(context);
    let mut extract = Vec::new();
    for (i, param) in function.params.iter().enumerate() {
        extract.push(if i < lower.inputs { input(param, i) } else { attribute(context, lower, param) });
        body.bind(&param.name, !super::types::is_copy(&param.ty));
    }
    let result = match (&function.body.kind, &function.returns) {
        (Kind::Fail(_) | Kind::Since(..), _) => body.owned(&function.body),
        (Kind::Tuple(parts), Ty::Tuple(_)) => {
            let parts: Vec<_> = parts.iter().map(|p| body.hoisted(p, "output")).collect();
            quote!(Ok(vec![#(#parts),*]))
        }
        (_, Ty::Tuple(tys)) => {
            let value = body.owned(&function.body);
            let names: Vec<_> = (0..tys.len()).map(|i| ident(&format!("output_{i}"))).collect();
            body.statements.push(quote!(let (#(#names),*) = #value;));
            quote!(Ok(vec![#(#names),*]))
        }
        (_, Ty::List(_)) => {
            let value = body.owned(&function.body);
            quote!(Ok(#value))
        }
        _ => {
            let value = body.hoisted(&function.body, "output");
            quote!(Ok(vec![#value]))
        }
    };
    let statements = &body.statements;
    let counted = body.counts_outputs.then(|| quote!(let outputs = call.outputs as i64;));
    quote! {
        {
            #counted
            #(#extract)*
            #(#statements)*
            #result
        }
    }
}

fn input(param: &Param, index: usize) -> TokenStream {
    let name = ident(&rust_name(&param.name));
    match &param.ty {
        Ty::Tensor => quote!(let #name = call.input(#index)?;),
        Ty::Optional(_) => quote!(let #name = call.optional(#index);),
        _ => quote!(let #name = &call.variadic(#index);),
    }
}

fn attribute(context: &Context<'_>, lower: &Lower, param: &Param) -> TokenStream {
    let name = ident(&rust_name(&param.name));
    let stem = param.name.rsplit_once('_').map_or(param.name.as_str(), |(stem, _)| stem);
    let (inner, optional) = match &param.ty {
        Ty::Optional(inner) => (&**inner, true),
        ty => (ty, false),
    };
    let getter = ident(match inner {
        Ty::Float => "float",
        Ty::Int => "int",
        Ty::Str => "str",
        Ty::Tensor => "tensor",
        Ty::Graph => "graph",
        Ty::List(t) => match &**t {
            Ty::Float => "floats",
            Ty::Int => "ints",
            _ => "strs",
        },
        _ => "int",
    });
    let got = quote!(call.#getter(#stem));
    let borrow = if super::types::is_copy(&param.ty) { quote!() } else { quote!(&) };
    if optional {
        return quote!(let #name = #borrow #got;);
    }
    match default_of(context, lower, stem) {
        Some(default) => quote!(let #name = #borrow #got.unwrap_or_else(|| #default);),
        None => quote!(let #name = #borrow #got.ok_or_else(|| call.missing_attribute(#stem))?;),
    }
}

fn default_of(context: &Context<'_>, lower: &Lower, stem: &str) -> Option<TokenStream> {
    let version = context.schemas.onnx.versions(&lower.op).iter().find(|v| v.since == lower.form)?;
    let default = version.attributes.iter().find(|a| a.name == stem)?.default.as_ref()?;
    Some(match default {
        AttrValue::Float(f) => super::types::float(f64::from(*f)),
        AttrValue::Int(i) => super::types::int(*i),
        AttrValue::String(s) => quote!(#s.to_string()),
        AttrValue::Floats(fs) => {
            let fs = fs.iter().map(|f| super::types::float(f64::from(*f)));
            quote!(vec![#(#fs),*])
        }
        AttrValue::Ints(is) => {
            let is = is.iter().map(|i| super::types::int(*i));
            quote!(vec![#(#is),*])
        }
        AttrValue::Strings(ss) => quote!(vec![#(#ss.to_string()),*]),
    })
}

fn docs(context: &Context<'_>, function: &Function) -> TokenStream {
    let mut lines: Vec<_> = function.docs.iter().map(|d| d.trim().to_owned()).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(format!("`{}` {}", function.name, context.location(function)));
    let lines = lines.iter().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    quote!(#(#[doc = #lines])*)
}

pub(super) fn is_opaque(ty: &Ty) -> bool {
    match ty {
        Ty::Opaque(_) => true,
        Ty::Optional(t) => is_opaque(t),
        _ => false,
    }
}
