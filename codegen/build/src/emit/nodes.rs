//! Nodes: inputs, attributes, graphs, outputs.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::exprs::Body;
use super::ident;
use super::types::{is_copy, peeled};
use aten2onnx_operators::plan::{self, Unseen};
use aten2onnx_opmap::tree::{AttrForm, ClosureParams, Expr, Input, Kind, Lower, Node, Outputs, Stated};
use aten2onnx_opmap::types::Ty;
use aten2onnx_opmap::visit;

/// The largest lowering that is inlined, in expressions.
const MOST_INLINED: usize = 14;

impl<'a> Body<'a> {
    /// A node as one value, a tuple or a list.
    pub(super) fn node(&mut self, node: &Node) -> TokenStream {
        match &node.outputs {
            Outputs::One => self.node_call(node, "node1", None),
            Outputs::List(count) => {
                let count = self.hoisted(count, "count");
                self.node_call(node, "node", Some(quote!(support::count(#count)?)))
            }
            Outputs::Typed(stated) => self.foreign(node, stated),
            Outputs::Tuple(count) => {
                let array = self.node_array(node);
                let names: Vec<_> = (0..*count).map(|i| self.fresh(&format!("output_{i}"))).collect();
                self.statements.push(quote!(let [#(#names),*] = #array;));
                quote!((#(#names),*))
            }
        }
    }

    /// A node with a fixed number of outputs, as an array.
    pub(super) fn node_array(&mut self, node: &Node) -> TokenStream {
        let Outputs::Tuple(count) = &node.outputs else { return quote!([]) };
        let call = self.node_call(node, "node", Some(quote!(#count)));
        quote!(support::array::<#count>(#call)?)
    }

    fn node_call(&mut self, node: &Node, method: &str, outputs: Option<TokenStream>) -> TokenStream {
        let inputs: Vec<_> = node.inputs.iter().map(|i| self.input(i)).collect();
        let mut inputs = quote!(vec![#(#inputs),*]);
        if node.attrs.iter().any(is_graph) {
            let name = self.fresh("inputs");
            self.statements.push(quote!(let #name: Vec<In> = #inputs;));
            inputs = quote!(#name);
        }
        let attrs = self.attributes(node, &inputs);
        let op = &node.op;
        let outputs = outputs.map(|o| quote!(, #o));
        let before = node.form + 1;
        if let Some(lower) = self.inlined(node) {
            let since = lower.before;
            let body = super::function::lower_body(self.context, lower);
            let lower = quote!(|cx: &mut Builder, call: &NodeCall| -> Result<Vec<Value>> #body);
            let method = ident(&format!("{method}_in"));
            return quote!(cx.#method(OperatorForm::before(#before).lowered_by(#since, #lower), #op, #inputs, #attrs #outputs)?);
        }
        if node.form == self.context.newest {
            let method = ident(method);
            return quote!(cx.#method(#op, #inputs, #attrs #outputs)?);
        }
        let method = ident(&format!("{method}_in"));
        quote!(cx.#method(OperatorForm::before(#before), #op, #inputs, #attrs #outputs)?)
    }

    /// A node of another domain, whose outputs are of stated types.
    fn foreign(&mut self, node: &Node, stated: &[Stated]) -> TokenStream {
        let types: Vec<_> = stated
            .iter()
            .map(|output| {
                let (dtype, shape) = (self.hoisted(&output.dtype, "dtype"), self.hoisted(&output.shape, "shape"));
                quote!((#dtype, #shape))
            })
            .collect();
        let inputs: Vec<_> = node.inputs.iter().map(|i| self.input(i)).collect();
        let inputs = quote!(vec![#(#inputs),*]);
        let attrs = self.attributes(node, &inputs);
        let (op, version, count) = (&node.op, node.form, stated.len());
        let call = quote!(cx.foreign(#op, #version, #inputs, #attrs, vec![#(#types),*])?);
        let names: Vec<_> = (0..count).map(|i| self.fresh(&format!("output_{i}"))).collect();
        self.statements.push(quote!(let [#(#names),*] = support::array::<#count>(#call)?;));
        if let [name] = names.as_slice() { quote!(#name) } else { quote!((#(#names),*)) }
    }

    /// The lowering that replaces a call: a short one, in an exporter for a single opset that certainly needs it.
    fn inlined(&self, node: &Node) -> Option<&'a Lower> {
        let context = self.context;
        let opset = context.only?;
        let (program, schemas) = (context.program, context.schemas);
        let newer = schemas.onnx.versions(&node.op).iter().rev();
        for version in newer.filter(|v| opset < v.since && v.since <= node.form) {
            let lower = program.lower(&node.op, version.since);
            let difference = schemas.difference(&node.op, version.since, program.same(&node.op, version.since));
            let fate = plan::below(difference, lower.is_some(), &Unseen);
            if fate.lowered || fate.refused {
                return lower.filter(|lower| fate.is_lowered() && is_short(&lower.function.body));
            }
        }
        None
    }

    fn input(&mut self, input: &Input) -> TokenStream {
        match input {
            Input::Absent => quote!(In::None),
            Input::Tensor(e) | Input::Optional(e) => {
                let value = self.hoisted(e, "input");
                quote!(#value.into())
            }
            Input::Number(e) => {
                let inner = peeled(e);
                match inner.ty {
                    Ty::Int | Ty::Float | Ty::Bool => {
                        let value = self.hoisted(inner, "number");
                        quote!(In::from(#value))
                    }
                    _ => {
                        let value = self.reference(inner, "number");
                        quote!(In::from(#value))
                    }
                }
            }
            Input::OptionalNumber(e) => {
                let value = self.reference(e, "number");
                quote!(In::from(#value))
            }
            Input::Ints(e) => {
                let value = self.hoisted(strip(e), "sizes");
                quote!(In::from(#value))
            }
            Input::Floats(e) => {
                let value = self.hoisted(e, "floats");
                quote!(In::Floats(#value))
            }
            Input::Spread(e) => {
                let value = self.hoisted(e, "list");
                quote!(In::Values(#value))
            }
        }
    }

    fn attributes(&mut self, node: &Node, inputs: &TokenStream) -> TokenStream {
        if !node.attrs.iter().any(|a| is_graph(a) || matches!(a.2.ty, Ty::Optional(_))) {
            let attrs: Vec<_> = node
                .attrs
                .iter()
                .map(|(name, form, value)| {
                    let value = self.attribute(name, *form, value);
                    quote!((#name, #value))
                })
                .collect();
            return quote!(vec![#(#attrs),*]);
        }
        let list = self.fresh("attrs");
        self.statements.push(quote!(let mut #list: Vec<(&'static str, Attr)> = Vec::new();));
        // Graphs come last, because the types of their inputs depend on the other attributes.
        let (bodies, others): (Vec<_>, Vec<_>) = node.attrs.iter().partition(|a| is_graph(a));
        for (name, form, value) in others.into_iter().chain(bodies) {
            if let Kind::Closure(params, body) = &value.kind {
                let graph = self.graph(node, name, params, body, inputs, &list);
                self.statements.push(quote!(#list.push((#name, #graph));));
                continue;
            }
            if *form == AttrForm::Graph {
                let (graph, attr, op) = (self.reference(value, name), self.fresh(name), &node.op);
                self.statements.push(quote!(let #attr = cx.graph_attr(#graph, #op, #name, &#inputs, &#list)?;));
                self.statements.push(quote!(#list.push((#name, #attr));));
                continue;
            }
            let Ty::Optional(inner) = &value.ty else {
                let value = self.attribute(name, *form, value);
                self.statements.push(quote!(#list.push((#name, #value));));
                continue;
            };
            let copy = is_copy(inner);
            let given = if copy { self.hoisted(value, name) } else { self.reference(value, name) };
            let attr = attr(*form, quote!(value), inner);
            self.statements.push(quote! {
                if let Some(value) = #given {
                    #list.push((#name, #attr));
                }
            });
        }
        quote!(#list)
    }

    fn attribute(&mut self, name: &str, form: AttrForm, value: &Expr) -> TokenStream {
        let copy = is_copy(&value.ty);
        let given = if copy { self.hoisted(value, name) } else { self.reference(value, name) };
        attr(form, given, &value.ty)
    }

    /// A graph of a `_g` attribute. The types of its inputs come from those of the node.
    fn graph(
        &mut self,
        node: &Node,
        name: &str,
        params: &ClosureParams,
        body: &Expr,
        inputs: &TokenStream,
        attrs: &Ident,
    ) -> TokenStream {
        let types = self.fresh(&format!("{name}_inputs"));
        let op = &node.op;
        self.statements.push(quote!(let #types = cx.body_params(#op, #name, &#inputs, &#attrs)?;));
        let given = self.fresh("inputs");
        let block = self.scoped(|b| b.closure_body(&given, params, body));
        let graph = self.fresh(name);
        self.statements.push(quote!(let #graph = cx.body(&#types, |cx: &mut Builder, #given: &[Value]| #block)?;));
        quote!(#graph)
    }
}

fn is_graph(attr: &(String, AttrForm, Expr)) -> bool {
    attr.1 == AttrForm::Graph
}

/// Whether it is short enough to be inlined.
fn is_short(body: &Expr) -> bool {
    let mut size = 0;
    visit::walk(body, &mut |_| size += 1);
    size <= MOST_INLINED
}

/// The list without a conversion of its elements: a list of ints can be an input.
fn strip(expr: &Expr) -> &Expr {
    match &expr.kind {
        Kind::Convert(inner) if inner.ty == Ty::list(Ty::Int) => inner,
        _ => expr,
    }
}

/// An attribute from a copied or borrowed value.
fn attr(form: AttrForm, value: TokenStream, ty: &Ty) -> TokenStream {
    let inner = match ty {
        Ty::Optional(inner) => inner,
        ty => ty,
    };
    match (form, inner) {
        (AttrForm::Float, Ty::Int) => quote!(Attr::Float(#value as f64)),
        (AttrForm::Float, Ty::Scalar) => quote!(Attr::Float(support::known_float(#value)?)),
        (AttrForm::Float, _) => quote!(Attr::Float(#value)),
        (AttrForm::Int, Ty::Bool) => quote!(Attr::Int(i64::from(#value))),
        (AttrForm::Int, Ty::ScalarType) => quote!(Attr::Int(i64::from((#value).onnx()))),
        (AttrForm::Int, _) => quote!(Attr::Int(#value)),
        (AttrForm::Str, _) => quote!(Attr::Str((#value).to_string())),
        (AttrForm::Floats, Ty::List(t)) if **t == Ty::Int => {
            quote!(Attr::Floats((#value).iter().map(|x| *x as f64).collect()))
        }
        (AttrForm::Floats, _) => quote!(Attr::Floats((#value).to_vec())),
        (AttrForm::Ints, _) => quote!(Attr::Ints((#value).to_vec())),
        (AttrForm::Strs, _) => quote!(Attr::Strs((#value).to_vec())),
        (AttrForm::Tensor, _) => quote!(Attr::Tensor(#value)),
        // `Body::attributes` makes graphs.
        (AttrForm::Graph, _) => quote!(compile_error!("a graph as a value")),
    }
}
