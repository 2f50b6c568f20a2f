//! Expressions as Rust. Each call of the builder is a statement of its own, whose name comes from the operator.

mod branches;
mod operators;

use std::collections::{HashMap, HashSet};

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::types::{cloned, converted, dtype, float, int, is_copy, rust_name};
use super::{Context, ident};
use aten2onnx_opmap::syntax::ast::UnaryOp;
use aten2onnx_opmap::tree::{Expr, Item, Kind, Names, Node, Outputs, Statement, Text, short_name};
use aten2onnx_opmap::types::Ty;

/// The statements of a block being written.
pub(super) struct Body<'a> {
    pub context: &'a Context<'a>,
    pub statements: Vec<TokenStream>,
    /// Whether a name is a reference.
    borrowed: Vec<HashMap<String, bool>>,
    taken: HashSet<String>,
    /// Whether the number of requested outputs is used.
    pub counts_outputs: bool,
}

impl<'a> Body<'a> {
    pub fn new(context: &'a Context<'a>) -> Self {
        Body {
            context,
            statements: Vec::new(),
            borrowed: vec![HashMap::new()],
            taken: HashSet::new(),
            counts_outputs: false,
        }
    }

    /// Brings a name of the rule into scope.
    pub fn bind(&mut self, name: &str, borrowed: bool) {
        self.taken.insert(rust_name(name));
        if let Some(scope) = self.borrowed.last_mut() {
            scope.insert(name.to_owned(), borrowed);
        }
    }

    fn is_borrowed(&self, name: &str) -> bool {
        self.borrowed.iter().rev().find_map(|s| s.get(name)).copied().unwrap_or(false)
    }

    /// A new name.
    pub fn fresh(&mut self, base: &str) -> Ident {
        let base: String = rust_name(&snake(base));
        let mut name = base.clone();
        let mut n = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{n}");
            n += 1;
        }
        ident(&name)
    }

    /// Writes a block with its own scope.
    pub fn scoped(&mut self, write: impl FnOnce(&mut Self) -> TokenStream) -> TokenStream {
        let outer = std::mem::take(&mut self.statements);
        self.borrowed.push(HashMap::new());
        let value = write(self);
        self.borrowed.pop();
        let inner = std::mem::replace(&mut self.statements, outer);
        quote!({ #(#inner)* #value })
    }

    /// Writes a block, or only its value if there are no statements.
    fn inline(&mut self, write: impl FnOnce(&mut Self) -> TokenStream) -> TokenStream {
        let outer = std::mem::take(&mut self.statements);
        let value = write(self);
        let inner = std::mem::replace(&mut self.statements, outer);
        if inner.is_empty() { value } else { quote!({ #(#inner)* #value }) }
    }

    /// An owned value that does not call the builder: calls are bound to a name before.
    pub fn hoisted(&mut self, expr: &Expr, base: &str) -> TokenStream {
        let value = self.owned(expr);
        if !calls(expr) {
            return value;
        }
        let name = self.fresh(name_for(expr).unwrap_or(base));
        self.statements.push(quote!(let #name = #value;));
        quote!(#name)
    }

    /// The value as an argument, copied or borrowed.
    pub fn argument(&mut self, expr: &Expr, base: &str) -> TokenStream {
        if is_copy(&expr.ty) {
            return self.hoisted(expr, base);
        }
        match &expr.kind {
            Kind::Str(s) => quote!(#s),
            _ => self.reference(expr, base),
        }
    }

    /// A reference to the value.
    pub fn reference(&mut self, expr: &Expr, base: &str) -> TokenStream {
        if let Kind::Local(name) = &expr.kind {
            let local = ident(&rust_name(name));
            return if self.is_borrowed(name) { quote!(#local) } else { quote!(&#local) };
        }
        let value = self.hoisted(expr, base);
        quote!(&#value)
    }

    /// An owned value. It may call the builder itself, once.
    pub fn owned(&mut self, expr: &Expr) -> TokenStream {
        match &expr.kind {
            Kind::Int(i) => int(*i),
            Kind::Float(f) => float(*f),
            Kind::Bool(b) => quote!(#b),
            Kind::Str(s) => quote!(#s.to_string()),
            Kind::Dtype(name) => dtype(name),
            Kind::None => quote!(None),
            Kind::Local(name) => {
                let local = ident(&rust_name(name));
                cloned(quote!(#local), &expr.ty)
            }
            Kind::Opset => quote!(cx.opset()),
            Kind::Outputs => {
                self.counts_outputs = true;
                quote!(outputs)
            }
            Kind::Convert(inner) => self.convert(inner, &expr.ty),
            Kind::Unary(op, inner) => self.unary(*op, inner, &expr.ty),
            Kind::Binary(op, a, b) => self.binary(*op, a, b, &expr.ty),
            Kind::Node(node) => self.node(node),
            Kind::Rule(name, args) => self.rule_call(name, args),
            Kind::Fn(name, args) => self.fn_call(name, args),
            Kind::Extern(name, args) => self.extern_call(name, args),
            Kind::Builtin(builtin, args) => self.builtin(*builtin, args, &expr.ty),
            Kind::If { arms, condition, then, other } => self.if_else(arms[0], condition, then, other),
            Kind::IfLet { arms, name, value, then, other } => self.if_let(*arms, name, value, then, other),
            Kind::Match { value, arms } => self.match_on(value, arms),
            Kind::Coalesce { arms, value, other } => {
                let value = self.owned(value);
                let other = self.scoped(|b| b.owned(other));
                let [there, absent] = arms.map(|arm| self.taken(arm));
                quote! {
                    match #value {
                        Some(value) => { #there value }
                        None => { #absent #other }
                    }
                }
            }
            Kind::List(items) => self.list(items),
            Kind::Comprehension { element, names, list, condition } => {
                self.comprehension(element, names, list, condition.as_deref())
            }
            Kind::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(|p| self.hoisted(p, "part")).collect();
                quote!((#(#parts),*))
            }
            Kind::Index(list, index) => {
                let list = self.reference(list, "list");
                let index = self.hoisted(index, "index");
                quote!(support::item(#list, #index)?)
            }
            Kind::Slice(list, from, to) => {
                let list = self.reference(list, "list");
                let mut end = |e: &Option<Box<Expr>>| match e {
                    Some(e) => {
                        let e = self.hoisted(e, "end");
                        quote!(Some(#e))
                    }
                    None => quote!(None),
                };
                let (from, to) = (end(from), end(to));
                quote!(support::part(#list, #from, #to))
            }
            Kind::Block(statements, result) => self.scoped(|b| {
                b.block(statements);
                b.owned(result)
            }),
            Kind::Fail(parts) => self.fail(parts),
            Kind::Since(opset, reason) => quote!(return Err(Error::refused(#reason, Some(#opset)))),
            Kind::Fold { state, init, item, list, body } => self.fold(state, init, item, list, body),
            Kind::Closure(params, body) => self.closure(params, body, expr),
            Kind::Apply(graph, args) => self.apply(graph, args, &expr.ty),
        }
    }

    pub fn block(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Let(names, value) => self.let_names(names, value),
                Statement::Since(opset, reason, _) => self.statements.push(needs(*opset, reason)),
                Statement::Expr(expr) => {
                    let value = self.owned(expr);
                    self.statements.push(quote!(#value;));
                }
            }
        }
    }

    fn let_names(&mut self, names: &Names, value: &Expr) {
        match (names, &value.kind) {
            (Names::One(name), _) => {
                let owned = self.owned(value);
                self.bind(name, false);
                let name = ident(&rust_name(name));
                self.statements.push(quote!(let #name = #owned;));
            }
            (Names::Tuple(names), Kind::Node(node)) if matches!(node.outputs, Outputs::Tuple(_)) => {
                let array = self.node_array(node);
                let names = self.bound(names);
                self.statements.push(quote!(let [#(#names),*] = #array;));
            }
            (Names::Tuple(names), _) => {
                let owned = self.owned(value);
                let names = self.bound(names);
                self.statements.push(quote!(let (#(#names),*) = #owned;));
            }
        }
    }

    pub fn bound(&mut self, names: &[String]) -> Vec<TokenStream> {
        names
            .iter()
            .map(|name| {
                if name == "_" {
                    return quote!(_);
                }
                self.bind(name, false);
                let name = ident(&rust_name(name));
                quote!(#name)
            })
            .collect()
    }

    fn convert(&mut self, inner: &Expr, to: &Ty) -> TokenStream {
        if let (Kind::List(items), Ty::List(of)) = (&inner.kind, to)
            && items.iter().all(|i| matches!(i, Item::One(_)))
        {
            let parts: Vec<_> = items
                .iter()
                .map(|item| match item {
                    Item::One(e) | Item::Spread(e) => {
                        let value = self.hoisted(e, "item");
                        converted(value, &e.ty, of)
                    }
                })
                .collect();
            return quote!(vec![#(#parts),*]);
        }
        let value = self.owned(inner);
        converted(value, &inner.ty, to)
    }

    fn fail(&mut self, parts: &[Text]) -> TokenStream {
        let mut format = String::new();
        let mut values = Vec::new();
        for part in parts {
            match part {
                Text::Text(text) => format.push_str(&text.replace('{', "{{").replace('}', "}}")),
                Text::Value(value) => {
                    format.push_str("{}");
                    let value = self.reference(value, "shown");
                    values.push(quote!(support::show(#value)));
                }
            }
        }
        if values.is_empty() {
            let text = format.replace("{{", "{").replace("}}", "}");
            return quote!(return Err(Error::refused(#text, None)));
        }
        quote!(return Err(Error::refused(format!(#format, #(#values),*), None)))
    }
}

/// Whether evaluating it borrows the builder.
pub(super) fn calls(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Int(_)
        | Kind::Float(_)
        | Kind::Bool(_)
        | Kind::Str(_)
        | Kind::Dtype(_)
        | Kind::None
        | Kind::Local(_)
        | Kind::Outputs => false,
        Kind::Convert(e) => calls(e),
        Kind::Unary(UnaryOp::Neg, e) => calls(e) || e.ty == Ty::Scalar,
        Kind::Unary(_, e) => calls(e),
        Kind::Binary(_, a, b) => calls(a) || calls(b) || expr.ty == Ty::Scalar,
        Kind::Tuple(parts) => parts.iter().any(calls),
        _ => true,
    }
}

/// A name for the value of an expression.
fn name_for(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        Kind::Node(node) => Some(node_name(node)),
        Kind::Rule(name, _) => name.split("::").nth(1).and_then(|n| n.split('.').next()),
        Kind::Fn(name, _) | Kind::Extern(name, _) => Some(short_name(name)),
        Kind::Convert(inner) => name_for(inner),
        _ => None,
    }
}

fn node_name(node: &Node) -> &str {
    node.op.rsplit("::").next().unwrap_or("node")
}

/// `LayerNormalization` is `layer_normalization`.
fn snake(name: &str) -> String {
    let name = name.replace("NaN", "Nan");
    let mut out = String::new();
    let mut before_upper = true;
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            if !before_upper {
                out.push('_');
            }
            before_upper = true;
            out.push(c.to_ascii_lowercase());
        } else {
            before_upper = false;
            out.push(if c.is_ascii_alphanumeric() { c } else { '_' });
        }
    }
    out
}

/// Refuses opsets below `opset`.
pub(super) fn needs(opset: u32, reason: &str) -> TokenStream {
    let number = int(i64::from(opset));
    quote! {
        if cx.opset() < #number {
            return Err(Error::refused(#reason, Some(#opset)));
        }
    }
}
