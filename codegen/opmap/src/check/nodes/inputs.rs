//! Inputs of a call of an ONNX operator.

use super::super::Checker;
use super::super::wording::{UNWRAP, counted, inputs_fact, short_or, types_fact, with_article};
use super::Given;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::tree::{Expr, Input, Kind};
use crate::types::Ty;
use aten2onnx_schemas::onnx::{Port, PortOption, Version};

impl Checker<'_> {
    /// The inputs of a call. Inputs that are `misplaced` were given as attributes, which is reported already.
    pub(in crate::check) fn inputs(
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
            let text =
                format!("`{op}` takes {}, but {} are given", counted(version.inputs.len(), "input"), given.len());
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

    /// The type variables that a Tensor or SymInt among the inputs determines.
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
                        false => format!("the input `{}` of `{op}` is required, but this may be None", port.name),
                    };
                    let diagnostic = Diagnostic::new("E0404", span, text).note(fact);
                    self.out.push(match absent {
                        true => diagnostic,
                        false => diagnostic.label(with_article(&expr.ty)).help(UNWRAP),
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
                        let text = format!("the input `{}` of `{op}` does not take an int64 tensor", port.name);
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
                    let mut diagnostic = Diagnostic::new("E0406", span, "expected `Tensor`, found `Tensor[]`")
                        .label("a `Tensor[]`")
                        .note(fact);
                    let text = self.text(span);
                    let list = short_or(&text, "list");
                    diagnostic = diagnostic.help(match port.option {
                        PortOption::Variadic(_) => format!("spread it: `..{list}`"),
                        _ => format!("take one of its elements: `{list}[0]`"),
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
        let text = format!("{} cannot be the input `{}` of `{op}`", with_article(ty), port.name);
        let mut diagnostic = Diagnostic::new("E0401", span, text).note(fact);
        if let Ty::Optional(_) = ty {
            diagnostic = diagnostic.help(UNWRAP);
        }
        self.out.push(diagnostic);
        Input::Absent
    }

    /// Checks that a number has a dtype: from other inputs of its type variable, or from a schema that allows only one.
    fn has_dtype(&mut self, op: &str, version: &Version, port: &Port, expr: &Expr, peers: &[String]) {
        let of_its_own = matches!(expr.ty, Ty::Int | Ty::SymInt) && allows(version, port, "tensor(int64)");
        if of_its_own || !peers.is_empty() {
            return;
        }
        let one_type = version.types.iter().find(|t| t.name == port.ty).is_none_or(|t| t.allowed.len() == 1);
        if one_type {
            return;
        }
        let text = format!("the number for the input `{}` of `{op}` has no dtype", port.name);
        let number = self.text(expr.span);
        self.out.push(
            Diagnostic::new("E0405", expr.span, text)
                .label("no tensor input has the same type variable")
                .note(inputs_fact(op, version))
                .help(format!("write `scalar({}, float32)`", short_or(&number, "x"))),
        );
    }
}

fn allows(version: &Version, port: &Port, ty: &str) -> bool {
    match version.types.iter().find(|t| t.name == port.ty) {
        Some(var) => var.allowed.iter().any(|a| a == ty),
        None => port.ty == ty,
    }
}
