//! The ONNX graph that the builder makes and the writer writes: values, nodes, bodies and tables.
//!
//! It knows nothing of ATen, of archives and of protobuf. A finished [`Graph`] is valid at its opset, has no node that nobody
//! reads, and every value in it has a unique name and a type.

mod constant;
mod intern;
mod node;
mod text;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use constant::{Constant, Data};
pub use intern::intern;
pub use node::{Attr, Body, Node};
pub use types::Type;

use aten2onnx_core::weights::Weight;

/// A handle of a value: a graph input, a weight, a constant or a result of a node. Unique in a builder and its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);

impl Value {
    /// The handle of a position in [`Graph::values`], for graphs that are made by hand.
    pub fn new(index: u32) -> Value {
        Value(index)
    }

    /// The position in [`Graph::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a value.
#[derive(Debug, Clone)]
pub struct ValueInfo {
    /// Unique in the graph and all its bodies.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub source: Source,
}

/// Where a value comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// An input of the graph or of a body.
    Input,
    /// A node.
    Node,
    /// Bytes made here.
    Constant(Constant),
    /// A weight of the model.
    Weight(Arc<Weight>),
}

/// Where a node comes from, for names, messages and metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The node of the PyTorch graph: `relu_1`.
    pub node_name: String,
    /// The module path: `layer1.0.conv1`.
    pub module: Option<String>,
    /// The module's type: `torch.nn.modules.conv.Conv2d`.
    pub module_type: Option<String>,
    /// The user's source line.
    pub source_line: Option<String>,
    /// The rule that ran: `aten::relu`.
    pub rule: String,
    /// What the model itself says of the node: keys and values.
    pub metadata: Vec<(String, String)>,
}

/// A finished model.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// The opset of the default domain.
    pub opset: u32,
    /// The versions of other domains, where they are not 1.
    pub domain_versions: BTreeMap<&'static str, u32>,
    /// Inputs, nodes in topological order, outputs.
    pub body: Body,
    /// All values of the graph and its bodies, by [`Value::index`]; those that nobody reads are in it too.
    pub values: Vec<ValueInfo>,
    /// The constants and weights that nodes and outputs read, in the order they came up.
    pub initializers: Vec<Value>,
    /// By [`Node::origin`].
    pub provenance: Vec<Origin>,
}

impl Graph {
    /// What is known of a value.
    pub fn info(&self, value: Value) -> &ValueInfo {
        &self.values[value.index()]
    }

    /// Its name.
    pub fn name(&self, value: Value) -> &str {
        &self.info(value).name
    }

    /// Its type.
    pub fn ty(&self, value: Value) -> &Type {
        &self.info(value).ty
    }

    /// Its contents, if it is a constant.
    pub fn constant(&self, value: Value) -> Option<&Constant> {
        match &self.info(value).source {
            Source::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// The weight it is, if any.
    pub fn weight(&self, value: Value) -> Option<&Arc<Weight>> {
        match &self.info(value).source {
            Source::Weight(weight) => Some(weight),
            _ => None,
        }
    }

    /// The version of a domain that the model imports.
    pub fn version_of(&self, domain: &str) -> u32 {
        if domain.is_empty() { self.opset } else { self.domain_versions.get(domain).copied().unwrap_or(1) }
    }

    /// The domains that its nodes and bodies use, the default one as ``, sorted.
    pub fn domains(&self) -> Vec<&'static str> {
        let mut domains = vec![""];
        self.body.visit(&mut |node| {
            let (domain, _) = node.domain_and_type();
            if !domains.contains(&domain) {
                domains.push(domain);
            }
        });
        domains.sort_unstable();
        domains
    }
}
