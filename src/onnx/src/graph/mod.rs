//! The ONNX graph that the builder makes and the writer writes: values, nodes, subgraphs and tables.
//!
//! It knows nothing of ATen, archives or protobuf. A finished [`Graph`] is valid at its opset, has no unused nodes, and
//! each of its values has a unique name and a type.

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
pub use text::Line;
pub use types::Type;

use aten2onnx_core::weights::Weight;

/// The handle of a value: a graph input, a weight, a constant or a result of a node. Unique in a builder and its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);

impl Value {
    /// The handle for a position in [`Graph::values`], for graphs that are built by hand.
    pub fn new(index: u32) -> Value {
        Value(index)
    }

    /// The position in [`Graph::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The properties of a value.
#[derive(Debug, Clone)]
pub struct ValueInfo {
    /// Unique in the graph and all its subgraphs.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// How it is produced.
    pub source: Source,
}

/// How a value is produced.
#[derive(Debug, Clone)]
pub enum Source {
    /// An input of the graph or of a subgraph.
    Input,
    /// A node.
    Node,
    /// A constant in memory.
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
    /// The metadata of a node in a converted model: keys and values.
    pub metadata: Vec<(String, String)>,
}

/// A finished model.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// The opset of the default domain.
    pub opset: u32,
    /// The versions of other domains, unless they are 1.
    pub domain_versions: BTreeMap<&'static str, u32>,
    /// Inputs, nodes in topological order, outputs.
    pub body: Body,
    /// All values of the graph and its subgraphs, by [`Value::index`], including unused ones.
    pub values: Vec<ValueInfo>,
    /// The used constants and weights in order of creation.
    pub initializers: Vec<Value>,
    /// By a result of a node, the origins of equal nodes that it stands for.
    pub sharers: BTreeMap<Value, Vec<u32>>,
    /// Origins by [`Node::origin`].
    pub provenance: Vec<Origin>,
    /// What was replaced because the runtime lacks it or gets it wrong, and how often.
    pub replaced: BTreeMap<String, usize>,
    /// What to know of nodes in the runtime, and of how many.
    pub warned: BTreeMap<String, usize>,
    /// By a newer opset and the bits of an integer that it has: how many weights would fit, and the bytes that this would save.
    pub savings: BTreeMap<(u32, u32), (usize, u64)>,
    /// Where the program records another type of a value than it has.
    pub contradicted: Vec<String>,
    /// What to know of weights that were quantized.
    pub quantized: Vec<String>,
}

impl Graph {
    /// The properties of a value.
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

    /// The weight, if the value is one.
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

    /// The domains of all nodes, sorted; the default one is the empty string.
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
