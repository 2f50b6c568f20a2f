//! Calls of ONNX operators: inputs, attributes and outputs against the schema of the form that the call is in.

use super::calls::value_of;
use super::headers::attr_type;
use super::words::{UNWRAP, a, attribute_fact, inputs_fact, kind_name, number_of, opsets, quoted, short, types_fact};
use super::{Checker, did_you_mean};
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::schema::onnx::{AttrKind, Attribute, Port, PortOption, Version};
use crate::source::Span;
use crate::syntax::ast::{self, Argument, ExprKind, Ident, OnnxName};
use crate::tree::{AttrForm, Expr, Input, Kind, Node, Outputs};
use crate::types::Ty;

/// A value given for an input.
pub(super) struct Given {
    pub expr: Expr,
    pub spread: bool,
}

impl<'w> Checker<'w> {
    pub(super) fn node(&mut self, name: &OnnxName, args: &[Argument], want: Option<&Ty>, span: Span) -> Expr {
        if let Some(domain) = &name.domain {
            return self.foreign_node(domain, name, args, span);
        }
        let op = name.full();
        let Some(version) = self.version(&op, name.span) else {
            for arg in args {
                self.unchecked(value_of(arg));
            }
            return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
        };
        let mut given = Vec::new();
        let mut attrs: Vec<(String, AttrForm, Expr)> = Vec::new();
        let mut count = None;
        for arg in args {
            match arg {
                Argument::Positional(e) => given.push(Given { expr: self.input_value(e), spread: false }),
                Argument::Spread(e) => {
                    given.push(Given { expr: self.expr(e, Some(&Ty::list(Ty::Tensor))), spread: true })
                }
                Argument::Named(n, e) if n.text == "outputs" => count = Some((n.span, self.expr_as(e, &Ty::Int))),
                Argument::Named(n, e) => {
                    if let Some(attr) = self.attribute(&op, version, n, e) {
                        if let Some(first) = attrs.iter().find(|a| a.0 == attr.0) {
                            let text = format!("the attribute `{}` is given twice", attr.0);
                            self.out.push(Diagnostic::new("E0307", n.span, text).also(first.2.span, "first here"));
                        }
                        attrs.push(attr);
                    }
                }
            }
        }
        required_attributes(&op, version, name.span, args, self.out);
        let misplaced =
            |port: &Port| args.iter().any(|a| matches!(a, Argument::Named(n, _) if stem(&n.text).0 == port.name));
        let inputs = self.inputs(&op, version, given, &misplaced, span);
        let (outputs, ty) = self.outputs(&op, version, count, want, span);
        let node = Node { op, form: self.form, inputs, attrs, outputs };
        Expr::new(Kind::Node(Box::new(node)), ty, span)
    }

    /// A node without attributes whose inputs are checked already.
    pub(super) fn plain_node(&mut self, op: &str, given: Vec<Given>, span: Span) -> Expr {
        let Some(version) = self.version(op, span) else {
            return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
        };
        let inputs = self.inputs(op, version, given, &|_| false, span);
        let node = Node { op: op.to_owned(), form: self.form, inputs, attrs: Vec::new(), outputs: Outputs::One };
        Expr::new(Kind::Node(Box::new(node)), Ty::Tensor, span)
    }

    /// `None` as an input is an absent one; everything else is an expression.
    fn input_value(&mut self, expr: &ast::Expr) -> Expr {
        self.expr(expr, None)
    }

    /// The schema of the operator in the form of this rule, or an error.
    fn version(&mut self, op: &str, span: Span) -> Option<&'w Version> {
        let onnx = &self.world.schemas.onnx;
        let Some(versions) = onnx.ops.get(op) else {
            let diagnostic = Diagnostic::new("E0102", span, format!("ONNX has no operator `{op}`")).label("unknown");
            self.out.push(did_you_mean(diagnostic, onnx.nearest(op)));
            return None;
        };
        let Some(version) = versions.iter().rev().find(|v| v.since <= self.form) else {
            let since = versions.first().map_or(0, |v| v.since);
            let text = format!("`{op}` does not exist in opset {}", self.form);
            let diagnostic = Diagnostic::new("E0102", span, text)
                .label(format!("came with opset {since}"))
                .note(format!("inside `{}` capitalised names mean the operators of opset {}", self.rule, self.form));
            self.out.push(diagnostic);
            return None;
        };
        if version.deprecated {
            let text = format!("`{op}` is deprecated since opset {}", version.since);
            let mut diagnostic = Diagnostic::new("E0308", span, text).label("must not be used");
            if let Some((_, successor)) = SUCCESSORS.iter().find(|s| s.0 == op) {
                diagnostic = diagnostic.help(format!("use `{successor}`"));
            }
            self.out.push(diagnostic);
            return None;
        }
        Some(version)
    }

    pub(super) fn attribute(
        &mut self,
        op: &str,
        version: &Version,
        name: &Ident,
        value: &ast::Expr,
    ) -> Option<(String, AttrForm, Expr)> {
        let (stem, suffix) = stem(&name.text);
        let by_name = |n: &str| version.attributes.iter().find(|a| a.name == n);
        let Some(attribute) = by_name(stem).or_else(|| by_name(&name.text)) else {
            return self.unknown_attribute(op, version, name, value);
        };
        let Some((wanted, ty)) = attr_type(attribute.kind) else {
            let text = format!("the attribute `{}` of `{op}` has a type that opmap cannot say", attribute.name);
            self.out.push(Diagnostic::new("E0303", name.span, text).note(attribute_fact(op, version, attribute)));
            return None;
        };
        if suffix != Some(wanted) || attribute.name != stem {
            let text = format!("attribute `{}` of `{op}` is {}", attribute.name, kind_name(attribute.kind));
            self.out.push(
                Diagnostic::new("E0301", name.span, text)
                    .label(format!("write `{}_{wanted}`", attribute.name))
                    .note(attribute_fact(op, version, attribute)),
            );
        }
        let value = self.attribute_value(op, version, attribute, value, &ty)?;
        Some((attribute.name.clone(), form(attribute.kind)?, value))
    }

    fn unknown_attribute(
        &mut self,
        op: &str,
        version: &Version,
        name: &Ident,
        value: &ast::Expr,
    ) -> Option<(String, AttrForm, Expr)> {
        self.unchecked(value);
        let (stem, _) = stem(&name.text);
        let suffixed = |a: &Attribute| attr_type(a.kind).map_or(a.name.clone(), |(s, _)| format!("{}_{s}", a.name));
        let all: Vec<String> = version.attributes.iter().map(suffixed).collect();
        let mut diagnostic =
            Diagnostic::new("E0302", name.span, format!("`{op}` has no attribute `{stem}`")).label("unknown attribute");
        if let Some(input) = version.inputs.iter().find(|i| i.name == stem) {
            let inputs = version.inputs.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join(", ");
            self.out.push(
                diagnostic
                    .note(format!("`{}` is an input of {op}-{}", input.name, version.since))
                    .help(format!("give it in its place: `{op}({inputs})`")),
            );
            return None;
        }
        let others = self.world.schemas.onnx.versions(op).iter().filter(|v| v.attribute(stem).is_some());
        let others: Vec<u32> = others.map(|v| v.since).collect();
        if !others.is_empty() {
            diagnostic =
                diagnostic.note(format!("`{op}` has it in the versions from {} only", opsets(others.into_iter())));
        }
        diagnostic = diagnostic.note(match all.is_empty() {
            true => format!("{op}-{} has no attributes", version.since),
            false => format!("{op}-{} has {}", version.since, quoted(all.iter().map(String::as_str))),
        });
        let candidate = nearest(&name.text, all.iter().map(String::as_str)).or_else(|| only(&all).map(String::as_str));
        self.out.push(did_you_mean(diagnostic, candidate));
        None
    }

    /// What has no place to be checked for: its names are used all the same, and what is wrong in it is said.
    pub(super) fn unchecked(&mut self, value: &ast::Expr) {
        match &value.kind {
            ExprKind::Closure(params, body) => self.closure(params, body, value.span),
            _ => self.expr(value, None),
        };
    }

    fn attribute_value(
        &mut self,
        op: &str,
        version: &Version,
        attribute: &Attribute,
        value: &ast::Expr,
        ty: &Ty,
    ) -> Option<Expr> {
        if let (Ty::Graph, ExprKind::Closure(params, body)) = (ty, &value.kind) {
            return Some(self.closure(params, body, value.span));
        }
        let checked = self.expr(value, Some(ty));
        let (inner, optional) = match &checked.ty {
            Ty::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        if optional && attribute.required {
            let text = format!("the attribute `{}` of `{op}` is required, this may be None", attribute.name);
            let fact = attribute_fact(op, version, attribute);
            let diagnostic = Diagnostic::new("E0404", checked.span, text).label(a(&checked.ty)).note(fact).help(UNWRAP);
            self.out.push(diagnostic);
            return None;
        }
        if inner == Ty::Never {
            return None;
        }
        if fits_attribute(&inner, ty) {
            return Some(checked);
        }
        let text = format!(
            "the attribute `{}` of `{op}` takes {}, this is `{}`",
            attribute.name,
            kind_name(attribute.kind),
            checked.ty
        );
        let mut diagnostic = Diagnostic::new("E0303", checked.span, text).note(attribute_fact(op, version, attribute));
        if matches!(inner, Ty::SymInt) || inner == Ty::list(Ty::SymInt) {
            diagnostic = diagnostic.help(
                "an attribute must be known at export time: `known(n) ?? fail \"..\"`, `known_ints(ns) ?? fail \"..\"`",
            );
        }
        self.out.push(diagnostic);
        None
    }

    fn closure(&mut self, params: &[Ident], body: &ast::Expr, span: Span) -> Expr {
        self.scopes.push();
        for param in params {
            self.scopes.bind(&param.text, Ty::Tensor, param.span, super::scope::Use::Bound);
        }
        let body = self.expr(body, None);
        self.close_scope();
        let fits = match &body.ty {
            Ty::Tensor | Ty::Never => true,
            Ty::List(t) => **t == Ty::Tensor,
            Ty::Tuple(ts) => ts.iter().all(|t| *t == Ty::Tensor),
            _ => false,
        };
        if !fits {
            let text = format!("a graph gives tensors, this is `{}`", body.ty);
            return self.poison(Diagnostic::new("E0401", body.span, text));
        }
        let names = params.iter().map(|p| p.text.clone()).collect();
        Expr::new(Kind::Closure(names, Box::new(body)), Ty::Graph, span)
    }

    /// The inputs of a call. Those that are `misplaced` were given as attributes, which has been said.
    pub(super) fn inputs(
        &mut self,
        op: &str,
        version: &Version,
        given: Vec<Given>,
        misplaced: &dyn Fn(&Port) -> bool,
        span: Span,
    ) -> Vec<Input> {
        let fact = inputs_fact(op, version);
        let variadic = version.inputs.last().is_some_and(|p| matches!(p.option, PortOption::Variadic(_)));
        let extra = given.get(version.inputs.len()..).filter(|_| !variadic).unwrap_or(&[]);
        if let (Some(first), Some(last)) = (extra.first(), extra.last()) {
            let text = format!("`{op}` takes {}, {} are given", number_of(version.inputs.len(), "input"), given.len());
            let label = if extra.len() == 1 { "one too many" } else { "too many" };
            let span = first.expr.span.to(last.expr.span);
            self.out.push(Diagnostic::new("E0305", span, text).label(label).note(fact.clone()));
        }
        let missing = version.inputs.iter().skip(given.len()).find(|p| match p.option {
            PortOption::Single => !misplaced(p),
            PortOption::Variadic(least) => least > 0,
            PortOption::Optional => false,
        });
        if let Some(port) = missing {
            let text = format!("`{op}` needs the input `{}`", port.name);
            self.out.push(Diagnostic::new("E0305", span, text).note(fact.clone()));
        }
        let peers = self.peers(version, &given);
        let mut inputs = Vec::new();
        for (i, one) in given.into_iter().enumerate() {
            let Some(port) = version.inputs.get(i).or_else(|| version.inputs.last().filter(|_| variadic)) else {
                break;
            };
            inputs.push(self.input(op, version, port, one, &peers, &fact));
        }
        while matches!(inputs.last(), Some(Input::Absent)) {
            inputs.pop();
        }
        inputs
    }

    /// The type variables that some Tensor (or SymInt) among the inputs fixes.
    fn peers(&self, version: &Version, given: &[Given]) -> Vec<String> {
        let mut fixed = Vec::new();
        for (i, one) in given.iter().enumerate() {
            let Some(port) = version.inputs.get(i).or(version.inputs.last()) else { continue };
            let fixes = match &one.expr.ty {
                Ty::Tensor | Ty::SymInt => true,
                Ty::Optional(t) | Ty::List(t) => **t == Ty::Tensor,
                _ => false,
            };
            if fixes {
                fixed.push(port.ty.clone());
            }
        }
        fixed
    }

    fn input(&mut self, op: &str, version: &Version, port: &Port, given: Given, peers: &[String], fact: &str) -> Input {
        let expr = given.expr;
        let span = expr.span;
        if given.spread {
            if !matches!(port.option, PortOption::Variadic(_)) {
                let text = format!("the input `{}` of `{op}` is not variadic", port.name);
                self.out.push(Diagnostic::new("E0406", span, text).note(fact));
            }
            return Input::Spread(self.coerce(expr, &Ty::list(Ty::Tensor)));
        }
        match &expr.ty {
            Ty::Never => Input::Tensor(expr),
            Ty::Tensor => Input::Tensor(expr),
            Ty::Optional(inner) if matches!(expr.kind, Kind::None) || **inner == Ty::Tensor => {
                let absent = matches!(expr.kind, Kind::None);
                if port.option != PortOption::Optional {
                    let text = match absent {
                        true => format!("the input `{}` of `{op}` cannot be absent", port.name),
                        false => format!("the input `{}` of `{op}` is required, this may be None", port.name),
                    };
                    let diagnostic = Diagnostic::new("E0404", span, text).note(fact);
                    self.out.push(match absent {
                        true => diagnostic,
                        false => diagnostic.label(a(&expr.ty)).help(UNWRAP),
                    });
                }
                if absent { Input::Absent } else { Input::Optional(expr) }
            }
            Ty::Optional(inner) if inner.is_number() && port.option == PortOption::Optional => {
                self.has_dtype(op, version, port, &expr, peers);
                Input::OptionalNumber(self.coerce(expr, &Ty::optional(Ty::Scalar)))
            }
            Ty::Int | Ty::Float | Ty::Bool | Ty::Scalar | Ty::SymInt => {
                self.has_dtype(op, version, port, &expr, peers);
                let expr = self.coerce(expr, &Ty::Scalar);
                Input::Number(expr)
            }
            Ty::List(inner) => match &**inner {
                Ty::Int | Ty::SymInt | Ty::Never => {
                    if !allows(version, port, "tensor(int64)") && !peers.contains(&port.ty) {
                        let text = format!("the input `{}` of `{op}` takes no int64 tensor", port.name);
                        let mut diagnostic = Diagnostic::new("E0405", span, text)
                            .label("a list of integers is an int64 tensor")
                            .note(fact);
                        diagnostic.notes.extend(types_fact(version, &port.ty));
                        self.out.push(diagnostic);
                    }
                    let expr = self.coerce(expr, &Ty::list(Ty::SymInt));
                    Input::Ints(expr)
                }
                Ty::Float => {
                    self.has_dtype(op, version, port, &expr, peers);
                    Input::Floats(expr)
                }
                Ty::Tensor => {
                    let mut diagnostic = Diagnostic::new("E0406", span, "a list of tensors in the place of one")
                        .label("a `Tensor[]`")
                        .note(fact);
                    let text = self.text(span);
                    let list = short(&text, "list");
                    diagnostic = diagnostic.help(match port.option {
                        PortOption::Variadic(_) => format!("spread it: `..{list}`"),
                        _ => format!("take one of them: `{list}[0]`"),
                    });
                    self.out.push(diagnostic);
                    Input::Absent
                }
                other => self.not_an_input(op, port, &other.clone(), span, fact),
            },
            other => self.not_an_input(op, port, &other.clone(), span, fact),
        }
    }

    fn not_an_input(&mut self, op: &str, port: &Port, ty: &Ty, span: Span, fact: &str) -> Input {
        let text = format!("{} cannot be the input `{}` of `{op}`", a(ty), port.name);
        let mut diagnostic = Diagnostic::new("E0401", span, text).note(fact);
        if let Ty::Optional(_) = ty {
            diagnostic = diagnostic.help(UNWRAP);
        }
        self.out.push(diagnostic);
        Input::Absent
    }

    /// A number needs a dtype: from its peers, or from a schema that leaves no choice.
    fn has_dtype(&mut self, op: &str, version: &Version, port: &Port, expr: &Expr, peers: &[String]) {
        let of_its_own = matches!(expr.ty, Ty::Int | Ty::SymInt) && allows(version, port, "tensor(int64)");
        if of_its_own || !peers.is_empty() {
            return;
        }
        let one_type = version.types.iter().find(|t| t.name == port.ty).is_none_or(|t| t.allowed.len() == 1);
        if one_type {
            return;
        }
        let text = format!("the number in the place of `{}` of `{op}` has no dtype to take", port.name);
        let number = self.text(expr.span);
        self.out.push(
            Diagnostic::new("E0405", expr.span, text)
                .label("no tensor among its peers")
                .note(inputs_fact(op, version))
                .help(format!("give it one: `scalar({}, float32)`", short(&number, "x"))),
        );
    }

    fn outputs(
        &mut self,
        op: &str,
        version: &Version,
        count: Option<(Span, Expr)>,
        want: Option<&Ty>,
        span: Span,
    ) -> (Outputs, Ty) {
        let variadic = version.outputs.iter().any(|o| matches!(o.option, PortOption::Variadic(_)));
        let fact =
            format!("outputs of {op}-{}: {}", version.since, quoted(version.outputs.iter().map(|o| o.name.as_str())));
        match (count, want) {
            (Some((at, _)), _) if !variadic => {
                self.out.push(Diagnostic::new("E0306", at, format!("`{op}` has no variadic output")).note(fact));
                (Outputs::One, Ty::Tensor)
            }
            (Some((_, count)), _) => (Outputs::List(Box::new(count)), Ty::list(Ty::Tensor)),
            (None, Some(Ty::Tuple(tys))) if tys.len() > 1 => {
                if tys.len() > version.outputs.len() && !variadic {
                    let text =
                        format!("`{op}` has {}, {} are wanted", number_of(version.outputs.len(), "output"), tys.len());
                    self.out.push(Diagnostic::new("E0306", span, text).note(fact));
                }
                (Outputs::Tuple(tys.len()), Ty::Tuple(vec![Ty::Tensor; tys.len()]))
            }
            (None, Some(Ty::List(_))) if variadic => {
                let text = format!("how many outputs `{op}` has is not said");
                self.out.push(Diagnostic::new("E0306", span, text).help("add `outputs = n`").note(fact));
                (Outputs::One, Ty::list(Ty::Tensor))
            }
            (None, _) => {
                if version.min_outputs > 1 {
                    let text = format!("`{op}` has {} outputs, one is wanted", version.outputs.len());
                    let names = version.outputs.iter().map(|o| o.name.to_lowercase()).collect::<Vec<_>>().join(", ");
                    let help = format!("name them: `let ({names}) = {op}(..);`");
                    self.out.push(Diagnostic::new("E0306", span, text).note(fact).help(help));
                }
                (Outputs::One, Ty::Tensor)
            }
        }
    }
}

/// Says which required attributes are missing.
pub(super) fn required_attributes(
    op: &str,
    version: &Version,
    span: Span,
    args: &[Argument],
    out: &mut Vec<Diagnostic>,
) {
    for attribute in version.attributes.iter().filter(|a| a.required) {
        if args.iter().any(|a| matches!(a, Argument::Named(n, _) if stem(&n.text).0 == attribute.name)) {
            continue;
        }
        let text = format!("`{op}` needs the attribute `{}`", attribute.name);
        let mut diagnostic = Diagnostic::new("E0304", span, text).note(attribute_fact(op, version, attribute));
        if let Some((suffix, _)) = attr_type(attribute.kind) {
            diagnostic = diagnostic.help(format!("add `{}_{suffix} = ..`", attribute.name));
        }
        out.push(diagnostic);
    }
}

/// The element, if there is but one.
fn only<T>(all: &[T]) -> Option<&T> {
    if let [one] = all { Some(one) } else { None }
}

/// What took the place of deprecated operators.
const SUCCESSORS: &[(&str, &str)] = &[("Scatter", "ScatterElements"), ("Upsample", "Resize")];

pub(super) fn fits_attribute(ty: &Ty, wanted: &Ty) -> bool {
    match (ty, wanted) {
        (Ty::Float | Ty::Int | Ty::Scalar, Ty::Float) => true,
        (Ty::Int | Ty::Bool | Ty::ScalarType, Ty::Int) => true,
        (Ty::Str, Ty::Str) | (Ty::Tensor, Ty::Tensor) | (Ty::Graph, Ty::Graph) => true,
        (Ty::List(_), Ty::List(of)) if *ty == Ty::list(Ty::Never) => of.is_number() || **of == Ty::Str,
        (Ty::List(a), Ty::List(b)) => match **b {
            Ty::Float => matches!(**a, Ty::Float | Ty::Int),
            Ty::Int => matches!(**a, Ty::Int),
            _ => a == b,
        },
        _ => false,
    }
}

pub(super) fn form(kind: AttrKind) -> Option<AttrForm> {
    Some(match kind {
        AttrKind::Float => AttrForm::Float,
        AttrKind::Int => AttrForm::Int,
        AttrKind::String => AttrForm::Str,
        AttrKind::Floats => AttrForm::Floats,
        AttrKind::Ints => AttrForm::Ints,
        AttrKind::Strings => AttrForm::Strs,
        AttrKind::Tensor => AttrForm::Tensor,
        AttrKind::Graph => AttrForm::Graph,
        _ => return None,
    })
}

/// `alpha_f` is `alpha` with the suffix `f`.
pub(super) fn stem(name: &str) -> (&str, Option<char>) {
    match name.rsplit_once('_') {
        Some((stem, suffix)) if matches!(suffix, "f" | "i" | "s" | "t" | "g") => (stem, suffix.chars().next()),
        _ => (name, None),
    }
}

fn allows(version: &Version, port: &Port, ty: &str) -> bool {
    match version.types.iter().find(|t| t.name == port.ty) {
        Some(var) => var.allowed.iter().any(|a| a == ty),
        None => port.ty == ty,
    }
}

impl crate::schema::onnx::AttrValue {
    /// As a fact in a diagnostic.
    pub fn text(&self) -> String {
        use crate::schema::onnx::AttrValue::*;
        match self {
            Float(f) => format!("{f:?}"),
            Int(i) => i.to_string(),
            String(s) => format!("{s:?}"),
            Floats(fs) => format!("{fs:?}"),
            Ints(is) => format!("{is:?}"),
            Strings(ss) => format!("{ss:?}"),
        }
    }
}
