//! Constants and tensors of one value.

use std::f64::consts::PI;

use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// Larger tables are not stored as constants.
const MAX_TABLE: i64 = 1 << 24;

/// Casts a value; emits no node if the dtype is the same.
pub fn cast(cx: &mut Builder, x: Value, to: Dtype) -> Result<Value> {
    cx.cast(x, to)
}

/// A 0-dim tensor.
pub fn scalar(cx: &mut Builder, x: &Scalar, t: Dtype) -> Result<Value> {
    cx.scalar(x, t)
}

/// A one-dimensional int64 tensor.
pub fn vector(cx: &mut Builder, ns: &[SymInt]) -> Result<Value> {
    cx.tensor1(ns)
}

/// A one-dimensional constant.
pub fn constant(cx: &mut Builder, xs: &[Scalar], t: Dtype) -> Result<Value> {
    cx.numbers(xs, t)
}

/// A tensor filled with one value.
pub fn full_of(cx: &mut Builder, size: &[SymInt], value: &Scalar, t: Dtype) -> Result<Value> {
    cx.full(size, value, t)
}

/// The indices of a triangle of a matrix: a row of row indices, then a row of column indices.
pub fn triangle(cx: &mut Builder, rows: i64, columns: i64, offset: i64, upper: bool) -> Result<Value> {
    let size = rows.checked_mul(columns).filter(|n| *n <= MAX_TABLE);
    if rows < 0 || columns < 0 || size.is_none() {
        return Err(Error::unsupported("the matrix is too large for a constant triangle"));
    }
    let inside = |i: i64, j: i64| {
        let apart = j.saturating_sub(i);
        if upper { apart >= offset } else { apart <= offset }
    };
    let places: Vec<(i64, i64)> =
        (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).filter(|(i, j)| inside(*i, *j)).collect();
    let numbers = places.iter().map(|p| p.0).chain(places.iter().map(|p| p.1));
    let bytes: Vec<u8> = numbers.flat_map(i64::to_le_bytes).collect();
    cx.constant(Dtype::Int64, &[2, places.len() as i64], bytes)
}

/// The combinations of `r` out of `n` numbers in ascending order, one per row.
pub fn choices(cx: &mut Builder, n: i64, r: i64, with_replacement: bool) -> Result<Value> {
    let (Ok(count), true) = (usize::try_from(r), (0..=MAX_TABLE).contains(&n)) else {
        return Err(Error::input("combinations need nonnegative numbers"));
    };
    let mut rows: Vec<Vec<i64>> = vec![Vec::new()];
    for _ in 0..count {
        let mut longer = Vec::new();
        for row in &rows {
            let from = row.last().map_or(0, |last| if with_replacement { *last } else { last + 1 });
            longer.extend((from..n).map(|next| [row.as_slice(), &[next]].concat()));
        }
        if longer.len() as i64 > MAX_TABLE {
            return Err(Error::unsupported("there are too many combinations for a constant"));
        }
        rows = longer;
    }
    if r == 0 {
        rows.clear();
    }
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|i| i.to_le_bytes()).collect();
    cx.constant(Dtype::Int64, &[rows.len() as i64, r], bytes)
}

/// `terms[0] - terms[1] cos(x) + terms[2] cos(2 x) - ...` over a period.
pub fn cosine_window(cx: &mut Builder, length: i64, periodic: bool, terms: &[f64]) -> Result<Value> {
    if !(0..=MAX_TABLE).contains(&length) {
        return Err(Error::unsupported(format!("a window of {length} elements is too large")));
    }
    let period = if periodic { length } else { length - 1 } as f64;
    let at = |i: i64| {
        let angle = 2.0 * PI * i as f64 / period;
        let signed = |k: usize, term: f64| if k.is_multiple_of(2) { term } else { -term };
        terms.iter().enumerate().map(|(k, term)| signed(k, *term) * (angle * k as f64).cos()).sum::<f64>()
    };
    let numbers: Vec<Scalar> = (0..length).map(|i| Scalar::Float(if length == 1 { 1.0 } else { at(i) })).collect();
    cx.numbers(&numbers, Dtype::Float64)
}
