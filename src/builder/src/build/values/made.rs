//! What a value was made from: rules look at it where that saves nodes.

use crate::build::Builder;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Constant, Node, Source, Value};
use aten2onnx_onnx::schema::{self, Op, Shape};

/// How many nodes may be between a value and what it was made from.
const DEPTH: usize = 8;

impl Builder {
    /// Whether all elements are known to be 0.
    pub fn is_zero(&self, value: Value) -> bool {
        self.is_zero_within(value, DEPTH)
    }

    fn is_zero_within(&self, value: Value, depth: usize) -> bool {
        let is_nothing = |constant: &Constant| constant.bytes().iter().all(|byte| *byte == 0);
        if let Source::Constant(constant) = &self.data(value).source {
            return is_nothing(constant);
        }
        let Some(node) = self.node_of_output(value).filter(|_| depth > 0) else { return false };
        match (node.op, node.input(0)) {
            ("ConstantOfShape", _) => match node.attrs.iter().find(|(name, _)| *name == "value") {
                Some((_, Attr::Tensor(one))) => self.constant_of(*one).is_some_and(is_nothing),
                _ => true,
            },
            (op, Some(from)) if keeps_zeros(op) => self.is_zero_within(from, depth - 1),
            _ => false,
        }
    }

    /// What was expanded to a value, if it has as many dimensions; else the value itself.
    pub fn before_expansion(&self, value: Value) -> Value {
        let mut value = value;
        for _ in 0..DEPTH {
            let Some(node) = self.node_of_output(value).filter(|node| node.op == "Expand") else { break };
            let Some(from) = node.input(0).filter(|from| self.ty(*from).rank() == self.ty(value).rank()) else { break };
            value = from;
        }
        value
    }

    /// The tensor that a value was taken from where a mask of its dimensions from `axis` on is true.
    pub fn masked_source(&self, value: Value, mask: Value, axis: i64) -> Option<Value> {
        let node = self.before_cast(self.node_of_output(value)?)?;
        let is_chosen = node.op == "Compress" && node.int("axis") == Some(axis);
        let (rows, condition) = (node.input(0)?, node.input(1).filter(|_| is_chosen)?);
        // Masks of bytes are cast.
        let is_bool = self.dtype(mask) == Dtype::Bool;
        let rank = self.ty(mask).rank().filter(|_| is_bool)?;
        let is_same = |of: Value| self.are_same(of, mask, DEPTH);
        if !is_same(condition) && !self.reshaped_from(condition).is_some_and(is_same) {
            return None;
        }
        if rank == 1 { Some(rows) } else { self.reshaped_from(rows) }
    }

    /// Whether two conditions are computed in the same way from the same values.
    fn are_same(&self, a: Value, b: Value, depth: usize) -> bool {
        if a == b {
            return true;
        }
        let (Some(x), Some(y)) = (self.node_of_output(a), self.node_of_output(b)) else { return false };
        let is_alike = x.op == y.op && is_condition(x.op) && x.attrs.is_empty() && y.attrs.is_empty();
        let is_same = |(a, b): (&Option<Value>, &Option<Value>)| match (a, b) {
            (Some(a), Some(b)) => self.are_same(*a, *b, depth - 1),
            (a, b) => a.is_none() && b.is_none(),
        };
        is_alike && depth > 0 && x.inputs.len() == y.inputs.len() && x.inputs.iter().zip(&y.inputs).all(is_same)
    }

    fn before_cast<'a>(&'a self, node: &'a Node) -> Option<&'a Node> {
        if node.op == "Cast" { self.node_of_output(node.input(0)?) } else { Some(node) }
    }

    fn reshaped_from(&self, value: Value) -> Option<Value> {
        self.node_of_output(value).filter(|node| node.op == "Reshape")?.input(0)
    }
}

/// Whether an operator moves, copies, casts or drops elements of its first input, and adds none but zeros.
fn keeps_zeros(op: &str) -> bool {
    let facts = schema::facts(op);
    facts.moves_first() || facts.shape == Shape::Cast
}

/// Whether an operator gives a truth value for each place.
fn is_condition(op: &str) -> bool {
    let gives = |op: &Op| op.versions.last()?.outputs.first().map(|port| port.ty);
    let only = |op: &Op| op.versions.last()?.types.get(usize::from(gives(op)?))?.only();
    schema::find(op).is_some_and(|op| op.facts.elementwise && only(op) == Some(Dtype::Bool))
}
