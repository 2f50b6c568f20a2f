//! The `extern fn`s as a table by name, for the interpreter.

use proc_macro2::TokenStream;
use quote::quote;

use super::function::is_opaque;
use super::types::{function_name, is_copy, owned_type};
use super::{ident, pretty};
use aten2onnx_opmap::tree::{Function, Program};

/// The text of `EXTERNS`, sorted by name.
///
/// # Errors
/// A bug of the compiler.
pub fn emit(program: &Program) -> Result<String, String> {
    let rows = program.externs.iter().map(row);
    pretty(quote! {
        /// Every `extern fn`, sorted by name.
        pub static EXTERNS: &[(&str, ExternFn)] = &[#(#rows),*];
    })
}

/// `("pads", |cx, args| ..)`: each argument becomes what the function takes, its result a value again.
fn row(function: &Function) -> TokenStream {
    let name = &function.name;
    let path = function_name(name);
    let params: Vec<_> = function.params.iter().filter(|p| !is_opaque(&p.ty)).collect();
    let names: Vec<_> = (0..params.len()).map(|i| ident(&format!("arg_{i}"))).collect();
    let lets = names.iter().zip(&params).map(|(name, param)| {
        let ty = owned_type(&param.ty);
        quote!(let #name: #ty = args.take()?;)
    });
    let passed = names.iter().zip(&params).map(|(name, p)| if is_copy(&p.ty) { quote!(#name) } else { quote!(&#name) });
    let args = if params.is_empty() { quote!(_) } else { quote!(args) };
    quote! {
        (#name, |cx, #args| {
            #(#lets)*
            Ok(externs::#path(cx, #(#passed),*)?.into())
        })
    }
}
