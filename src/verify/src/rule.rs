//! What is verified: the rule of an overload, or the lowerings of an ONNX operator.

use aten2onnx_opmap::syntax::ast::ExampleValue;
use aten2onnx_opmap::tree::{Expr, Param, Program, Target};
use aten2onnx_opmap::types::Ty;

use super::pattern::Pattern;
use super::relations;

/// The rule of an overload, or all lowerings of an operator.
#[derive(Debug, Clone)]
pub(super) struct Rule<'a> {
    pub target: Target,
    /// Its parameters; of an operator those of its newest form.
    pub params: &'a [Param],
    pub bodies: Vec<&'a Expr>,
    /// What calls of operators for the inside of PyTorch have in common with one of the examples. None for other operators.
    patterns: Option<Vec<Pattern>>,
}

impl<'a> Rule<'a> {
    /// Finds it by the overload or the operator.
    pub fn find(program: &'a Program, name: &str) -> Option<Rule<'a>> {
        if let Some(map) = program.map(name) {
            let target = Target::Map(name.to_owned());
            let own = || program.examples.iter().filter(|example| example.target == target);
            let patterns = relations::is_internal(name).then(|| own().map(Pattern::of).collect());
            return Some(Rule { target, params: &map.function.params, bodies: vec![&*map.function.body], patterns });
        }
        let lowers: Vec<_> = program.lowers.iter().filter(|lower| lower.op == name).collect();
        // Operators with bodies are programs: most changes of a call would make a loop that never ends.
        let newest = lowers.last().filter(|lower| lower.function.params.iter().all(|param| param.ty != Ty::Graph))?;
        let bodies = lowers.iter().map(|lower| &*lower.function.body).collect();
        let target = Target::Lower(name.to_owned());
        Some(Rule { target, params: &newest.function.params, bodies, patterns: None })
    }

    /// Whether callers of the operator check what its kernels do not.
    pub fn is_internal(&self) -> bool {
        self.patterns.is_some()
    }

    /// Whether a call has what calls of the operator must have in common.
    pub fn allows(&self, args: &[(String, ExampleValue)], with: &[(String, i64)]) -> bool {
        self.patterns.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.fits(args, with)))
    }

    /// The overload or the operator.
    pub fn name(&self) -> &str {
        match &self.target {
            Target::Map(name) | Target::Lower(name) | Target::Raise(name, _) => name,
        }
    }

    /// The names of all parameters, in their order.
    pub fn header(&self) -> Vec<&'a str> {
        self.params.iter().map(|param| param.name.as_str()).collect()
    }

    /// How many arguments may be given by place: attributes have names.
    pub fn places(&self) -> usize {
        let is_input = |ty: &Ty| match ty {
            Ty::Optional(inner) | Ty::List(inner) => **inner == Ty::Tensor,
            ty => *ty == Ty::Tensor,
        };
        match self.target {
            Target::Map(_) => self.params.len(),
            _ => self.params.iter().take_while(|param| is_input(&param.ty)).count(),
        }
    }

    /// Whether an argument may be left out.
    pub fn is_optional(&self, name: &str) -> bool {
        let optional = |param: &Param| {
            param.default.is_some() || (!matches!(self.target, Target::Map(_)) && matches!(param.ty, Ty::Optional(_)))
        };
        self.params.iter().any(|param| param.name == name && optional(param))
    }

    /// Whether a branch belongs to it: `aten::elu`, `Gelu before 20`.
    pub fn has_arm(&self, rule: &str) -> bool {
        match &self.target {
            Target::Map(name) => rule == name,
            Target::Lower(name) | Target::Raise(name, _) => {
                rule.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(" before "))
            }
        }
    }
}
