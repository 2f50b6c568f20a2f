//! Calls of ONNX operators: inputs, attributes and outputs against the schema of the opset whose form the call has.

mod attributes;
mod domains;
mod inputs;
mod outputs;

use super::calls::value_of;
use super::{Checker, did_you_mean};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{self, Argument, OnnxName};
use crate::tree::{AttrForm, Expr, Kind, Node, Outputs};
use crate::types::Ty;
use aten2onnx_schemas::onnx::{Port, Version};
pub(super) use attributes::{fits_attribute, form, required_attributes, stem};

/// The successors of deprecated operators.
const SUCCESSORS: &[(&str, &str)] = &[("Scatter", "ScatterElements"), ("Upsample", "Resize")];

/// The argument for an input.
pub(in crate::check) struct Given {
    pub expr: Expr,
    pub spread: bool,
}

impl<'w> Checker<'w> {
    pub(in crate::check) fn node(&mut self, name: &OnnxName, args: &[Argument], want: Option<&Ty>, span: Span) -> Expr {
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
                Argument::Spread(e) if self.is_rest(arg) => attrs.extend(self.passed_on(&op, version, args, e.span)),
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
        required_attributes(&op, version, name.span, args, &attrs, self.out);
        let misplaced =
            |port: &Port| args.iter().any(|a| matches!(a, Argument::Named(n, _) if stem(&n.text).0 == port.name));
        let inputs = self.inputs(&op, version, given, &misplaced, span);
        let (outputs, ty) = self.outputs(&op, version, count, want, span);
        let node = Node { op, form: self.form, inputs, attrs, outputs };
        Expr::new(Kind::Node(Box::new(node)), ty, span)
    }

    /// A node without attributes, whose inputs are checked already.
    pub(in crate::check) fn plain_node(&mut self, op: &str, given: Vec<Given>, span: Span) -> Expr {
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
        let onnx = &self.context.schemas.onnx;
        let Some(versions) = onnx.ops.get(op) else {
            let diagnostic = Diagnostic::new("E0102", span, format!("ONNX has no operator `{op}`")).label("unknown");
            self.out.push(did_you_mean(diagnostic, onnx.nearest(op)));
            return None;
        };
        let Some(version) = versions.iter().rev().find(|v| v.since <= self.form) else {
            let since = versions.first().map_or(0, |v| v.since);
            let text = format!("`{op}` does not exist in opset {}", self.form);
            let diagnostic = Diagnostic::new("E0102", span, text)
                .label(format!("added in opset {since}"))
                .note(format!("inside `{}`, operators are those of opset {}", self.rule, self.form));
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
}
