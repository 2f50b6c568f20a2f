//! Calls of operators of other domains: `mydomain::MyOp(x, alpha_f = a, outputs = tensor(float32, [n]))`.
//!
//! If there is a snapshot of the domain, calls are checked against it. Other domains are defined by users: the rule files declare
//! them with `import_domain`, and only the call itself is known. The types of the outputs are stated in any case.

use super::calls::value_of;
use super::lower_header::attr_type;
use super::nodes::{Given, form, required_attributes, stem};
use super::wording::{counted, quoted, with_article};
use super::{Checker, did_you_mean};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{self, Argument, ExprKind, Ident, OnnxName};
use crate::tree::{AttrForm, Expr, Input, Kind, Node, Outputs, Stated};
use crate::types::Ty;
use aten2onnx_schemas::DOMAINS;
use aten2onnx_schemas::nearest::nearest;
use aten2onnx_schemas::onnx::{AttrKind, PortOption, Version};

const OUTPUTS: &str = "add `outputs = tensor(DTYPE, SHAPE)`, such as `tensor(dtype_of(x), shape_of(x))`, or several of these in parentheses";

impl<'w> Checker<'w> {
    pub(super) fn foreign_node(&mut self, domain: &Ident, name: &OnnxName, args: &[Argument], span: Span) -> Expr {
        let op = name.full();
        let Ok((version, form)) = self.foreign_version(domain, &op, name.span) else {
            for arg in args {
                match arg {
                    Argument::Named(n, e) if n.text == "outputs" => drop(self.stated(e)),
                    other => self.unchecked(value_of(other)),
                }
            }
            return Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span);
        };
        let mut given = Vec::new();
        let mut attrs: Vec<(String, AttrForm, Expr)> = Vec::new();
        let mut stated = None;
        for arg in args {
            match arg {
                Argument::Positional(e) => given.push(Given { expr: self.expr(e, None), spread: false }),
                Argument::Spread(e) => {
                    given.push(Given { expr: self.expr(e, Some(&Ty::list(Ty::Tensor))), spread: true });
                }
                Argument::Named(n, e) if n.text == "outputs" => stated = self.stated(e),
                Argument::Named(n, e) => {
                    let attr = match version {
                        Some(version) => self.attribute(&op, version, n, e),
                        None => self.free_attribute(n, e),
                    };
                    if let Some(attr) = attr {
                        if let Some(first) = attrs.iter().find(|a| a.0 == attr.0) {
                            let text = format!("the attribute `{}` is given twice", attr.0);
                            self.out.push(Diagnostic::new("E0307", n.span, text).also(first.2.span, "first here"));
                        }
                        attrs.push(attr);
                    }
                }
            }
        }
        if !args.iter().any(|a| matches!(a, Argument::Named(n, _) if n.text == "outputs")) {
            let text = format!("the outputs of `{op}` are missing");
            let diagnostic = Diagnostic::new("E0306", span, text).label("expected their dtype and shape");
            self.out.push(diagnostic.help(OUTPUTS));
        }
        let inputs = match version {
            Some(version) => {
                required_attributes(&op, version, name.span, args, &attrs, self.out);
                let inputs = self.inputs(&op, version, given, &|_| false, span);
                inputs.into_iter().map(|input| self.without_number(&op, input)).collect()
            }
            None => given.into_iter().map(|one| self.free_input(&op, one)).collect(),
        };
        let stated = stated.unwrap_or_default();
        if let Some(version) = version.filter(|_| !stated.is_empty()) {
            self.count_of_outputs(&op, version, stated.len(), span);
        }
        let ty = match stated.len() {
            0 => Ty::Never,
            1 => Ty::Tensor,
            n => Ty::Tuple(vec![Ty::Tensor; n]),
        };
        let node = Node { op, form, inputs, attrs, outputs: Outputs::Typed(stated) };
        Expr::new(Kind::Node(Box::new(node)), ty, span)
    }

    /// The schema of an operator, if there is a snapshot of its domain, and the version of the domain.
    fn foreign_version(&mut self, domain: &Ident, op: &str, span: Span) -> Result<(Option<&'w Version>, u32), ()> {
        let onnx = &self.context.schemas.onnx;
        if DOMAINS.contains(&domain.text.as_str()) {
            if let Some(version) = onnx.versions(op).last() {
                return Ok((Some(version), 1));
            }
            let text = format!("`{}` has no operator `{op}`", domain.text);
            let diagnostic = Diagnostic::new("E0102", span, text).label("unknown");
            let diagnostic = diagnostic.note(format!("the operators are in mappings/schemas/{}.txt", domain.text));
            self.out.push(did_you_mean(diagnostic, onnx.nearest(op)));
            return Err(());
        }
        if let Some((version, _)) = self.context.domains.get(&domain.text) {
            return Ok((None, *version));
        }
        let text = format!("the domain `{}` is not imported", domain.text);
        let diagnostic = Diagnostic::new("E0102", domain.span, text).label("unknown");
        let known = DOMAINS.into_iter().chain(self.context.domains.keys().map(String::as_str));
        let help = match nearest(&domain.text, known) {
            Some(known) => format!("did you mean `{known}`?"),
            None => {
                format!("import your own domain at the start of a file: `import_domain \"{}\" 1`", domain.text)
            }
        };
        self.out.push(diagnostic.help(help));
        Err(())
    }

    /// `tensor(dtype, shape)`, or several of them in parentheses.
    fn stated(&mut self, expr: &ast::Expr) -> Option<Vec<Stated>> {
        let parts = match &expr.kind {
            ExprKind::Tuple(parts) => parts.as_slice(),
            _ => std::slice::from_ref(expr),
        };
        parts.iter().map(|part| self.stated_output(part)).collect()
    }

    fn stated_output(&mut self, expr: &ast::Expr) -> Option<Stated> {
        if let ExprKind::Call(name, args) = &expr.kind
            && let ("tensor", [Argument::Positional(dtype), Argument::Positional(shape)]) =
                (name.text.as_str(), args.as_slice())
        {
            let dtype = self.expr_as(dtype, &Ty::ScalarType);
            let shape = self.expr_as(shape, &Ty::list(Ty::SymInt));
            return Some(Stated { dtype, shape });
        }
        let diagnostic = Diagnostic::new("E0306", expr.span, "expected the dtype and shape of an output");
        self.out.push(diagnostic.help(OUTPUTS));
        None
    }

    fn count_of_outputs(&mut self, op: &str, version: &Version, count: usize, span: Span) {
        let variadic = version.outputs.iter().any(|o| matches!(o.option, PortOption::Variadic(_)));
        let fits = count >= version.min_outputs as usize && (variadic || count <= version.outputs.len());
        if !fits {
            let text = format!("`{op}` has {}, but {count} are stated", counted(version.outputs.len(), "output"));
            let names = quoted(version.outputs.iter().map(|o| o.name.as_str()));
            self.out.push(Diagnostic::new("E0306", span, text).note(format!("outputs of {op}: {names}")));
        }
    }

    /// An attribute of an operator without a schema: its suffix and its value determine its type.
    fn free_attribute(&mut self, name: &Ident, value: &ast::Expr) -> Option<(String, AttrForm, Expr)> {
        let (stem, suffix) = stem(&name.text);
        let lone = match suffix {
            Some('f') => AttrKind::Float,
            Some('i') => AttrKind::Int,
            Some('s') => AttrKind::String,
            Some('t') => AttrKind::Tensor,
            Some('g') => {
                let text = "only ONNX's own operators can have graphs";
                self.out.push(Diagnostic::new("E0303", name.span, text));
                self.unchecked(value);
                return None;
            }
            _ => {
                self.unchecked(value);
                let text = format!("the type of the attribute `{}` is not known", name.text);
                let help = format!("write `{0}_f`, `{0}_i`, `{0}_s` or `{0}_t`", name.text);
                self.out.push(Diagnostic::new("E0301", name.span, text).label("add a suffix").help(help));
                return None;
            }
        };
        let (_, want) = attr_type(lone)?;
        let checked = self.expr(value, Some(&want));
        let inner = match &checked.ty {
            Ty::Optional(inner) => (**inner).clone(),
            other => other.clone(),
        };
        if inner == Ty::Never {
            return None;
        }
        let kind = match (lone, &inner) {
            (AttrKind::Float, Ty::List(_)) => AttrKind::Floats,
            (AttrKind::Int, Ty::List(_)) => AttrKind::Ints,
            (AttrKind::String, Ty::List(_)) => AttrKind::Strings,
            _ => lone,
        };
        let (suffix, wanted) = attr_type(kind)?;
        if !super::nodes::fits_attribute(&inner, &wanted) {
            let text =
                format!("the attribute `{}` takes a value for `_{suffix}`, not {}", stem, with_article(&checked.ty));
            self.out.push(Diagnostic::new("E0303", checked.span, text));
            return None;
        }
        Some((stem.to_owned(), form(kind)?, checked))
    }

    fn free_input(&mut self, op: &str, given: Given) -> Input {
        let expr = given.expr;
        if given.spread {
            return Input::Spread(self.coerce(expr, &Ty::list(Ty::Tensor)));
        }
        match &expr.ty {
            _ if matches!(expr.kind, Kind::None) => Input::Absent,
            Ty::Tensor | Ty::Never => Input::Tensor(expr),
            Ty::Optional(inner) if **inner == Ty::Tensor => Input::Optional(expr),
            Ty::List(inner) if matches!(**inner, Ty::Int | Ty::SymInt) => {
                Input::Ints(self.coerce(expr, &Ty::list(Ty::SymInt)))
            }
            Ty::Int | Ty::Float | Ty::Bool | Ty::Scalar | Ty::SymInt => self.without_number(op, Input::Number(expr)),
            Ty::List(inner) if **inner == Ty::Tensor => {
                let diagnostic = Diagnostic::new("E0406", expr.span, "expected `Tensor`, found `Tensor[]`");
                self.out.push(diagnostic.help("spread it: `..list`"));
                Input::Absent
            }
            other => {
                let text = format!("{} cannot be an input of `{op}`", with_article(other));
                self.out.push(Diagnostic::new("E0401", expr.span, text));
                Input::Absent
            }
        }
    }

    /// An error for numbers: there are no type variables here that would determine their dtype.
    fn without_number(&mut self, op: &str, input: Input) -> Input {
        let (Input::Number(expr) | Input::OptionalNumber(expr) | Input::Floats(expr)) = &input else { return input };
        let text = format!("a number among the inputs of `{op}` has no dtype");
        let diagnostic = Diagnostic::new("E0405", expr.span, text).label("needs a dtype");
        self.out.push(diagnostic.help("write `scalar(x, float32)` or `constant([x], float32)`"));
        Input::Absent
    }
}
