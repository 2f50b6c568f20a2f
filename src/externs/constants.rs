//! Constants, and what is known of the contents of values.

use crate::builder::{Builder, Scalar};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::sym::SymInt;

/// A 0-dim tensor.
pub fn scalar(cx: &mut Builder, x: &Scalar, t: Dtype) -> Result<Value> {
    match x {
        Scalar::Value(v) => cx.cast(*v, t),
        Scalar::Sym(n) if n.known().is_none() => {
            let value = cx.sym_value(n)?;
            cx.cast(value, t)
        }
        known => cx.scalar(known, t),
    }
}

/// A one-dimensional int64 tensor.
pub fn vector(cx: &mut Builder, ns: &[SymInt]) -> Result<Value> {
    cx.tensor1(ns)
}

/// A one-dimensional constant.
pub fn constant(cx: &mut Builder, xs: &[Scalar], t: Dtype) -> Result<Value> {
    cx.numbers(xs, t)
}

/// A tensor of one value.
pub fn full(cx: &mut Builder, size: &[SymInt], value: &Scalar, t: Dtype) -> Result<Value> {
    let value = scalar(cx, value, t)?;
    cx.expand(value, size)
}

/// Are the elements known?
pub fn is_known(cx: &mut Builder, x: Value) -> Result<bool> {
    Ok(cx.constant_of(x).is_some())
}

/// The elements of a tensor of integers, if they are known.
pub fn contents(cx: &mut Builder, x: Value) -> Result<Option<Vec<i64>>> {
    Ok(cx.constant_ints(x))
}

/// The one element, if the tensor is there; it must be known.
pub fn value(cx: &mut Builder, x: Option<Value>) -> Result<Option<Scalar>> {
    let Some(x) = x else { return Ok(None) };
    let known = cx.constant_scalar(x);
    known.map(Some).ok_or_else(|| Error::refused("a value must be known at export time, and is computed by the model", None))
}

/// The elements of a one-dimensional tensor of integers as sizes.
pub fn sym_ints(cx: &mut Builder, x: Value) -> Result<Vec<SymInt>> {
    cx.sym_ints(x)
}

/// The one element of a tensor of integers as a size.
pub fn sym(cx: &mut Builder, x: Value) -> Result<SymInt> {
    cx.sym(x)
}

/// The one element of a tensor as a number.
pub fn number(cx: &mut Builder, x: Value) -> Result<Scalar> {
    cx.number(x)
}
