//! Nodes, their attributes, and subgraphs.

use std::sync::Arc;

use super::Value;

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// `Gelu`, or `com.microsoft::QuickGelu`.
    pub op: &'static str,
    /// Empty until the graph is finished.
    pub name: String,
    /// In the order of the schema; None for an optional one that is absent.
    pub inputs: Vec<Option<Value>>,
    /// In the order of the schema; None for an unused one.
    pub outputs: Vec<Option<Value>>,
    /// Sorted by name; those with default values are omitted.
    pub attrs: Vec<(&'static str, Attr)>,
    /// Index into the provenance table.
    pub origin: u32,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attr {
    /// FLOAT; the writer rounds it.
    Float(f64),
    /// INT
    Int(i64),
    /// STRING
    Str(String),
    /// FLOATS
    Floats(Vec<f64>),
    /// INTS
    Ints(Vec<i64>),
    /// STRINGS
    Strs(Vec<String>),
    /// TENSOR: a constant.
    Tensor(Value),
    /// GRAPH
    Graph(Body),
    /// GRAPHS
    Graphs(Vec<Body>),
    /// Another kind, as the message of the source model.
    Message(Arc<[u8]>),
}

/// The contents of a graph or subgraph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Body {
    /// The inputs; at the top level, those of the model.
    pub inputs: Vec<Value>,
    /// In topological order.
    pub nodes: Vec<Node>,
    /// The outputs, without duplicates.
    pub outputs: Vec<Value>,
}

impl Node {
    /// The domain (empty for the default one) and the name of the operator.
    pub fn domain_and_type(&self) -> (&'static str, &'static str) {
        match self.op.rsplit_once(':') {
            Some((domain, name)) => (domain.trim_end_matches(':'), name),
            None => ("", self.op),
        }
    }

    /// The attribute of this name.
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.attrs.iter().find(|(n, _)| *n == name).map(|(_, a)| a)
    }

    /// The integers of an attribute.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attr(name)? {
            Attr::Ints(ints) => Some(ints),
            _ => None,
        }
    }

    /// The integer of an attribute.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attr(name)? {
            Attr::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The number of an attribute.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.attr(name)? {
            Attr::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// An input, if present.
    pub fn input(&self, i: usize) -> Option<Value> {
        self.inputs.get(i).copied().flatten()
    }

    /// The subgraphs.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.attrs.iter().flat_map(|(_, attr)| attr.bodies())
    }
}

impl Body {
    /// Calls `f` for every node, including those of subgraphs, outer nodes first.
    pub fn visit(&self, f: &mut dyn FnMut(&Node)) {
        for node in &self.nodes {
            f(node);
            node.bodies().for_each(|body| body.visit(f));
        }
    }
}

impl Attr {
    /// The subgraphs.
    pub fn bodies(&self) -> &[Body] {
        match self {
            Attr::Graph(body) => std::slice::from_ref(body),
            Attr::Graphs(bodies) => bodies,
            _ => &[],
        }
    }

    /// The subgraphs.
    pub fn bodies_mut(&mut self) -> &mut [Body] {
        match self {
            Attr::Graph(body) => std::slice::from_mut(body),
            Attr::Graphs(bodies) => bodies,
            _ => &mut [],
        }
    }
}

macro_rules! from {
    ($($type:ty => |$v:ident| $attr:expr),* $(,)?) => {$(
        impl From<$type> for Attr {
            fn from($v: $type) -> Attr {
                $attr
            }
        }
    )*};
}
from! {
    f64 => |v| Attr::Float(v),
    i64 => |v| Attr::Int(v),
    bool => |v| Attr::Int(v.into()),
    &str => |v| Attr::Str(v.to_owned()),
    String => |v| Attr::Str(v),
    Vec<f64> => |v| Attr::Floats(v),
    &[f64] => |v| Attr::Floats(v.to_vec()),
    Vec<i64> => |v| Attr::Ints(v),
    &[i64] => |v| Attr::Ints(v.to_vec()),
    Vec<String> => |v| Attr::Strs(v),
    &[String] => |v| Attr::Strs(v.to_vec()),
    Value => |v| Attr::Tensor(v),
    Body => |v| Attr::Graph(v),
}
