//! Graphs as values: closures, and calls of graphs.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::exprs::Body;
use super::ident;
use super::types::{cloned, is_copy, rust_name};
use aten2onnx_opmap::tree::{ClosureParams, Expr, Item, Kind};
use aten2onnx_opmap::types::Ty;
use aten2onnx_opmap::visit;

impl Body<'_> {
    /// A closure that owns what it uses.
    pub(super) fn closure(&mut self, params: &ClosureParams, body: &Expr, whole: &Expr) -> TokenStream {
        let captured: Vec<_> = visit::free_names(whole).into_iter().collect();
        let clones = captured.iter().filter(|(_, ty)| !is_copy(ty)).map(|(name, ty)| {
            let local = ident(&rust_name(name));
            let owned = cloned(quote!(#local), ty);
            quote!(let #local = #owned;)
        });
        let clones: Vec<_> = clones.collect();
        let inputs = self.fresh("inputs");
        let block = self.scoped(|b| {
            captured.iter().for_each(|(name, _)| b.bind(name, false));
            b.closure_body(&inputs, params, body)
        });
        quote!({ #(#clones)* Graph::function(move |cx: &mut Builder, #inputs: &[Value]| #block) })
    }

    /// The statements of a closure whose inputs are in the variable `inputs`, and its outputs.
    pub(super) fn closure_body(&mut self, inputs: &Ident, params: &ClosureParams, body: &Expr) -> TokenStream {
        let count = params.names.len();
        let names = self.bound(&params.names);
        let bound = match &params.rest {
            None => quote!(let [#(#names),*] = support::arguments::<#count>(#inputs)?;),
            Some(rest) => {
                let rest = self.bound(std::slice::from_ref(rest));
                quote!(let ([#(#names),*], #(#rest)*) = support::arguments_and_rest::<#count>(#inputs)?;)
            }
        };
        self.statements.push(bound);
        match &body.ty {
            Ty::Tuple(tys) if !matches!(body.kind, Kind::Tuple(_)) => {
                let value = self.owned(body);
                let names: Vec<_> = (0..tys.len()).map(|i| ident(&format!("output_{i}"))).collect();
                self.statements.push(quote!(let (#(#names),*) = #value;));
                quote!(Ok(vec![#(#names),*]))
            }
            Ty::Tuple(_) => {
                let Kind::Tuple(parts) = &body.kind else { return quote!() };
                let parts: Vec<_> = parts.iter().map(|p| self.hoisted(p, "output")).collect();
                quote!(Ok(vec![#(#parts),*]))
            }
            Ty::List(_) => {
                let value = self.owned(body);
                quote!(Ok(#value))
            }
            _ => {
                let value = self.hoisted(body, "output");
                quote!(Ok(vec![#value]))
            }
        }
    }

    /// The results of a graph for these inputs.
    pub(super) fn apply(&mut self, graph: &Expr, args: &[Item], ty: &Ty) -> TokenStream {
        let graph = self.reference(graph, "graph");
        let inputs = self.list(args);
        let call = quote!(cx.apply(#graph, &#inputs)?);
        let count = match ty {
            Ty::List(_) => return call,
            Ty::Tuple(tys) => tys.len(),
            _ => 1,
        };
        let names: Vec<_> = (0..count).map(|i| self.fresh(&format!("output_{i}"))).collect();
        self.statements.push(quote!(let [#(#names),*] = support::array::<#count>(#call)?;));
        if let [name] = names.as_slice() { quote!(#name) } else { quote!((#(#names),*)) }
    }
}
