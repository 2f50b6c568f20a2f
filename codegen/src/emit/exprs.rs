//! Expressions as Rust. What calls the builder stands in a statement of its own, named after what it makes.

use std::collections::{HashMap, HashSet};

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::types::{cloned, converted, dtype, float, int, is_copy, peeled, rust_name};
use super::{Context, ident};
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Expr, Item, Kind, Names, Node, Outputs, Pattern, Statement, Text};
use crate::types::Ty;

/// The statements of a block being written.
pub(super) struct Body<'a> {
    pub context: &'a Context<'a>,
    pub statements: Vec<TokenStream>,
    /// Is a name a borrow?
    borrowed: Vec<HashMap<String, bool>>,
    taken: HashSet<String>,
    /// Does it ask how many outputs are wanted?
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

    /// A name that nothing else has.
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

    /// Writes in a block of its own; what it binds ends with it.
    pub fn scoped(&mut self, write: impl FnOnce(&mut Self) -> TokenStream) -> TokenStream {
        let outer = std::mem::take(&mut self.statements);
        self.borrowed.push(HashMap::new());
        let value = write(self);
        self.borrowed.pop();
        let inner = std::mem::replace(&mut self.statements, outer);
        quote!({ #(#inner)* #value })
    }

    /// The same, without braces where there is nothing to hold.
    fn inline(&mut self, write: impl FnOnce(&mut Self) -> TokenStream) -> TokenStream {
        let outer = std::mem::take(&mut self.statements);
        let value = write(self);
        let inner = std::mem::replace(&mut self.statements, outer);
        if inner.is_empty() { value } else { quote!({ #(#inner)* #value }) }
    }

    /// An owned value that is a mere name or constant: whatever calls the builder has been done before.
    pub fn hoisted(&mut self, expr: &Expr, base: &str) -> TokenStream {
        let value = self.owned(expr);
        if !calls(expr) {
            return value;
        }
        let name = self.fresh(name_for(expr).unwrap_or(base));
        self.statements.push(quote!(let #name = #value;));
        quote!(#name)
    }

    /// The value as an argument: by value if it is copied, else borrowed.
    pub fn argument(&mut self, expr: &Expr, base: &str) -> TokenStream {
        if is_copy(&expr.ty) {
            return self.hoisted(expr, base);
        }
        match &expr.kind {
            Kind::Str(s) => quote!(#s),
            _ => self.reference(expr, base),
        }
    }

    /// A borrow of the value.
    pub fn reference(&mut self, expr: &Expr, base: &str) -> TokenStream {
        if let Kind::Local(name) = &expr.kind {
            let local = ident(&rust_name(name));
            return if self.is_borrowed(name) { quote!(#local) } else { quote!(&#local) };
        }
        let value = self.hoisted(expr, base);
        quote!(&#value)
    }

    /// An owned value; it may still call the builder itself, once.
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
                let [there, absent] = arms.map(|arm| self.context.arm(arm));
                quote! {
                    match #value {
                        Some(value) => { cx.arm(#there); value }
                        None => { cx.arm(#absent); #other }
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
            Kind::Closure(..) => quote!(compile_error!("a graph outside an attribute")),
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

    fn unary(&mut self, op: UnaryOp, inner: &Expr, ty: &Ty) -> TokenStream {
        match (op, ty) {
            (UnaryOp::Neg, Ty::Int) => {
                let value = self.hoisted(inner, "value");
                quote!(0i64.saturating_sub(#value))
            }
            (UnaryOp::Neg, Ty::SymInt) => {
                let value = self.reference(inner, "value");
                quote!((-(#value)))
            }
            (UnaryOp::Neg, Ty::Scalar) => {
                let value = self.reference(inner, "value");
                quote!(cx.scalar_neg(#value)?)
            }
            (UnaryOp::Neg, _) => {
                let value = self.hoisted(inner, "value");
                quote!((-(#value)))
            }
            (UnaryOp::Not, _) => {
                let value = self.inline(|b| b.owned(inner));
                quote!((!(#value)))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, ty: &Ty) -> TokenStream {
        match op {
            BinaryOp::And | BinaryOp::Or => {
                let left = self.inline(|x| x.owned(a));
                let right = self.inline(|x| x.owned(b));
                match op {
                    BinaryOp::And => quote!((#left && #right)),
                    _ => quote!((#left || #right)),
                }
            }
            BinaryOp::In => {
                let (item, list) = (self.reference(a, "item"), self.reference(b, "list"));
                quote!((#list).contains(#item))
            }
            BinaryOp::Eq | BinaryOp::Ne => self.equal(op, a, b),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let (left, right) = (self.ordered(a), self.ordered(b));
                match op {
                    BinaryOp::Lt => quote!((#left < #right)),
                    BinaryOp::Le => quote!((#left <= #right)),
                    BinaryOp::Gt => quote!((#left > #right)),
                    _ => quote!((#left >= #right)),
                }
            }
            _ => self.arithmetic(op, a, b, ty),
        }
    }

    fn ordered(&mut self, side: &Expr) -> TokenStream {
        if side.ty == Ty::Scalar {
            let value = self.reference(side, "number");
            return quote!(support::known_float(#value)?);
        }
        self.hoisted(side, "number")
    }

    fn equal(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> TokenStream {
        let none = |e: &Expr| matches!(e.kind, Kind::None);
        let equal = if none(a) || none(b) {
            let value = self.reference(if none(a) { b } else { a }, "value");
            quote!((#value).is_none())
        } else if is_copy(&a.ty) && is_copy(&b.ty) {
            let (left, right) = (self.hoisted(a, "left"), self.hoisted(b, "right"));
            quote!((#left == #right))
        } else if a.ty == Ty::Str || a.ty == Ty::optional(Ty::Str) {
            let (left, right) = (self.text(a), self.text(b));
            quote!((#left == #right))
        } else {
            let (left, right) = (self.reference(a, "left"), self.reference(b, "right"));
            quote!((*(#left) == *(#right)))
        };
        if op == BinaryOp::Ne { quote!((!#equal)) } else { equal }
    }

    /// A string (or an optional one) as `&str` (or `Option<&str>`).
    pub fn text(&mut self, expr: &Expr) -> TokenStream {
        let literal = peeled(expr);
        match (&literal.kind, &expr.ty) {
            (Kind::Str(s), Ty::Optional(_)) => quote!(Some(#s)),
            (Kind::Str(s), _) => quote!(#s),
            (_, Ty::Optional(_)) => {
                let value = self.reference(expr, "text");
                quote!((#value).as_deref())
            }
            _ => {
                let value = self.reference(expr, "text");
                quote!(AsRef::<str>::as_ref(#value))
            }
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, a: &Expr, b: &Expr, ty: &Ty) -> TokenStream {
        match ty {
            Ty::Int => {
                let (a, b) = (self.hoisted(a, "left"), self.hoisted(b, "right"));
                match op {
                    BinaryOp::Add => quote!(i64::saturating_add(#a, #b)),
                    BinaryOp::Sub => quote!(i64::saturating_sub(#a, #b)),
                    BinaryOp::Mul => quote!(i64::saturating_mul(#a, #b)),
                    BinaryOp::Div => quote!(support::floor_div(#a, #b)?),
                    BinaryOp::Rem => quote!(support::modulo(#a, #b)?),
                    _ => quote!(support::power(#a, #b)?),
                }
            }
            Ty::Float => {
                let (a, b) = (self.hoisted(a, "left"), self.hoisted(b, "right"));
                match op {
                    BinaryOp::Add => quote!((#a + #b)),
                    BinaryOp::Sub => quote!((#a - #b)),
                    BinaryOp::Mul => quote!((#a * #b)),
                    BinaryOp::Div => quote!((#a / #b)),
                    BinaryOp::Rem => quote!(f64::rem_euclid(#a, #b)),
                    _ => quote!(f64::powf(#a, #b)),
                }
            }
            Ty::SymInt => {
                let (a, b) = (self.reference(a, "left"), self.reference(b, "right"));
                match op {
                    BinaryOp::Add => quote!(((#a) + (#b))),
                    BinaryOp::Sub => quote!(((#a) - (#b))),
                    BinaryOp::Mul => quote!(((#a) * (#b))),
                    BinaryOp::Div => quote!(SymInt::floor_div(#a, #b)),
                    _ => quote!(SymInt::modulo(#a, #b)),
                }
            }
            _ => {
                let (a, b) = (self.reference(a, "left"), self.reference(b, "right"));
                let op = ident(match op {
                    BinaryOp::Add => "Add",
                    BinaryOp::Sub => "Sub",
                    BinaryOp::Mul => "Mul",
                    BinaryOp::Div => "Div",
                    BinaryOp::Rem => "Mod",
                    _ => "Pow",
                });
                quote!(cx.scalar_op(ScalarOp::#op, #a, #b)?)
            }
        }
    }

    fn if_else(&mut self, arm: u32, condition: &Expr, then: &Expr, other: &Expr) -> TokenStream {
        let arm = self.context.arm(arm);
        let condition = self.hoisted(condition, "condition");
        let then = self.scoped(|b| b.owned(then));
        if matches!(&other.kind, Kind::Tuple(parts) if parts.is_empty()) {
            return quote!(if cx.branch(#arm, #condition) #then);
        }
        let other = self.scoped(|b| b.owned(other));
        quote!(if cx.branch(#arm, #condition) #then else #other)
    }

    fn if_let(&mut self, arms: [u32; 2], name: &str, value: &Expr, then: &Expr, other: &Expr) -> TokenStream {
        let copy = is_copy(&value.ty);
        let value = if copy { self.hoisted(value, "value") } else { self.reference(value, "value") };
        let [there, absent] = arms.map(|arm| self.context.arm(arm));
        let then = self.scoped(|b| {
            b.bind(name, !copy);
            b.statements.push(quote!(cx.arm(#there);));
            b.owned(then)
        });
        let name = ident(&rust_name(name));
        let other = self.scoped(|b| {
            b.statements.push(quote!(cx.arm(#absent);));
            b.owned(other)
        });
        quote!(if let Some(#name) = #value #then else #other)
    }

    fn match_on(&mut self, value: &Expr, arms: &[crate::tree::MatchArm]) -> TokenStream {
        let scrutinee = self.scrutinee(value);
        let mut written = Vec::new();
        for arm in arms {
            for pattern in &arm.patterns {
                let outer = self.borrowed.len();
                self.borrowed.push(HashMap::new());
                let mut guards = Vec::new();
                let pattern = self.pattern(pattern, &value.ty, &mut guards);
                let number = self.context.arm(arm.arm);
                let body = self.scoped(|b| {
                    b.statements.push(quote!(cx.arm(#number);));
                    b.owned(&arm.value)
                });
                self.borrowed.truncate(outer);
                let guard = if guards.is_empty() { quote!() } else { quote!(if #(#guards)&&*) };
                written.push(quote!(#pattern #guard => #body));
            }
        }
        quote!(match #scrutinee { #(#written)* })
    }

    /// The value in the form that patterns match: copied, or borrowed.
    fn scrutinee(&mut self, value: &Expr) -> TokenStream {
        if let Kind::Tuple(parts) = &value.kind {
            let parts: Vec<_> = parts.iter().map(|p| self.scrutinee(p)).collect();
            return quote!((#(#parts),*));
        }
        match &value.ty {
            Ty::Str => self.text(value),
            Ty::Optional(t) if **t == Ty::Str => self.text(value),
            ty if is_copy(ty) => self.hoisted(value, "value"),
            Ty::Optional(_) => {
                let value = self.reference(value, "value");
                quote!((#value).as_ref())
            }
            _ => self.reference(value, "value"),
        }
    }

    fn pattern(&mut self, pattern: &Pattern, ty: &Ty, guards: &mut Vec<TokenStream>) -> TokenStream {
        let (inner, optional) = match ty {
            Ty::Optional(inner) => (&**inner, true),
            ty => (ty, false),
        };
        let some = |p: TokenStream| if optional { quote!(Some(#p)) } else { p };
        match pattern {
            Pattern::Wild => quote!(_),
            Pattern::None => quote!(None),
            Pattern::Bind { name, unwrap } => {
                self.bind(name, !is_copy(ty));
                let name = ident(&rust_name(name));
                if *unwrap { quote!(Some(#name)) } else { quote!(#name) }
            }
            Pattern::Literal(literal) => match inner {
                Ty::Str => {
                    let Kind::Str(text) = &peeled(literal).kind else { return quote!(_) };
                    some(quote!(#text))
                }
                Ty::Int | Ty::Bool | Ty::ScalarType => {
                    let literal = self.owned(literal);
                    some(quote!(#literal))
                }
                _ => {
                    let name = self.fresh("case");
                    let literal = self.owned(literal);
                    guards.push(match is_copy(inner) {
                        true => quote!(#name == #literal),
                        false => quote!(*#name == #literal),
                    });
                    some(quote!(#name))
                }
            },
            Pattern::Tuple(parts) => {
                let Ty::Tuple(tys) = ty else { return quote!(_) };
                let parts: Vec<_> = parts.iter().zip(tys).map(|(p, t)| self.pattern(p, t, guards)).collect();
                quote!((#(#parts),*))
            }
        }
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

/// Does evaluating it borrow the builder?
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

/// A good name for what an expression makes.
fn name_for(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        Kind::Node(node) => Some(node_name(node)),
        Kind::Rule(name, _) => name.split("::").nth(1).and_then(|n| n.split('.').next()),
        Kind::Fn(name, _) | Kind::Extern(name, _) => Some(name),
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

/// Refuses opsets below one.
pub(super) fn needs(opset: u32, reason: &str) -> TokenStream {
    let number = int(i64::from(opset));
    quote! {
        if cx.opset() < #number {
            return Err(Error::refused(#reason, Some(#opset)));
        }
    }
}
