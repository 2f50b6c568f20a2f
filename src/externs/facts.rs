//! Facts about values, and integers that may be symbolic.

use crate::builder::{Builder, Scalar};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::sym::SymInt;

/// The number of dimensions.
pub fn rank(cx: &mut Builder, x: Value) -> Result<i64> {
    cx.rank(x)
}

/// The element type.
pub fn dtype(cx: &mut Builder, x: Value) -> Result<Dtype> {
    Ok(cx.dtype(x))
}

/// All sizes.
pub fn shape(cx: &mut Builder, x: Value) -> Result<Vec<SymInt>> {
    cx.shape(x)
}

/// One size; negative counts from the end. A 0-dim tensor counts as one of size 1.
pub fn dim(cx: &mut Builder, x: Value, i: i64) -> Result<SymInt> {
    if cx.rank(x)? == 0 && (i == 0 || i == -1) {
        return Ok(SymInt::from(1));
    }
    cx.dim(x, i)
}

/// The integer, if it is known.
pub fn known(_: &mut Builder, n: &SymInt) -> Result<Option<i64>> {
    Ok(n.known())
}

/// The integers, if all are known.
pub fn known_ints(_: &mut Builder, ns: &[SymInt]) -> Result<Option<Vec<i64>>> {
    Ok(ns.iter().map(SymInt::known).collect())
}

/// The number as a float, if it is known and real.
pub fn known_float(_: &mut Builder, x: &Scalar) -> Result<Option<f64>> {
    Ok(x.as_float())
}

/// All factors multiplied; 1 for none.
pub fn product(_: &mut Builder, ns: &[SymInt]) -> Result<SymInt> {
    Ok(ns.iter().fold(SymInt::from(1), |a, b| &a * b))
}

/// A symbolic integer as a number that may meet tensors.
pub fn to_scalar(_: &mut Builder, n: &SymInt) -> Result<Scalar> {
    Ok(Scalar::from(n))
}
