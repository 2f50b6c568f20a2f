//! ONNX's schemas at run time: static tables generated from `mappings/schemas/onnx.txt`.

pub use aten2onnx_operators::{Bounded, Facts, Function, Half, Integers, Linear, Ports, Shape, Shared};
pub use aten2onnx_operators::{pattern, plan};

use std::sync::OnceLock;

use crate::graph::Attr;

include!(concat!(env!("OUT_DIR"), "/schemas.rs"));
use aten2onnx_core::dtype::Dtype;

/// An operator with all its versions.
#[derive(Debug)]
pub struct Op {
    /// `Gelu`, or `com.microsoft::QuickGelu`.
    pub name: &'static str,
    /// What it does.
    pub facts: Facts,
    /// Ascending.
    pub versions: &'static [Version],
}

/// One version of an operator.
#[derive(Debug)]
pub struct Version {
    /// The opset that introduced it.
    pub since: u32,
    /// Whether it must not be used.
    pub deprecated: bool,
    /// How it differs from the previous version.
    pub change: Change,
    /// Whether calls in the form of the previous version mean the same in this version.
    pub extends: bool,
    /// In order.
    pub inputs: &'static [Port],
    /// In order.
    pub outputs: &'static [Port],
    /// Sorted by name.
    pub attributes: &'static [Attribute],
    /// Type variables; a [`Port`] refers to them by index.
    pub types: &'static [TypeSet],
}

/// How a version differs from the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is the first version.
    Appeared,
    /// Inputs, outputs, attributes or their meaning differ.
    Shape,
    /// Only the allowed types differ.
    Types,
}

/// An input or output.
#[derive(Debug)]
pub struct Port {
    /// `X`
    pub name: &'static str,
    /// How often it may occur.
    pub kind: PortKind,
    /// Index into [`Version::types`]. Ports with the same index have the same type, unless they are variadic and
    /// heterogeneous.
    pub ty: u8,
    /// Whether all inputs of a variadic port have one type.
    pub homogeneous: bool,
}

/// How often a port may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortKind {
    /// Once.
    Single,
    /// At most once.
    Optional,
    /// Any number of times.
    Variadic,
}

/// An attribute.
#[derive(Debug)]
pub struct Attribute {
    /// `alpha`
    pub name: &'static str,
    /// Its type.
    pub kind: AttrKind,
    /// Whether a node must have it.
    pub required: bool,
    /// The value if a node omits it.
    pub default: Option<Default>,
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
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Default {
    Float(f32),
    Int(i64),
    Str(&'static str),
    Floats(&'static [f32]),
    Ints(&'static [i64]),
    Strs(&'static [&'static str]),
}

/// The types that a type variable allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeSet {
    /// `T`, or `tensor(int64)` if the port has a fixed type.
    pub name: &'static str,
    /// Bit `Dtype as u32` for each `tensor(..)`.
    pub tensors: u64,
    /// Whether other kinds (sequences, optionals, maps) are allowed too.
    pub others: bool,
}

impl TypeSet {
    /// Whether a tensor of this dtype is allowed.
    pub fn has(&self, dtype: Dtype) -> bool {
        self.tensors & (1 << dtype as u32) != 0
    }

    /// The dtype, if only one is allowed.
    pub fn only(&self) -> Option<Dtype> {
        if self.tensors.count_ones() != 1 {
            return None;
        }
        Dtype::ALL.into_iter().find(|d| self.has(*d))
    }
}

static REPLACED: OnceLock<Vec<Op>> = OnceLock::new();

/// Takes operators, sorted by name, in place of those of the build, for developers who change the facts. False: they were replaced before.
pub fn replace(ops: Vec<Op>) -> bool {
    REPLACED.set(ops).is_ok()
}

/// The operator with this name.
pub fn find(name: &str) -> Option<&'static Op> {
    let ops = REPLACED.get().map_or(ONNX, Vec::as_slice);
    ops.binary_search_by(|op| op.name.cmp(name)).ok().map(|i| &ops[i])
}

/// The schema of an operator of any domain, such as `com.microsoft::MatMulNBits`.
pub fn find_in_any_domain(name: &str) -> Option<&'static Op> {
    match name.contains("::") {
        true => FOREIGN.binary_search_by(|op| op.name.cmp(name)).ok().and_then(|i| FOREIGN.get(i)),
        false => find(name),
    }
}

/// What an operator does. Of those of other domains little is known.
pub fn facts(name: &str) -> &'static Facts {
    find_in_any_domain(name).map_or(&Facts::UNKNOWN, |op| &op.facts)
}

impl Op {
    /// The position in the newest schema of the input that an argument is given for; all of a variadic input have one.
    pub fn port_of(&self, argument: usize) -> usize {
        let last = self.versions.last().map_or(0, |version| version.inputs.len().saturating_sub(1));
        argument.min(last)
    }

    /// The version in force at an opset; None if the operator does not exist yet.
    pub fn at(&self, opset: u32) -> Option<&'static Version> {
        self.versions.iter().rev().find(|v| v.since <= opset)
    }
}

impl Version {
    /// The attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.binary_search_by(|a| a.name.cmp(name)).ok().and_then(|i| self.attributes.get(i))
    }

    /// The port of an input position.
    pub fn input_port(&self, i: usize) -> Option<&'static Port> {
        port(self.inputs, i)
    }

    /// The port of an output position.
    pub fn output_port(&self, i: usize) -> Option<&'static Port> {
        port(self.outputs, i)
    }
}

fn port(ports: &'static [Port], i: usize) -> Option<&'static Port> {
    ports.get(i).or_else(|| ports.last().filter(|p| p.kind == PortKind::Variadic))
}

impl Default {
    /// Whether the attribute has this default value.
    pub fn is(&self, attr: &Attr) -> bool {
        use self::Default as D;
        let close = |x: f64, y: f32| (x as f32).to_bits() == y.to_bits();
        match (self, attr) {
            (D::Float(d), Attr::Float(v)) => close(*v, *d),
            (D::Int(d), Attr::Int(v)) => d == v,
            (D::Str(d), Attr::Str(v)) => d == v,
            (D::Floats(d), Attr::Floats(v)) => d.len() == v.len() && v.iter().zip(*d).all(|(v, d)| close(*v, *d)),
            (D::Ints(d), Attr::Ints(v)) => d == v,
            (D::Strs(d), Attr::Strs(v)) => d == v,
            _ => false,
        }
    }

    /// Converts it to an attribute.
    pub fn to_attr(self) -> Attr {
        use self::Default as D;
        match self {
            D::Float(d) => Attr::Float(d.into()),
            D::Int(d) => Attr::Int(d),
            D::Str(d) => Attr::Str(d.to_owned()),
            D::Floats(d) => Attr::Floats(d.iter().copied().map(f64::from).collect()),
            D::Ints(d) => Attr::Ints(d.to_vec()),
            D::Strs(d) => Attr::Strs(d.iter().map(|s| (*s).to_owned()).collect()),
        }
    }
}
