//! Lists, comprehensions and built-in functions.

use proc_macro2::TokenStream;
use quote::quote;

use super::exprs::Body;
use super::types::{is_copy, owned_type};
use aten2onnx_opmap::tree::{Builtin, Expr, Item, Kind, Names};
use aten2onnx_opmap::types::Ty;
use aten2onnx_opmap::visit;

impl Body<'_> {
    pub(super) fn list(&mut self, items: &[Item]) -> TokenStream {
        if items.iter().all(|i| matches!(i, Item::One(_))) {
            let parts: Vec<_> = items.iter().map(|i| self.item(i)).collect();
            return quote!(vec![#(#parts),*]);
        }
        let mut pieces = Vec::new();
        let mut run = Vec::new();
        for item in items {
            let value = self.item(item);
            match item {
                Item::One(_) => run.push(value),
                Item::Spread(_) => {
                    if !run.is_empty() {
                        pieces.push(quote!(vec![#(#run),*]));
                        run.clear();
                    }
                    pieces.push(value);
                }
            }
        }
        if !run.is_empty() {
            pieces.push(quote!(vec![#(#run),*]));
        }
        quote!([#(#pieces),*].concat())
    }

    fn item(&mut self, item: &Item) -> TokenStream {
        match item {
            Item::One(e) => self.hoisted(e, "item"),
            Item::Spread(e) => self.hoisted(e, "items"),
        }
    }

    pub(super) fn comprehension(
        &mut self,
        element: &Expr,
        names: &Names,
        list: &Expr,
        condition: Option<&Expr>,
    ) -> TokenStream {
        let source = match &list.kind {
            Kind::Local(_) => {
                let list = self.reference(list, "list");
                quote!((#list).iter().cloned())
            }
            _ => {
                let list = self.hoisted(list, "list");
                quote!(#list)
            }
        };
        let gathered = self.fresh("list");
        let mut pattern = quote!(_);
        let block = self.scoped(|b| {
            pattern = b.names(names);
            if let Some(condition) = condition {
                let condition = b.hoisted(condition, "condition");
                b.statements.push(quote!(if !#condition { continue; }));
            }
            let element = b.hoisted(element, "element");
            quote!(#gathered.push(#element);)
        });
        self.statements.push(quote!(let mut #gathered = Vec::new();));
        self.statements.push(quote!(for #pattern in #source #block));
        quote!(#gathered)
    }

    /// A loop that replaces a value.
    pub(super) fn fold(&mut self, state: &Names, init: &Expr, item: &Names, list: &Expr, body: &Expr) -> TokenStream {
        let (folded, ty) = (self.fresh("folded"), owned_type(&init.ty));
        let init = self.owned(init);
        self.statements.push(quote!(let mut #folded: #ty = #init;));
        let source = self.hoisted(list, "list");
        let mut pattern = quote!(_);
        let block = self.scoped(|b| {
            pattern = b.names(item);
            if let Some(items) = visit::appended(state, body) {
                let items = items.iter().map(|item| match item {
                    Item::One(_) => (b.item(item), quote!(push)),
                    Item::Spread(_) => (b.item(item), quote!(extend)),
                });
                let appends = items.map(|(value, append)| quote!(#folded.#append(#value);));
                let appends: Vec<_> = appends.collect();
                return quote!(#(#appends)*);
            }
            let state = b.names(state);
            b.statements.push(quote!(let #state = #folded;));
            let next = b.owned(body);
            quote!(#folded = #next;)
        });
        self.statements.push(quote!(for #pattern in #source #block));
        quote!(#folded)
    }

    /// A pattern that binds names.
    fn names(&mut self, names: &Names) -> TokenStream {
        match names {
            Names::One(name) => {
                let bound = self.bound(std::slice::from_ref(name));
                quote!(#(#bound)*)
            }
            Names::Tuple(names) => {
                let bound = self.bound(names);
                quote!((#(#bound),*))
            }
        }
    }

    pub(super) fn builtin(&mut self, builtin: Builtin, args: &[Expr], ty: &Ty) -> TokenStream {
        let borrowed: Vec<TokenStream> = args
            .iter()
            .map(|a| if is_copy(&a.ty) { self.hoisted(a, "value") } else { self.reference(a, "list") })
            .collect();
        let (first, second) = (borrowed.first(), borrowed.get(1));
        match builtin {
            Builtin::Len => quote!(((#first).len() as i64)),
            Builtin::Range => match borrowed.as_slice() {
                [stop] => quote!(support::range(0, #stop, 1)?),
                [start, stop] => quote!(support::range(#start, #stop, 1)?),
                _ => quote!(support::range(#(#borrowed),*)?),
            },
            Builtin::Enumerate => quote!(support::enumerate(#first)),
            Builtin::Zip => quote!(support::zip(#first, #second)),
            Builtin::Reversed => quote!(support::reversed(#first)),
            Builtin::Min | Builtin::Max => {
                let which = super::ident(if builtin == Builtin::Min { "min" } else { "max" });
                match ty {
                    Ty::SymInt => quote!(SymInt::#which(#first, #second)),
                    Ty::Float => quote!(f64::#which(#first, #second)),
                    _ => quote!(std::cmp::#which(#first, #second)),
                }
            }
            Builtin::MinOf => quote!(support::least(#first)?),
            Builtin::MaxOf => quote!(support::greatest(#first)?),
            Builtin::Sum => match ty {
                Ty::SymInt => quote!(support::sum(#first)),
                Ty::Float => quote!((#first).iter().sum::<f64>()),
                _ => quote!((#first).iter().fold(0i64, |a, b| a.saturating_add(*b))),
            },
            Builtin::Abs => match ty {
                Ty::Float => quote!(f64::abs(#first)),
                _ => quote!(i64::saturating_abs(#first)),
            },
            Builtin::Int => match args.first().map(|a| &a.ty) {
                Some(Ty::Scalar) => quote!(support::known_int(#first)?),
                Some(Ty::Bool) => quote!(i64::from(#first)),
                Some(Ty::Float) => quote!((#first as i64)),
                _ => quote!(#first),
            },
            Builtin::Float => match args.first().map(|a| &a.ty) {
                Some(Ty::Scalar) => quote!(support::known_float(#first)?),
                Some(Ty::Bool) => quote!(f64::from(u8::from(#first))),
                Some(Ty::Int) => quote!((#first as f64)),
                _ => quote!(#first),
            },
        }
    }
}
