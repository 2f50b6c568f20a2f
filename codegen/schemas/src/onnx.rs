//! ONNX's operators: every version of every schema of the default domain, from `mappings/schemas/onnx.txt`.
//!
//! The head of that file explains its notation. Operators of other domains have the domain in their key:
//! `com.microsoft::QuickGelu`.

use indexmap::IndexMap;

use super::dtypes::DtypeSet;
use super::onnx_parse;

/// All schemas of a domain.
#[derive(Debug, Clone, Default)]
pub struct OnnxSchemas {
    /// By operator name, sorted. The versions of each are in ascending order.
    pub ops: IndexMap<String, Vec<Version>>,
}

/// One version of an operator: its schema from opset `since` until the next version.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// `Gelu`
    pub name: String,
    /// The opset that added it.
    pub since: u32,
    /// From this version on the operator must not be used.
    pub deprecated: bool,
    /// ONNX defines it with a function body.
    pub function: bool,
    /// In order.
    pub inputs: Vec<Port>,
    /// In order.
    pub outputs: Vec<Port>,
    /// The least number of inputs of a node.
    pub min_inputs: u32,
    /// The least number of outputs of a node.
    pub min_outputs: u32,
    /// Sorted by name.
    pub attributes: Vec<Attribute>,
    /// The type variables of the ports.
    pub types: Vec<TypeVar>,
}

/// An input or output.
#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    /// `X`
    pub name: String,
    /// How many values it takes.
    pub option: PortOption,
    /// For a variadic port: whether all values have the same type.
    pub homogeneous: bool,
    /// A type variable (`T`) or a type (`tensor(int64)`).
    pub ty: String,
    /// The dtypes of the tensors among its allowed types.
    pub dtypes: DtypeSet,
}

impl Port {
    /// Whether its values may have several types.
    pub fn is_heterogeneous(&self) -> bool {
        matches!(self.option, PortOption::Variadic(_)) && !self.homogeneous
    }
}

/// How many values an input or output takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortOption {
    /// One.
    Single,
    /// One or none.
    Optional,
    /// Any number, but at least this one.
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
    /// Its value where a node leaves it out.
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

/// A type variable and its allowed types.
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
    /// There is no version before.
    Appeared,
    /// Inputs, outputs or attributes differ (names, number, option, attribute types, required, defaults).
    Shape,
    /// Only the allowed types or the descriptions differ.
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

    /// The version in force at an opset, which may be deprecated. None if the operator does not exist yet.
    pub fn at(&self, op: &str, opset: u32) -> Option<&Version> {
        self.versions(op).iter().rev().find(|v| v.since <= opset)
    }

    /// All versions of an operator in ascending order. Empty if there is no such operator.
    pub fn versions(&self, op: &str) -> &[Version] {
        self.ops.get(op).map_or(&[], Vec::as_slice)
    }

    /// How the version of opset `since` differs from the one before. None if that opset did not change the operator.
    pub fn change(&self, op: &str, since: u32) -> Option<Change> {
        let versions = self.versions(op);
        let at = versions.iter().position(|v| v.since == since)?;
        let version = versions.get(at)?;
        let before = at.checked_sub(1).and_then(|i| versions.get(i));
        Some(before.map_or(Change::Appeared, |b| version.change_from(b)))
    }

    /// Whether the schema of a version only adds to that of the version before.
    pub fn extends(&self, op: &str, since: u32) -> bool {
        let versions = self.versions(op);
        versions
            .windows(2)
            .any(|pair| matches!(pair, [before, version] if version.since == since && version.extends(before)))
    }

    /// The operator with the most similar name, if any is similar enough.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        crate::nearest::nearest(name, self.ops.keys().map(String::as_str))
    }
}

impl Version {
    /// How this version differs from an older one. Deprecation is not a change of shape; see [`Version::deprecated`].
    pub fn change_from(&self, before: &Version) -> Change {
        let same = same_ports(&self.inputs, &before.inputs)
            && same_ports(&self.outputs, &before.outputs)
            && self.attributes == before.attributes;
        if same { Change::Types } else { Change::Shape }
    }

    /// Whether every call that an older version allows is a call of this version.
    fn extends(&self, before: &Version) -> bool {
        let takes = |own: &Attribute, older: &Attribute| {
            own.kind == older.kind && own.default == older.default && (older.required || !own.required)
        };
        extends_ports(&self.inputs, &before.inputs)
            && extends_ports(&self.outputs, &before.outputs)
            && before.attributes.iter().all(|older| self.attribute(&older.name).is_some_and(|own| takes(own, older)))
            && self.attributes.iter().all(|own| !own.required || before.attribute(&own.name).is_some())
    }

    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }

    /// The allowed types of a port: those of its type variable, or the type that it names.
    pub fn allowed<'a>(&'a self, port: &'a Port) -> &'a [String] {
        allowed_types(&self.types, port)
    }
}

/// The types of a port: those of its type variable, or the type that it names.
pub(super) fn allowed_types<'a>(types: &'a [TypeVar], port: &'a Port) -> &'a [String] {
    match types.iter().find(|variable| variable.name == port.ty) {
        Some(variable) => &variable.allowed,
        None => std::slice::from_ref(&port.ty),
    }
}

/// Whether ports are the older ones, perhaps optional now, and then ports that need no value.
fn extends_ports(ports: &[Port], older: &[Port]) -> bool {
    let takes = |own: &Port, older: &Port| {
        let loosened = match (own.option, older.option) {
            (PortOption::Optional, PortOption::Single) => true,
            (PortOption::Variadic(least), PortOption::Variadic(older)) => least <= older,
            _ => false,
        };
        own.name == older.name && (own.option == older.option || loosened) && own.homogeneous == older.homogeneous
    };
    ports.len() >= older.len()
        && ports.iter().zip(older).all(|(own, older)| takes(own, older))
        && ports.iter().skip(older.len()).all(|own| own.option != PortOption::Single)
}

/// Whether ports are the same except for types.
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
