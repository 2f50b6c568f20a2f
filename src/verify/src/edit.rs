//! Reading and changing the values of a call, for mutations and for shrinking.

use aten2onnx_opmap::syntax::ast::{ExampleSize, ExampleValue};
use aten2onnx_opmap::tree::Example;

/// All values of a call, also those in lists.
pub(super) fn values(call: &Example) -> Vec<&ExampleValue> {
    values_of(&call.args)
}

/// All values of arguments, also those in lists.
pub(super) fn values_of(args: &[(String, ExampleValue)]) -> Vec<&ExampleValue> {
    fn inside<'v>(value: &'v ExampleValue, all: &mut Vec<&'v ExampleValue>) {
        all.push(value);
        if let ExampleValue::List(items) = value {
            items.iter().for_each(|item| inside(item, all));
        }
    }
    let mut all = Vec::new();
    args.iter().for_each(|(_, value)| inside(value, &mut all));
    all
}

/// Calls `f` on all values of a call, in the order of `values`.
pub(super) fn visit(call: &mut Example, f: &mut dyn FnMut(&mut ExampleValue)) {
    fn inside(value: &mut ExampleValue, f: &mut dyn FnMut(&mut ExampleValue)) {
        f(value);
        if let ExampleValue::List(items) = value {
            items.iter_mut().for_each(|item| inside(item, f));
        }
    }
    call.args.iter_mut().for_each(|(_, value)| inside(value, f));
}

/// The sizes of all tensors, those with elements aside.
pub(super) fn sizes(call: &Example) -> impl Iterator<Item = &ExampleSize> {
    values(call).into_iter().flat_map(|value| match value {
        ExampleValue::Tensor { sizes, .. } => sizes.as_slice(),
        _ => &[],
    })
}

/// The sizes that are not symbolic.
pub(super) fn known_sizes(call: &Example) -> Vec<i64> {
    let known = |size: &ExampleSize| if let ExampleSize::Known(n) = size { Some(*n) } else { None };
    sizes(call).filter_map(known).collect()
}

/// The size of a dimension when the call runs.
pub(super) fn size_of(size: &ExampleSize, with: &[(String, i64)]) -> i64 {
    match size {
        ExampleSize::Known(n) => *n,
        ExampleSize::Symbolic(name) => with.iter().find(|(symbol, _)| symbol == name).map_or(0, |(_, n)| *n),
    }
}

/// Gives all dimensions of one size another one.
pub(super) fn replace_size(call: &mut Example, old: &ExampleSize, new: &ExampleSize) {
    visit(call, &mut |value| {
        let ExampleValue::Tensor { sizes, .. } = value else { return };
        sizes.iter_mut().filter(|own| **own == *old).for_each(|own| own.clone_from(new));
    });
}

/// Makes a symbolic size known, as a dimension and as an argument.
pub(super) fn make_known(call: &mut Example, symbol: &str, size: i64) {
    replace_size(call, &ExampleSize::Symbolic(symbol.to_owned()), &ExampleSize::Known(size));
    visit(call, &mut |value| {
        if matches!(value, ExampleValue::Name(text) if text == symbol) {
            *value = ExampleValue::Int(size);
        }
    });
}

/// The dtype of a tensor.
pub(super) fn dtype_of(value: &ExampleValue) -> Option<&String> {
    match value {
        ExampleValue::Tensor { dtype, .. } | ExampleValue::Literal { dtype, .. } => Some(dtype),
        _ => None,
    }
}

/// Changes a dtype; elements that it may not hold become random ones.
pub(super) fn set_dtype(value: &mut ExampleValue, new: &str) {
    match value {
        ExampleValue::Tensor { dtype, .. } => new.clone_into(dtype),
        ExampleValue::Literal { sizes, .. } => *value = random_elements(new, sizes),
        _ => {}
    }
}

/// A tensor of these sizes with random elements.
pub(super) fn random_elements(dtype: &str, sizes: &[i64]) -> ExampleValue {
    let sizes = sizes.iter().map(|n| ExampleSize::Known(*n)).collect();
    ExampleValue::Tensor { dtype: dtype.to_owned(), sizes, range: None }
}
