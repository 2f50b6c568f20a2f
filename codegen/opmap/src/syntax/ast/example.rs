//! Examples.

use super::{Expr, Ident, OnnxName, OpName};
use crate::source::Span;

/// `example aten::elu(f32[2, 3], alpha = 0.5) with n = 4`
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// What is called.
    pub target: ExampleTarget,
    /// Its arguments.
    pub args: Vec<ExampleArg>,
    /// Sizes of symbolic dimensions.
    pub with: Vec<(Ident, i64)>,
}

/// An ATen overload or an ONNX operator.
#[derive(Debug, Clone, PartialEq)]
pub enum ExampleTarget {
    /// `aten::elu`, perhaps with placeholders.
    Map(OpName),
    /// `Gelu`
    Lower(OnnxName),
    /// `Squeeze from 13`: a call in the form before this opset.
    Raise(OnnxName, Ident, u32),
}

/// An argument of an example.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleArg {
    /// `alpha`. None for a positional argument.
    pub name: Option<Ident>,
    /// Its value.
    pub value: ExampleValue,
    /// All of it.
    pub span: Span,
}

/// The value of an argument of an example.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ExampleValue {
    /// `f32[2, n] in 0.1 .. 0.9`
    Tensor { dtype: String, sizes: Vec<ExampleSize>, range: Option<(f64, f64)> },
    /// `i64{0, 2}`, `f32{{1, 2}, {3, 4}}`: sizes, and elements in row-major order.
    Literal { dtype: String, sizes: Vec<i64>, elements: Vec<f64> },
    /// A list of values.
    List(Vec<ExampleValue>),
    /// An int.
    Int(i64),
    /// A float, `INF`, `-INF` or `NAN`.
    Float(f64),
    /// `True`
    Bool(bool),
    /// A string.
    Str(String),
    /// `None`
    None,
    /// A dtype, or another name: `float16`, `contiguous_format`.
    Name(String),
    /// The closure of `body_g = |..| {..}`.
    Graph(Box<Expr>),
    /// `SequenceConstruct(f32[2], f32[3])`: the result of an ONNX operator.
    Node(Ident, Vec<ExampleArg>),
}

/// A size of an example's tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleSize {
    /// `3`
    Known(i64),
    /// `n`
    Symbolic(String),
}
