//! ONNX's operators: every version of every schema of the default domain, from `mappings/schemas/onnx.txt`.
//!
//! The head of that file says how it is written. Operators of other domains, if any, have the domain in their key:
//! `com.microsoft::QuickGelu`.

use indexmap::IndexMap;

use super::onnx_parse;

/// All schemas of a domain.
#[derive(Debug, Clone, Default)]
pub struct OnnxSchemas {
    /// By operator name, sorted; the versions of each ascend.
    pub ops: IndexMap<String, Vec<Version>>,
}

/// One version of an operator: what it looks like from opset `since` on, until the next version.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// `Gelu`
    pub name: String,
    /// The opset that brought it.
    pub since: u32,
    /// From here on the operator must not be used.
    pub deprecated: bool,
    /// ONNX defines it by a function body.
    pub function: bool,
    /// In order.
    pub inputs: Vec<Port>,
    /// In order.
    pub outputs: Vec<Port>,
    /// Fewest inputs that a node must have.
    pub min_inputs: u32,
    /// Fewest outputs that a node must have.
    pub min_outputs: u32,
    /// Sorted by name.
    pub attributes: Vec<Attribute>,
    /// The type variables that the ports name.
    pub types: Vec<TypeVar>,
}

/// An input or output.
#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    /// `X`
    pub name: String,
    /// How often it may stand.
    pub option: PortOption,
    /// For a variadic port: all of one type.
    pub homogeneous: bool,
    /// A type variable (`T`) or a type (`tensor(int64)`).
    pub ty: String,
}

/// How often an input or output may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortOption {
    /// Once.
    Single,
    /// Once or not at all.
    Optional,
    /// Any number of times (at least the given number).
    Variadic(u32),
}

/// An attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// `alpha`
    pub name: String,
    /// Its type.
    pub kind: AttrKind,
    /// A node must have it.
    pub required: bool,
    /// What it is where a node leaves it out.
    pub default: Option<AttrValue>,
}

/// The types of attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AttrKind {
    Float,
    Int,
    String,
    Tensor,
    Graph,
    SparseTensor,
    TypeProto,
    Floats,
    Ints,
    Strings,
    Tensors,
    Graphs,
}

/// A default.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum AttrValue {
    Float(f32),
    Int(i64),
    String(String),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<String>),
}

/// A type variable and the types it may be.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeVar {
    /// `T`
    pub name: String,
    /// `tensor(float)`, `seq(tensor(int64))`, `optional(...)`, sorted.
    pub allowed: Vec<String>,
}

/// How a version differs from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There was none before.
    Appeared,
    /// Inputs, outputs or attributes differ (names, number, option, attribute types, required, defaults).
    Shape,
    /// Only the allowed types differ, or the texts.
    Types,
}

impl OnnxSchemas {
    /// Adds the operators of another domain.
    pub fn add(&mut self, other: OnnxSchemas) {
        self.ops.extend(other.ops);
        self.ops.sort_unstable_keys();
    }

    /// Reads the text of a snapshot. An error names the line.
    pub fn parse(text: &str) -> Result<OnnxSchemas, String> {
        onnx_parse::parse(text)
    }

    /// The version in force at an opset (which may be a deprecated one); None if the operator is not there yet.
    pub fn at(&self, op: &str, opset: u32) -> Option<&Version> {
        self.versions(op).iter().rev().find(|v| v.since <= opset)
    }

    /// All versions of an operator, ascending; empty if there is no such operator.
    pub fn versions(&self, op: &str) -> &[Version] {
        self.ops.get(op).map_or(&[], Vec::as_slice)
    }

    /// How the version that came with opset `since` differs from the one before; None if no version came with it.
    pub fn change(&self, op: &str, since: u32) -> Option<Change> {
        let versions = self.versions(op);
        let at = versions.iter().position(|v| v.since == since)?;
        let version = versions.get(at)?;
        let before = at.checked_sub(1).and_then(|i| versions.get(i));
        Some(before.map_or(Change::Appeared, |b| version.change_from(b)))
    }

    /// The operator whose name is most like this one, if any is like it at all.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        crate::nearest::nearest(name, self.ops.keys().map(String::as_str))
    }
}

impl Version {
    /// How this version differs from an older one. Deprecation is no difference of shape: a deprecated version says nothing
    /// new, but [`Version::deprecated`] must be looked at.
    pub fn change_from(&self, before: &Version) -> Change {
        let same = same_ports(&self.inputs, &before.inputs)
            && same_ports(&self.outputs, &before.outputs)
            && self.attributes == before.attributes;
        if same { Change::Types } else { Change::Shape }
    }

    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }

    /// The types that a port may be: those of its type variable, or the one it names.
    pub fn allowed<'a>(&'a self, port: &'a Port) -> &'a [String] {
        match self.types.iter().find(|t| t.name == port.ty) {
            Some(var) => &var.allowed,
            None => std::slice::from_ref(&port.ty),
        }
    }
}

/// The same but for types.
fn same_ports(a: &[Port], b: &[Port]) -> bool {
    let shape = |p: &Port| (p.option, p.homogeneous);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && shape(a) == shape(b))
}

impl AttrKind {
    const NAMES: [(AttrKind, &'static str); 12] = [
        (AttrKind::Float, "FLOAT"),
        (AttrKind::Int, "INT"),
        (AttrKind::String, "STRING"),
        (AttrKind::Tensor, "TENSOR"),
        (AttrKind::Graph, "GRAPH"),
        (AttrKind::SparseTensor, "SPARSE_TENSOR"),
        (AttrKind::TypeProto, "TYPE_PROTO"),
        (AttrKind::Floats, "FLOATS"),
        (AttrKind::Ints, "INTS"),
        (AttrKind::Strings, "STRINGS"),
        (AttrKind::Tensors, "TENSORS"),
        (AttrKind::Graphs, "GRAPHS"),
    ];

    /// ONNX's name: `FLOAT`, `INTS`.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|n| n.0 == self).map_or("", |n| n.1)
    }

    /// From ONNX's name.
    pub fn from_name(name: &str) -> Option<AttrKind> {
        Self::NAMES.iter().find(|n| n.1 == name).map(|n| n.0)
    }
}
