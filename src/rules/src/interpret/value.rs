//! What the interpreter asks of values.

use aten2onnx_builder::Out;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Value;

use crate::arguments::value::mismatch;
use crate::arguments::{FromVal, Val};

fn are_equal(a: &[Val], b: &[Val]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
}

impl Val {
    /// Equality in rules: a `Scalar` equals what it is known to equal.
    pub(crate) fn equals(&self, other: &Val) -> bool {
        match (self, other) {
            (Val::Tensor(a), Val::Tensor(b)) => a == b,
            (Val::Int(a), Val::Int(b)) => a == b,
            (Val::Float(a), Val::Float(b)) => a == b,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Str(a), Val::Str(b)) => a == b,
            (Val::Scalar(a), Val::Scalar(b)) => a == b,
            (Val::SymInt(a), Val::SymInt(b)) => a == b,
            (Val::Dtype(a), Val::Dtype(b)) => a == b,
            (Val::List(a), Val::List(b)) => are_equal(a, b),
            (Val::Tuple(a), Val::Tuple(b)) => are_equal(a, b),
            (Val::None, Val::None) => true,
            _ => false,
        }
    }

    /// The values of the graph that a body or lowering returned.
    pub(crate) fn into_values(self) -> Result<Vec<Value>> {
        match self {
            Val::Tensor(value) => Ok(vec![value]),
            Val::Tuple(parts) => parts.into_iter().map(Value::from_val).collect(),
            items @ Val::List(_) => Vec::from_val(items),
            other => Err(mismatch("tensors", &other)),
        }
    }

    /// The results of a rule.
    pub(crate) fn into_outs(self) -> Result<Vec<Out>> {
        match self {
            Val::Tuple(parts) => parts.into_iter().map(Val::into_out).collect(),
            one => Ok(vec![one.into_out()?]),
        }
    }

    fn into_out(self) -> Result<Out> {
        Ok(match self {
            Val::Tensor(value) => Out::Tensor(value),
            Val::List(_) => Out::Tensors(self.into_values()?),
            Val::SymInt(n) => Out::SymInt(n),
            Val::Int(n) => Out::SymInt(n.into()),
            Val::Scalar(number) => Out::Scalar(number),
            Val::Float(x) => Out::Scalar(x.into()),
            Val::Bool(b) => Out::Scalar(b.into()),
            Val::None => Out::None,
            other => return Err(mismatch("a result", &other)),
        })
    }
}
