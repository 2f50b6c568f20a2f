//! Helpers of the generated functions: lists, and arithmetic that never panics.

use std::fmt::Display;

use aten2onnx_builder::Scalar;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// The element at `i`; negative counts from the end.
pub fn item<T: Clone>(list: &[T], i: i64) -> Result<T> {
    let at = if i < 0 { i.saturating_add(list.len() as i64) } else { i };
    usize::try_from(at)
        .ok()
        .and_then(|at| list.get(at))
        .cloned()
        .ok_or_else(|| Error::refused(format!("index {i} is out of range for a list of {}", list.len()), None))
}

/// The elements from `from` up to `to`, as in Python slices.
pub fn part<T: Clone>(list: &[T], from: Option<i64>, to: Option<i64>) -> Vec<T> {
    let len = list.len() as i64;
    let clamp = |i: i64| if i < 0 { i.saturating_add(len).max(0) } else { i.min(len) };
    let (from, to) = (clamp(from.unwrap_or(0)), clamp(to.unwrap_or(len)));
    list.get(from as usize..to.max(from) as usize).map(<[T]>::to_vec).unwrap_or_default()
}

/// The integers from `start` up to `stop`.
pub fn range(start: i64, stop: i64, step: i64) -> Result<Vec<i64>> {
    if step == 0 {
        return Err(Error::refused("a range with step 0", None));
    }
    let span = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
    let count = if span <= 0 { 0 } else { (span - 1) / step.saturating_abs() + 1 };
    if count > 1 << 20 {
        return Err(Error::refused(format!("a range of {count} elements would create too many nodes"), None));
    }
    Ok((0..count).map(|i| start.saturating_add(i.saturating_mul(step))).collect())
}

/// The elements with their positions.
pub fn enumerate<T: Clone>(list: &[T]) -> Vec<(i64, T)> {
    list.iter().cloned().enumerate().map(|(i, x)| (i as i64, x)).collect()
}

/// Pairs of elements; the longer list is cut off.
pub fn zip<A: Clone, B: Clone>(a: &[A], b: &[B]) -> Vec<(A, B)> {
    a.iter().cloned().zip(b.iter().cloned()).collect()
}

/// The elements in reverse order.
pub fn reversed<T: Clone>(list: &[T]) -> Vec<T> {
    list.iter().rev().cloned().collect()
}

/// The sum of all elements.
pub fn sum(list: &[SymInt]) -> SymInt {
    list.iter().fold(SymInt::from(0), |a, b| &a + b)
}

/// The smallest element.
pub fn least<T: PartialOrd + Copy>(list: &[T]) -> Result<T> {
    list.iter()
        .copied()
        .reduce(|a, b| if b < a { b } else { a })
        .ok_or_else(|| Error::refused("the minimum of an empty list", None))
}

/// The largest element.
pub fn greatest<T: PartialOrd + Copy>(list: &[T]) -> Result<T> {
    list.iter()
        .copied()
        .reduce(|a, b| if b > a { b } else { a })
        .ok_or_else(|| Error::refused("the maximum of an empty list", None))
}

/// Division that rounds down.
pub fn floor_div(a: i64, b: i64) -> Result<i64> {
    let quotient = a.checked_div(b).ok_or_else(|| Error::refused(format!("{a} cannot be divided by {b}"), None))?;
    let inexact = a % b != 0 && (a < 0) != (b < 0);
    Ok(quotient - i64::from(inexact))
}

/// The remainder with the sign of the divisor.
pub fn modulo(a: i64, b: i64) -> Result<i64> {
    Ok(a.wrapping_sub(b.wrapping_mul(floor_div(a, b)?)))
}

/// `a` to the power of `b`.
pub fn power(a: i64, b: i64) -> Result<i64> {
    u32::try_from(b)
        .ok()
        .and_then(|b| a.checked_pow(b))
        .ok_or_else(|| Error::refused(format!("{a} to the power of {b} does not fit in 64 bits"), None))
}

/// A number of outputs.
pub fn count(n: i64) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::refused(format!("the number of outputs cannot be {n}"), None))
}

/// Outputs as an array; their number must match.
pub fn array<const N: usize>(values: Vec<Value>) -> Result<[Value; N]> {
    let given = values.len();
    values.try_into().map_err(|_| Error::internal(format!("expected {N} outputs of a node, found {given}")))
}

/// The inputs of a body.
pub fn arguments<const N: usize>(values: &[Value]) -> Result<[Value; N]> {
    let given = values.len();
    values.try_into().map_err(|_| Error::internal(format!("expected {N} inputs of a body, found {given}")))
}

/// The inputs of a body: one for each name, and the rest.
pub fn arguments_and_rest<const N: usize>(values: &[Value]) -> Result<([Value; N], Vec<Value>)> {
    let (first, rest) = values
        .split_first_chunk::<N>()
        .ok_or_else(|| Error::internal(format!("expected at least {N} inputs of a body, found {}", values.len())))?;
    Ok((*first, rest.to_vec()))
}

/// The value of a known number as a float.
pub fn known_float(number: &Scalar) -> Result<f64> {
    number
        .as_float()
        .ok_or_else(|| Error::refused("a number that must be known at export time is computed by the model", None))
}

/// The value of a known number as an int; floats are truncated.
pub fn known_int(number: &Scalar) -> Result<i64> {
    if let Some(i) = number.as_int() {
        return Ok(i);
    }
    known_float(number).map(|f| f as i64)
}

/// The text of a value in the reason of a refusal.
pub fn show<T: Show + ?Sized>(value: &T) -> String {
    value.text()
}

/// Values that can occur in a reason.
pub trait Show {
    /// As text.
    fn text(&self) -> String;
}

macro_rules! show_by_display {
    ($($ty:ty),*) => {
        $(impl Show for $ty {
            fn text(&self) -> String {
                shown(self)
            }
        })*
    };
}

fn shown(value: &(impl Display + ?Sized)) -> String {
    value.to_string()
}

show_by_display!(i64, f64, bool, str, String, Dtype, SymInt);

impl Show for Scalar {
    fn text(&self) -> String {
        match self {
            Scalar::Int(i) => i.to_string(),
            Scalar::Float(f) => f.to_string(),
            Scalar::Bool(b) => b.to_string(),
            Scalar::Complex(re, im) => format!("{re} + {im}j"),
            Scalar::Sym(n) => n.to_string(),
            Scalar::Value(_) => "a number of the graph".to_owned(),
        }
    }
}

impl<T: Show> Show for [T] {
    fn text(&self) -> String {
        format!("[{}]", self.iter().map(Show::text).collect::<Vec<_>>().join(", "))
    }
}

impl<T: Show> Show for Vec<T> {
    fn text(&self) -> String {
        self.as_slice().text()
    }
}

impl<T: Show> Show for Option<T> {
    fn text(&self) -> String {
        self.as_ref().map_or_else(|| "None".to_owned(), Show::text)
    }
}
