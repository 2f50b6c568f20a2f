//! What is known of elements after a cast: those that the dtype has stay, others change.

use std::rc::Rc;

use super::values::{Abs, Kinds, Number, Tensor, Values};
use aten2onnx_schemas::dtypes::DtypeSet;

/// The elements of a tensor after a cast, as far as they are known.
pub(super) fn cast_elements(x: &Tensor, to: DtypeSet) -> Option<Rc<Abs>> {
    if x.dtypes == to && to.len() == 1 {
        return x.elements.clone();
    }
    x.elements.as_deref().map(|elements| Rc::new(cast_value(elements, to)))
}

/// A number, or a list of numbers, as elements of these dtypes.
pub(super) fn cast_value(value: &Abs, to: DtypeSet) -> Abs {
    match value {
        Abs::Number(number) => Abs::Number(cast_number(number, to)),
        Abs::List(list) => Abs::List(list.map(|item| cast_value(item, to))),
        other => other.clone(),
    }
}

/// A number as an element of these dtypes.
pub fn cast_number(number: &Number, to: DtypeSet) -> Number {
    let values = match number.values {
        Values::Between(low, high) if holds(to, low, high) => number.values,
        Values::Codes(_) if to.is_within(DtypeSet::int()) => number.values,
        Values::Float(bits) => cast_float(f64::from_bits(bits), to),
        _ => Values::Any,
    };
    Number { known: number.known, values, kinds: Kinds::of_dtypes(to) }
}

/// Whether all of these dtypes have each integer between two bounds.
fn holds(to: DtypeSet, low: i64, high: i64) -> bool {
    to.names().all(|name| integers_of(name).is_some_and(|(least, most)| least <= low && high <= most))
}

/// The bounds between which a dtype has all integers.
fn integers_of(name: &str) -> Option<(i64, i64)> {
    let signed = |bits: u32| Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1));
    let unsigned = |bits: u32| Some((0, (1 << bits) - 1));
    let float = |bits: u32| Some((-(1 << bits), 1 << bits));
    match name {
        "bool" => Some((0, 1)),
        "int8" => signed(8),
        "int16" => signed(16),
        "int32" => signed(32),
        "int64" => Some((i64::MIN, i64::MAX)),
        "uint8" => unsigned(8),
        "uint16" => unsigned(16),
        "uint32" => unsigned(32),
        "uint64" => Some((0, i64::MAX)),
        "bfloat16" => float(8),
        "float16" => float(11),
        "float32" => float(24),
        "float64" => float(53),
        _ => None,
    }
}

/// A float as an element of these dtypes: cut to an integer, or rounded.
fn cast_float(x: f64, to: DtypeSet) -> Values {
    if to.is_within(DtypeSet::int()) {
        let whole = x.trunc();
        let is_exact = whole.abs() < 9.0e15 && holds(to, whole as i64, whole as i64);
        return if is_exact { Values::Between(whole as i64, whole as i64) } else { Values::Any };
    }
    let keeps = |name: &str| match name {
        "float64" => true,
        "float32" => f64::from(x as f32).to_bits() == x.to_bits(),
        "float16" | "bfloat16" => x.fract() == 0.0 && x.abs() <= 256.0,
        _ => false,
    };
    if to.names().all(keeps) { Values::Float(x.to_bits()) } else { Values::Any }
}
