//! What is verified: the rule of an overload, or the lowerings of an ONNX operator.

use aten2onnx_opmap::tree::{Expr, Param, Program, Target};
use aten2onnx_opmap::types::Ty;

/// The rule of an overload, or all lowerings of an operator.
#[derive(Debug, Clone)]
pub(super) struct Rule<'a> {
    pub target: Target,
    /// Its parameters; of an operator those of its newest form.
    pub params: &'a [Param],
    pub bodies: Vec<&'a Expr>,
}

impl<'a> Rule<'a> {
    /// Finds it by the overload or the operator.
    pub fn find(program: &'a Program, name: &str) -> Option<Rule<'a>> {
        if let Some(map) = program.map(name) {
            let target = Target::Map(name.to_owned());
            return Some(Rule { target, params: &map.function.params, bodies: vec![&map.function.body] });
        }
        let lowers: Vec<_> = program.lowers.iter().filter(|lower| lower.op == name).collect();
        // Operators with bodies are programs: most changes of a call would make a loop that never ends.
        let newest = lowers.last().filter(|lower| lower.function.params.iter().all(|param| param.ty != Ty::Graph))?;
        let bodies = lowers.iter().map(|lower| &lower.function.body).collect();
        Some(Rule { target: Target::Lower(name.to_owned()), params: &newest.function.params, bodies })
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
