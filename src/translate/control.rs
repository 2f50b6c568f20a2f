//! Higher-order operators: nested graphs that run inside the graph.

use super::{Known, Translation};
use crate::builder::Scalar;
use crate::error::{Error, Result};
use crate::program::{Arg, Graph, Node, NodeOutput};

/// Is there a translation for it?
pub(super) fn is_known(operator: &str) -> bool {
    matches!(operator, "wrap_with_set_grad_enabled")
}

impl Translation<'_> {
    pub(super) fn higher_order(&mut self, operator: &str, node: &Node, _graph: &Graph) -> Result<()> {
        match operator {
            "wrap_with_set_grad_enabled" => self.inlined(node),
            _ => Err(super::preflight::no_rule(self.rules, &node.target)),
        }
    }

    /// A nested graph in the place of its call: its names are its own, its inputs are bound by position.
    fn inlined(&mut self, node: &Node) -> Result<()> {
        let at = node.args.iter().position(|(_, arg)| matches!(arg, Arg::Graph(_)));
        let Some((at, Arg::Graph(inner))) = at.map(|at| (at, &node.args[at].1)) else {
            return Err(Error::input("a higher-order operator without a graph"));
        };
        let operands = &node.args[at + 1..];
        if operands.len() != inner.inputs.len() {
            let message = format!("{} operands for a graph with {} inputs", operands.len(), inner.inputs.len());
            return Err(Error::input(message));
        }
        let mut inside = std::collections::HashMap::new();
        for ((_, operand), input) in operands.iter().zip(&inner.inputs) {
            inside.insert(input.name.clone(), self.operand_of(operand)?);
        }
        let outside = std::mem::replace(&mut self.env, inside);
        let done = self.nodes(inner).and_then(|()| {
            inner.outputs.iter().map(|output| self.operand_of(&output.value)).collect::<Result<Vec<Known>>>()
        });
        self.env = outside;
        for (output, known) in node.outputs.iter().zip(done?) {
            if let NodeOutput::Tensor(name) | NodeOutput::Sym(name) = output {
                self.env.insert(name.clone(), known);
            }
        }
        Ok(())
    }

    fn operand_of(&self, arg: &Arg) -> Result<Known> {
        match arg {
            Arg::Tensor(name) | Arg::Sym(name) => self.known(name).cloned(),
            Arg::Int(i) => Ok(Known::Number(Scalar::Int(*i))),
            Arg::Float(f) => Ok(Known::Number(Scalar::Float(*f))),
            Arg::Bool(b) => Ok(Known::Number(Scalar::Bool(*b))),
            other => Ok(Known::Constant(other.clone())),
        }
    }
}
