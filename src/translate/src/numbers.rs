//! Nodes that compute numbers of the program: sizes, `item()`, and Python arithmetic on them.
//!
//! The value of an integer is an expression that torch.export recorded, so its node does nothing. Integers without such
//! an expression, and floats and booleans that depend on data, are values of the graph computed by a rule.

use super::preflight::no_rule;
use super::{Known, Translation};
use aten2onnx_builder::{ArgValue, Args, Out, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;
use aten2onnx_program::{Arg, Graph, Node, NodeOutput, SymNumber, is_python};
use aten2onnx_rules::effects::{self, Trait};

/// The argument names in the rules of Python functions, by position.
const PLACES: [&str; 3] = ["a", "b", "c"];

/// Whether the operator returns numbers of the program.
pub(super) fn returns_numbers(target: &str) -> bool {
    let by_schema = |operator: &effects::Operator| operator.is(Trait::GivesSizes) || operator.is(Trait::GivesNumber);
    is_python(target) || effects::operator(target).is_some_and(by_schema)
}

/// Whether the program records the number that a node returns. Then it needs no rule, unless the expression cannot be
/// evaluated.
pub(super) fn is_recorded(node: &Node, graph: &Graph) -> bool {
    let [NodeOutput::Sym(name)] = node.outputs.as_slice() else { return false };
    let is_known = || matches!(recorded(name, graph), Some(SymNumber::Float(_) | SymNumber::Bool(_)));
    returns_numbers(&node.target) && (graph.sym_ints.contains_key(name) || is_known())
}

fn recorded<'g>(name: &str, graph: &'g Graph) -> Option<&'g SymNumber> {
    graph.sym_floats.get(name).or_else(|| graph.sym_bools.get(name))
}

impl Translation<'_> {
    /// Binds the results of a node that returns numbers; returns false for other nodes.
    pub(super) fn number_node(&mut self, node: &Node, graph: &Graph) -> Result<bool> {
        let [NodeOutput::Sym(name)] = node.outputs.as_slice() else { return Ok(false) };
        let number = match (graph.sym_ints.get(name), recorded(name, graph)) {
            (Some(size), _) => {
                let size = self.size(size);
                self.size_node(node, &size)?
            }
            (None, Some(SymNumber::Float(f))) => Scalar::Float(*f),
            (None, Some(SymNumber::Bool(b))) => Scalar::Bool(*b),
            (None, _) => self.computed(node)?,
        };
        self.hold_number(node, &number, graph)?;
        self.env.insert(name.clone(), Known::Number(number));
        Ok(true)
    }

    /// An integer by its recorded expression. One that depends on data is bound to its value in the graph.
    fn size_node(&mut self, node: &Node, size: &SymInt) -> Result<Scalar> {
        let from_data = effects::is(&node.target, Trait::GivesNumber);
        let is_known = size.symbols().iter().all(|symbol| self.builder.knows_symbol(symbol));
        // An expression that cannot be parsed.
        let is_opaque = size.has_anonymous() && is_python(&node.target);
        // A symbol of its own: a function that no expression has (`n & 3`).
        let is_opaque = is_opaque || (!is_known && is_python(&node.target) && size.as_symbol().is_some());
        if from_data || is_opaque || (!is_known && !self.computable(node)) {
            let value = match from_data {
                true => self.operand_tensor(node)?,
                false => match self.computed(node)? {
                    Scalar::Value(value) => value,
                    // It is known by another name, as where a side of a branch computes what stands before the branch. Expressions have its own one.
                    known => {
                        let value = self.number_value(&known)?;
                        self.bind(size, value);
                        return Ok(known);
                    }
                },
            };
            let value = self.builder.cast(value, Dtype::Int64)?;
            let value = self.builder.reshape(value, &[])?;
            self.bind(size, value);
        }
        Ok(Scalar::from(size.clone()))
    }

    /// Whether all operands are integers, so that the recorded expression is complete.
    fn computable(&self, node: &Node) -> bool {
        node.args.iter().all(|(_, arg)| match arg {
            Arg::Sym(name) | Arg::Tensor(name) => match self.env.get(name) {
                Some(Known::Number(Scalar::Value(_) | Scalar::Float(_))) => false,
                Some(Known::Tensor(_)) => effects::is(&node.target, Trait::GivesSizes),
                _ => true,
            },
            _ => true,
        })
    }

    fn operand_tensor(&mut self, node: &Node) -> Result<Value> {
        match node.args.first() {
            Some((_, Arg::Tensor(name))) => self.value_of(name),
            _ => Err(Error::input("an operand is not a tensor")),
        }
    }

    /// Computes a number by its rule.
    pub(super) fn computed(&mut self, node: &Node) -> Result<Scalar> {
        let rules = self.shared.rules;
        let rule = rules.rule_for(&node.target).ok_or_else(|| no_rule(rules, &node.target))?;
        let args = self.number_arguments(node)?;
        match rule.call(self.builder, &args)?.into_iter().next() {
            Some(Out::Scalar(number)) => Ok(number),
            Some(Out::SymInt(size)) => Ok(Scalar::from(size)),
            Some(Out::Tensor(value)) => Ok(Scalar::Value(value)),
            other => Err(self.builder.fault(format!("returns {other:?} where the program has a number"))),
        }
    }

    /// The arguments for a rule; those of Python functions are named by position.
    fn number_arguments(&mut self, node: &Node) -> Result<Args> {
        if !is_python(&node.target) {
            return self.arguments(node);
        }
        if node.args.len() > PLACES.len() {
            return Err(Error::unsupported(format!("a function of {} numbers is not supported", node.args.len())));
        }
        let args = node.args.iter().zip(PLACES);
        let args = args.map(|((_, arg), name)| Ok((name.to_owned(), ArgValue::Scalar(self.operand(arg)?))));
        Ok(Args::new(args.collect::<Result<_>>()?))
    }

    fn operand(&mut self, arg: &Arg) -> Result<Scalar> {
        match arg {
            Arg::Int(i) => Ok(Scalar::Int(*i)),
            Arg::Float(f) => Ok(Scalar::Float(*f)),
            Arg::Bool(b) => Ok(Scalar::Bool(*b)),
            Arg::Sym(name) | Arg::Tensor(name) => self.number(name),
            other => Err(Error::input(format!("{other:?} cannot be used in arithmetic on numbers"))),
        }
    }

    /// Binds a number that a rule returned.
    pub(super) fn bind_number(&mut self, name: &str, number: Scalar, graph: &Graph) -> Result<()> {
        if let (Some(size), Scalar::Value(value)) = (graph.sym_ints.get(name), &number) {
            let size = self.size(size);
            let value = self.builder.cast(*value, Dtype::Int64)?;
            let value = self.builder.reshape(value, &[])?;
            self.bind(&size, value);
            self.env.insert(name.to_owned(), Known::Number(Scalar::from(size)));
            return Ok(());
        }
        self.env.insert(name.to_owned(), Known::Number(number));
        Ok(())
    }

    /// A number as a 0-dim value of the graph.
    pub(super) fn number_value(&mut self, number: &Scalar) -> Result<Value> {
        match number {
            Scalar::Value(value) => Ok(*value),
            Scalar::Sym(size) => self.builder.sym_value(size),
            Scalar::Int(_) => self.builder.scalar(number, Dtype::Int64),
            Scalar::Bool(_) => self.builder.scalar(number, Dtype::Bool),
            _ => self.builder.scalar(number, self.builder.default_float()),
        }
    }
}
