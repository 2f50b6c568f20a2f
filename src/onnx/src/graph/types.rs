//! Types of values.

use std::fmt;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// A tensor. An unknown dimension is an anonymous symbol (see [`SymInt::is_anonymous`]).
    Tensor {
        /// Element type.
        dtype: Dtype,
        /// Sizes; None if the rank is unknown.
        shape: Option<Vec<SymInt>>,
    },
    /// A sequence.
    Sequence(Box<Type>),
    /// An optional.
    Optional(Box<Type>),
}

impl Type {
    /// A tensor of this shape.
    pub fn tensor(dtype: Dtype, shape: Vec<SymInt>) -> Type {
        Type::Tensor { dtype, shape: Some(shape) }
    }

    /// A tensor of known sizes.
    pub fn sized(dtype: Dtype, sizes: &[i64]) -> Type {
        Type::tensor(dtype, sizes.iter().copied().map(SymInt::from).collect())
    }

    /// A tensor of unknown rank.
    pub fn unranked(dtype: Dtype) -> Type {
        Type::Tensor { dtype, shape: None }
    }

    /// The type of a value of which nothing is known: a result of a custom operator, a map.
    pub fn unknown() -> Type {
        Type::unranked(Dtype::Undefined)
    }

    /// Whether nothing is known about it.
    pub fn is_unknown(&self) -> bool {
        self.dtype() == Dtype::Undefined
    }

    /// The element type of a tensor, or of the tensors in a sequence or optional.
    pub fn dtype(&self) -> Dtype {
        match self {
            Type::Tensor { dtype, .. } => *dtype,
            Type::Sequence(of) | Type::Optional(of) => of.dtype(),
        }
    }

    /// The type with another element type, if this is a tensor.
    pub fn with_dtype(&self, dtype: Dtype) -> Type {
        match self {
            Type::Tensor { shape, .. } => Type::Tensor { dtype, shape: shape.clone() },
            other => other.clone(),
        }
    }

    /// The shape, if this is a tensor of known rank.
    pub fn shape(&self) -> Option<&[SymInt]> {
        match self {
            Type::Tensor { shape, .. } => shape.as_deref(),
            _ => None,
        }
    }

    /// The sizes, if this is a tensor of which all are known.
    pub fn known_sizes(&self) -> Option<Vec<i64>> {
        self.shape()?.iter().map(SymInt::known).collect()
    }

    /// The number of dimensions, if this is a tensor of known rank.
    pub fn rank(&self) -> Option<usize> {
        self.shape().map(<[SymInt]>::len)
    }

    /// Whether it is a tensor.
    pub fn is_tensor(&self) -> bool {
        matches!(self, Type::Tensor { .. })
    }
}

/// `float32[2, s77 + 1]`, `int64[*]` of unknown rank, `seq(float32[3])`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor { dtype, shape: None } => write!(f, "{dtype}[*]"),
            Type::Tensor { dtype, shape: Some(shape) } => {
                write!(f, "{dtype}[")?;
                for (i, size) in shape.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    if size.has_anonymous() { f.write_str("?")? } else { write!(f, "{size}")? }
                }
                f.write_str("]")
            }
            Type::Sequence(of) => write!(f, "seq({of})"),
            Type::Optional(of) => write!(f, "optional({of})"),
        }
    }
}
