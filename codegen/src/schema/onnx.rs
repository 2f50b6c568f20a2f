//! ONNX's operators: every version of every schema of the default domain, from `mappings/schemas/onnx.txt`.

use indexmap::IndexMap;

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
