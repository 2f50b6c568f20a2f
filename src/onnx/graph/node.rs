//! Nodes, their attributes, and the bodies that hold them.

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
    /// In the order of the schema; None for one that nobody reads.
    pub outputs: Vec<Option<Value>>,
    /// Sorted by name; those at their default are left out.
    pub attrs: Vec<(&'static str, Attr)>,
    /// Index into the provenance table.
    pub origin: u32,
}

/// An attribute's value.
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
    /// Of another kind: the message that a model had it in.
    Message(Arc<[u8]>),
}

/// A graph's or nested graph's contents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Body {
    /// Its inputs; at the top level these are the user's.
    pub inputs: Vec<Value>,
    /// In topological order.
    pub nodes: Vec<Node>,
    /// Its outputs, no two the same.
    pub outputs: Vec<Value>,
}

impl Node {
    /// The domain (empty for the default one) and the operator's bare name.
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

    /// An input that is there.
    pub fn input(&self, i: usize) -> Option<Value> {
        self.inputs.get(i).copied().flatten()
    }

    /// The nested graphs.
    pub fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.attrs.iter().filter_map(|(_, a)| match a {
            Attr::Graph(body) => Some(body),
            _ => None,
        })
    }
}

impl Body {
    /// Calls `f` for every node, bodies included, outer nodes first.
    pub fn visit(&self, f: &mut dyn FnMut(&Node)) {
        for node in &self.nodes {
            f(node);
            node.bodies().for_each(|body| body.visit(f));
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
