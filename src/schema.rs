//! ONNX's schemas at run time: static tables that the build generates from `mappings/schemas/onnx.txt`.

use crate::builder::{Builder, Call};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::graph::Value;

/// An operator with all its versions.
#[derive(Debug)]
pub struct Op {
    /// `Gelu`, or `com.microsoft::QuickGelu`.
    pub name: &'static str,
    /// Ascending.
    pub versions: &'static [Version],
}

/// A lowering as generated: it gives the outputs in the order of the schema, perhaps fewer.
pub type LowerFn = fn(&mut Builder, &Call) -> Result<Vec<Value>>;

/// One version of an operator.
#[derive(Debug)]
pub struct Version {
    /// The opset that brought it.
    pub since: u32,
    /// It must not be used.
    pub deprecated: bool,
    /// How it differs from the version before.
    pub change: Change,
    /// The `lower .. before since` rule.
    pub lower: Option<LowerFn>,
    /// In order.
    pub inputs: &'static [Port],
    /// In order.
    pub outputs: &'static [Port],
    /// Sorted by name.
    pub attributes: &'static [Attribute],
    /// Type variables; a [`Port`] refers to them by index.
    pub types: &'static [TypeSet],
}

/// How a version differs from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There was none before.
    Appeared,
    /// Inputs, outputs, attributes or their meaning differ.
    Shape,
    /// They differ, but a `same` rule says that a call that both can say means the same.
    Same,
    /// Only the allowed types differ.
    Types,
}

/// An input or output.
#[derive(Debug)]
pub struct Port {
    /// `X`
    pub name: &'static str,
    /// How often it may stand.
    pub kind: PortKind,
    /// Index into [`Version::types`]. Ports with the same index have the same type (unless variadic and heterogeneous).
    pub ty: u8,
    /// For a variadic port: all of one type.
    pub homogeneous: bool,
}

/// How often a port may stand.
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
    /// A node must have it.
    pub required: bool,
    /// What it is where a node leaves it out.
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

/// The types that a type variable may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeSet {
    /// `T`, or `tensor(int64)` where the port names its type itself.
    pub name: &'static str,
    /// Bit `Dtype as u32` for each `tensor(..)`.
    pub tensors: u64,
    /// Other kinds (sequences, optionals, maps) are allowed too.
    pub others: bool,
}

impl TypeSet {
    /// May it be a tensor of this dtype?
    pub fn has(&self, dtype: Dtype) -> bool {
        self.tensors & (1 << dtype as u32) != 0
    }

    /// The one dtype it may be, if there is but one.
    pub fn only(&self) -> Option<Dtype> {
        if self.tensors.count_ones() != 1 {
            return None;
        }
        Dtype::ALL.into_iter().find(|d| self.has(*d))
    }
}

/// The operator of this name.
pub fn find(name: &str) -> Option<&'static Op> {
    let ops = crate::rules::ONNX;
    ops.binary_search_by(|op| op.name.cmp(name)).ok().map(|i| &ops[i])
}

impl Op {
    /// The version in force at an opset; None if the operator is not there yet.
    pub fn at(&self, opset: u32) -> Option<&'static Version> {
        self.versions.iter().rev().find(|v| v.since <= opset)
    }
}
