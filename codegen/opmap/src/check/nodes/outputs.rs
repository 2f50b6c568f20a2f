//! Outputs of a call of an ONNX operator.

use super::super::wording::{counted, quoted};
use super::super::{BodyPlace, Checker};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::tree::{Expr, Outputs};
use crate::types::Ty;
use aten2onnx_schemas::onnx::{PortOption, Version};

impl Checker<'_> {
    pub(super) fn outputs(
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
            (Some((at, _)), _) if !(variadic || self.place == BodyPlace::Raise && version.outputs.len() > 1) => {
                self.out.push(Diagnostic::new("E0306", at, format!("`{op}` has no variadic output")).note(fact));
                (Outputs::One, Ty::Tensor)
            }
            (Some((_, count)), _) => (Outputs::List(Box::new(count)), Ty::list(Ty::Tensor)),
            (None, Some(Ty::Tuple(tys))) if tys.len() > 1 => {
                if tys.len() > version.outputs.len() && !variadic {
                    let text = format!(
                        "`{op}` has {}, but {} are requested",
                        counted(version.outputs.len(), "output"),
                        tys.len()
                    );
                    self.out.push(Diagnostic::new("E0306", span, text).note(fact));
                }
                (Outputs::Tuple(tys.len()), Ty::Tuple(vec![Ty::Tensor; tys.len()]))
            }
            (None, Some(Ty::List(_))) if variadic => {
                let text = format!("the number of outputs of `{op}` is missing");
                self.out.push(Diagnostic::new("E0306", span, text).help("add `outputs = n`").note(fact));
                (Outputs::One, Ty::list(Ty::Tensor))
            }
            (None, _) => {
                if version.min_outputs > 1 {
                    let text = format!("`{op}` has {} outputs, but one is requested", version.outputs.len());
                    let names = version.outputs.iter().map(|o| o.name.to_lowercase()).collect::<Vec<_>>().join(", ");
                    let help = format!("bind them: `let ({names}) = {op}(..);`");
                    self.out.push(Diagnostic::new("E0306", span, text).note(fact).help(help));
                }
                (Outputs::One, Ty::Tensor)
            }
        }
    }
}
