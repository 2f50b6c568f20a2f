//! What a `fuse` rule looks for in a graph: a tree of nodes, with parameters at its leaves. The rule compiler makes these trees of checked rules; the
//! passes of the exporter match them.

use serde::{Deserialize, Serialize};

/// A part of a pattern: what an input of a node has to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Pattern {
    /// Any tensor. It is the argument for the parameter with this number; the same one wherever the parameter is named again.
    Tensor(usize),
    /// Any tensor, or none.
    Optional(usize),
    /// No input.
    Absent,
    /// A constant of one element, with this value up to the precision of its dtype.
    Number(f64),
    /// A constant of one float, which is the argument for this parameter.
    Float(usize),
    /// A constant of one integer.
    Int(usize),
    /// A constant list of these integers.
    Ints(Vec<i64>),
    /// A constant list of integers, which is the argument for this parameter.
    AnyInts(usize),
    /// The result of a node.
    Node(Box<NodePattern>),
    /// The product of a number and of factors, in any order. A division by a number is a factor, and so is each factor of a power.
    Product(Terms),
    /// The sum of a number and of terms, in any order.
    Sum(Terms),
}

/// A node with one result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodePattern {
    /// The operator.
    pub op: String,
    /// Its inputs. The node has no more than these.
    pub inputs: Vec<Pattern>,
    /// Its attributes. Others have their default.
    pub attrs: Vec<(String, AttrPattern)>,
    /// Whether the first two inputs may be swapped.
    pub swaps: bool,
    /// Whether other nodes may read the result as well.
    pub shared: bool,
}

/// The value of an attribute, or its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AttrPattern {
    /// This integer.
    Int(i64),
    /// This float, up to the precision of a float32.
    Float(f64),
    /// This text.
    Str(String),
    /// These integers.
    Ints(Vec<i64>),
    /// Any value, which is the argument for this parameter.
    Any(usize),
}

/// The operands of a product or a sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The product or the sum of its numbers.
    pub number: f64,
    /// The other operands.
    pub operands: Vec<Pattern>,
}

/// A rule that replaces what its pattern matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fusion {
    /// The rule that computes the replacement: `fuse::quotient`.
    pub rule: String,
    /// Its parameters, in the order of their numbers.
    pub params: Vec<String>,
    /// The whole pattern: a node, a product or a sum.
    pub pattern: Pattern,
}

impl Pattern {
    /// How many nodes it has at least: rules with more are tried first.
    pub fn size(&self) -> usize {
        match self {
            Pattern::Node(node) => 1 + node.inputs.iter().map(Pattern::size).sum::<usize>(),
            Pattern::Product(terms) | Pattern::Sum(terms) => {
                terms.operands.len() + terms.operands.iter().map(Pattern::size).sum::<usize>()
            }
            _ => 0,
        }
    }

    /// Calls `f` with each operator that it names.
    pub fn each_operator<'p>(&'p self, f: &mut dyn FnMut(&'p str)) {
        match self {
            Pattern::Node(node) => {
                f(&node.op);
                node.inputs.iter().for_each(|input| input.each_operator(f));
            }
            Pattern::Product(terms) | Pattern::Sum(terms) => {
                terms.operands.iter().for_each(|operand| operand.each_operator(f));
            }
            _ => {}
        }
    }
}

/// The namespace of `fuse` rules.
pub const FUSIONS: &str = "fuse";

/// Whether a rule is a side of a `fuse`.
pub fn is_fusion(rule: &str) -> bool {
    rule.strip_prefix(FUSIONS).is_some_and(|rest| rest.starts_with("::"))
}
