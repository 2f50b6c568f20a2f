//! Calls of helpers, externs and other rules.

use proc_macro2::TokenStream;
use quote::quote;

use super::exprs::Body;
use super::function::is_opaque;
use super::module_of;
use super::types::function_name;
use aten2onnx_opmap::tree::{Expr, Param, is_private, short_name};

impl Body<'_> {
    pub(super) fn rule_call(&mut self, name: &str, args: &[Expr]) -> TokenStream {
        let program = self.context.program;
        let params = program.map(name).map(|m| m.function.params.as_slice());
        let args = self.arguments(params.unwrap_or(&[]), args);
        let name = function_name(name);
        quote!(super::#name(cx, #(#args),*)?)
    }

    pub(super) fn fn_call(&mut self, name: &str, args: &[Expr]) -> TokenStream {
        let program = self.context.program;
        let params = program.helper(name).map(|f| f.params.as_slice());
        let args = self.arguments(params.unwrap_or(&[]), args);
        let function = function_name(short_name(name));
        // A private helper is named by its module, because its caller may be inlined in another one.
        let module = program.helper(name).filter(|_| is_private(name)).map(|helper| {
            let module = super::ident(&module_of(&self.context.sources.file(helper.span.file).path));
            quote!(#module::)
        });
        quote!(super::#module #function(cx, #(#args),*)?)
    }

    pub(super) fn extern_call(&mut self, name: &str, args: &[Expr]) -> TokenStream {
        let program = self.context.program;
        let params = program.external(name).map(|f| f.params.as_slice());
        let args = self.arguments(params.unwrap_or(&[]), args);
        let is_own = program.external(name).is_some_and(|f| self.context.is_over_base(f.span));
        let name = function_name(name);
        if is_own {
            // A function of the crate that the rules belong to.
            return quote!(crate::externs::#name(cx, #(#args),*)?);
        }
        quote!(externs::#name(cx, #(#args),*)?)
    }

    fn arguments(&mut self, params: &[Param], args: &[Expr]) -> Vec<TokenStream> {
        params
            .iter()
            .zip(args)
            .filter(|(param, _)| !is_opaque(&param.ty))
            .map(|(param, arg)| self.argument(arg, &param.name))
            .collect()
    }
}
