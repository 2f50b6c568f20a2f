//! Small helpers of the generated functions: lists, and arithmetic that never panics.

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
        .ok_or_else(|| Error::refused(format!("there is no element {i} in a list of {}", list.len()), None))
}

/// The elements from `from` to before `to`, as Python's slices count them.
pub fn part<T: Clone>(list: &[T], from: Option<i64>, to: Option<i64>) -> Vec<T> {
    let len = list.len() as i64;
    let clamp = |i: i64| if i < 0 { i.saturating_add(len).max(0) } else { i.min(len) };
    let (from, to) = (clamp(from.unwrap_or(0)), clamp(to.unwrap_or(len)));
    list.get(from as usize..to.max(from) as usize).map(<[T]>::to_vec).unwrap_or_default()
}

/// The integers from `start` to before `stop`.
pub fn range(start: i64, stop: i64, step: i64) -> Result<Vec<i64>> {
    if step == 0 {
        return Err(Error::refused("a range with step 0", None));
    }
    let span = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
    let count = if span <= 0 { 0 } else { (span - 1) / step.saturating_abs() + 1 };
    if count > 1 << 20 {
        return Err(Error::refused(format!("a range of {count} elements would make as many nodes"), None));
    }
    Ok((0..count).map(|i| start.saturating_add(i.saturating_mul(step))).collect())
}

/// With their positions.
pub fn enumerate<T: Clone>(list: &[T]) -> Vec<(i64, T)> {
    list.iter().cloned().enumerate().map(|(i, x)| (i as i64, x)).collect()
}

/// In pairs; the longer list is cut.
pub fn zip<A: Clone, B: Clone>(a: &[A], b: &[B]) -> Vec<(A, B)> {
    a.iter().cloned().zip(b.iter().cloned()).collect()
}

/// Last first.
pub fn reversed<T: Clone>(list: &[T]) -> Vec<T> {
    list.iter().rev().cloned().collect()
}

/// All added up.
pub fn sum(list: &[SymInt]) -> SymInt {
    list.iter().fold(SymInt::from(0), |a, b| &a + b)
}

/// The smallest element.
pub fn least<T: PartialOrd + Copy>(list: &[T]) -> Result<T> {
    list.iter()
        .copied()
        .reduce(|a, b| if b < a { b } else { a })
        .ok_or_else(|| Error::refused("the minimum of no numbers", None))
}

/// The largest element.
pub fn greatest<T: PartialOrd + Copy>(list: &[T]) -> Result<T> {
    list.iter()
        .copied()
        .reduce(|a, b| if b > a { b } else { a })
        .ok_or_else(|| Error::refused("the maximum of no numbers", None))
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
        .ok_or_else(|| Error::refused(format!("{a} to the power of {b} is not an integer of 64 bits"), None))
}

/// A number of outputs.
pub fn count(n: i64) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::refused(format!("{n} outputs"), None))
}

/// Outputs, of which there are as many as were asked for.
pub fn array<const N: usize>(values: Vec<Value>) -> Result<[Value; N]> {
    let given = values.len();
    values.try_into().map_err(|_| Error::internal(format!("a node with {given} outputs where {N} were asked for")))
}

/// The inputs of a body.
pub fn arguments<const N: usize>(values: &[Value]) -> Result<[Value; N]> {
    let given = values.len();
    values.try_into().map_err(|_| Error::internal(format!("a body with {given} inputs where the rule names {N}")))
}

/// The float that a number is known to be.
pub fn known_float(number: &Scalar) -> Result<f64> {
    number
        .as_float()
        .ok_or_else(|| Error::refused("a number must be known at export time, and is computed by the model", None))
}

/// The int that a number is known to be; floats are cut.
pub fn known_int(number: &Scalar) -> Result<i64> {
    if let Some(i) = number.as_int() {
        return Ok(i);
    }
    known_float(number).map(|f| f as i64)
}

/// As the reason of a refusal shows it.
pub fn show<T: Show + ?Sized>(value: &T) -> String {
    value.text()
}

/// What a reason can show.
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
