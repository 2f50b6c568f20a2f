//! The types of opmap.

use std::fmt;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ty {
    /// A value of the graph.
    Tensor,
    /// A known integer.
    Int,
    /// A known float.
    Float,
    /// A known boolean.
    Bool,
    /// A known string.
    Str,
    /// A number that is known at export time or computed in the graph.
    Scalar,
    /// An integer that is known at export time or symbolic.
    SymInt,
    /// A dtype.
    ScalarType,
    /// A type of PyTorch that has no meaning in ONNX: `Layout`, `Device`, `MemoryFormat`, `Generator`, `Stream`, ...
    Opaque(String),
    /// A body of Loop, If, Scan.
    Graph,
    /// `T[]`
    List(Box<Ty>),
    /// `T?`
    Optional(Box<Ty>),
    /// `(A, B)`; `()` is the type of statements.
    Tuple(Vec<Ty>),
    /// The type of `fail`, of the content of `None` and of the elements of `[]`. It converts to every type.
    Never,
}

impl Ty {
    /// `T[]`
    pub fn list(of: Ty) -> Ty {
        Ty::List(Box::new(of))
    }

    /// `T?`
    pub fn optional(of: Ty) -> Ty {
        Ty::Optional(Box::new(of))
    }

    /// The type of statements.
    pub fn unit() -> Ty {
        Ty::Tuple(Vec::new())
    }

    /// Whether it contains a value of the graph.
    pub fn is_graph(&self) -> bool {
        match self {
            Ty::Tensor | Ty::Graph => true,
            Ty::List(t) | Ty::Optional(t) => t.is_graph(),
            Ty::Tuple(ts) => ts.iter().any(Ty::is_graph),
            _ => false,
        }
    }

    /// Whether it is int, float, bool, Scalar or SymInt.
    pub fn is_number(&self) -> bool {
        matches!(self, Ty::Int | Ty::Float | Ty::Bool | Ty::Scalar | Ty::SymInt)
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Tensor => f.write_str("Tensor"),
            Ty::Int => f.write_str("int"),
            Ty::Float => f.write_str("float"),
            Ty::Bool => f.write_str("bool"),
            Ty::Str => f.write_str("str"),
            Ty::Scalar => f.write_str("Scalar"),
            Ty::SymInt => f.write_str("SymInt"),
            Ty::ScalarType => f.write_str("ScalarType"),
            Ty::Opaque(name) => f.write_str(name),
            Ty::Graph => f.write_str("graph"),
            Ty::List(t) => write!(f, "{t}[]"),
            Ty::Optional(t) => write!(f, "{t}?"),
            Ty::Tuple(ts) => {
                f.write_str("(")?;
                for (i, t) in ts.iter().enumerate() {
                    write!(f, "{}{t}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Ty::Never => f.write_str("nothing"),
        }
    }
}
