//! Converts arguments of the program for the builder: looks up names.

use super::{Known, Translation};
use aten2onnx_builder::{ArgValue, Scalar};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::Value;
use aten2onnx_program::{Arg, FloatArg, IntArg};

impl Translation<'_> {
    pub(super) fn argument(&mut self, arg: &Arg) -> Result<ArgValue> {
        Ok(match arg {
            Arg::None => ArgValue::None,
            Arg::Tensor(name) | Arg::Sym(name) => self.named(name)?,
            Arg::Tensors(names) => {
                let values = names.iter().map(|n| n.as_ref().map(|n| self.value_of(n)).transpose());
                ArgValue::Tensors(values.collect::<Result<_>>()?)
            }
            Arg::Int(i) => ArgValue::Scalar(Scalar::Int(*i)),
            Arg::Float(f) => ArgValue::Scalar(Scalar::Float(*f)),
            Arg::Bool(b) => ArgValue::Scalar(Scalar::Bool(*b)),
            Arg::Complex(re, im) => ArgValue::Scalar(Scalar::Complex(*re, *im)),
            Arg::Str(s) => ArgValue::Str(s.clone()),
            Arg::Ints(ints) => {
                let numbers = ints.iter().map(|i| match i {
                    IntArg::Known(i) => Ok(Scalar::Int(*i)),
                    IntArg::Named(name) => self.number(name),
                });
                ArgValue::Scalars(numbers.collect::<Result<_>>()?)
            }
            Arg::Floats(floats) => ArgValue::Scalars(floats.iter().map(|f| Scalar::Float(*f)).collect()),
            Arg::SymFloats(floats) => {
                let numbers = floats.iter().map(|f| match f {
                    FloatArg::Known(f) => Ok(Scalar::Float(*f)),
                    FloatArg::Named(name) => self.number(name),
                });
                ArgValue::Scalars(numbers.collect::<Result<_>>()?)
            }
            Arg::Bools(bools) => ArgValue::Scalars(bools.iter().map(|b| Scalar::Bool(*b)).collect()),
            Arg::Strs(strs) => ArgValue::Strs(strs.clone()),
            Arg::Dtype(dtype) => ArgValue::Dtype(*dtype),
            Arg::Opaque(text) => ArgValue::Opaque(text.clone()),
            Arg::IntLists(lists) => ArgValue::IntLists(lists.clone()),
            Arg::NestedTensors(lists) => {
                let lists = lists.iter().map(|l| l.iter().map(|n| self.value_of(n)).collect::<Result<Vec<Value>>>());
                ArgValue::NestedTensors(lists.collect::<Result<_>>()?)
            }
            Arg::Graph(_) => ArgValue::Graph,
            Arg::Operator(name) => ArgValue::Operator(name.clone()),
        })
    }

    fn named(&mut self, name: &str) -> Result<ArgValue> {
        match self.known(name)?.clone() {
            Known::Tensor(value) => Ok(ArgValue::Tensor(value)),
            Known::Number(number) => Ok(ArgValue::Scalar(number)),
            Known::Constant(arg) => self.argument(&arg),
        }
    }

    /// A number of the program by name.
    pub(super) fn number(&self, name: &str) -> Result<Scalar> {
        match self.known(name)? {
            Known::Number(number) => Ok(number.clone()),
            Known::Tensor(value) => Ok(Scalar::Value(*value)),
            Known::Constant(Arg::Int(i)) => Ok(Scalar::Int(*i)),
            Known::Constant(Arg::Float(f)) => Ok(Scalar::Float(*f)),
            Known::Constant(Arg::Bool(b)) => Ok(Scalar::Bool(*b)),
            Known::Constant(other) => Err(Error::input(format!("`{name}` is used as a number, but is {other:?}"))),
        }
    }
}
