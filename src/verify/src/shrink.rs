//! The smallest call that is wrong in the same way.

use aten2onnx_core::error::Result;
use aten2onnx_opmap::syntax::ast::{ExampleSize, ExampleValue};
use aten2onnx_opmap::tree::Example;

use super::calls::call_of;
use super::check::Fault;
use super::edit::{dtype_of, known_sizes, make_known, random_elements, replace_size, set_dtype, values, visit};
use super::rule::Rule;

/// The largest number of calls that are tried.
const MOST_TRIES: usize = 120;

/// Makes a call smaller as long as it stays wrong.
pub(super) fn shrunk(
    call: Example,
    rule: &Rule<'_>,
    fault: Fault,
    wrong: &mut dyn FnMut(&Example) -> Result<Option<Fault>>,
) -> Result<(Example, Fault)> {
    let mut smallest = (call, fault);
    let mut tries = 0;
    'again: loop {
        for simpler in simpler(&smallest.0, rule) {
            let Some(simpler) = call_of(rule, simpler.args, simpler.with) else { continue };
            if simpler.text == smallest.0.text {
                continue;
            }
            tries += 1;
            if tries > MOST_TRIES {
                return Ok(smallest);
            }
            if let Some(fault) = wrong(&simpler)? {
                smallest = (simpler, fault);
                continue 'again;
            }
        }
        return Ok(smallest);
    }
}

/// Simpler calls, those with the largest step first.
fn simpler(call: &Example, rule: &Rule<'_>) -> Vec<Example> {
    let mut all = Vec::new();
    let optional = |place: &usize| call.args.get(*place).is_some_and(|(name, _)| rule.is_optional(name));
    for place in (0..call.args.len()).filter(optional) {
        let mut without = call.clone();
        without.args.remove(place);
        all.push(without);
    }
    for (name, size) in &call.with {
        let mut known = call.clone();
        make_known(&mut known, name, *size);
        all.push(known);
    }
    for index in 0..values(call).len() {
        for step in 0..6 {
            let mut changed = call.clone();
            let mut at = 0;
            let mut is_changed = false;
            visit(&mut changed, &mut |value| {
                if at == index {
                    is_changed = simplify(value, step);
                }
                at += 1;
            });
            if is_changed {
                all.push(changed);
            }
        }
    }
    // Equal sizes shrink together.
    let mut sizes = known_sizes(call);
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes.into_iter().rev().filter(|size| *size > 1) {
        for new in [1, 2, size / 2, size - 1].into_iter().filter(|new| *new < size) {
            let mut changed = call.clone();
            replace_size(&mut changed, &ExampleSize::Known(size), &ExampleSize::Known(new));
            all.push(changed);
        }
    }
    all
}

/// Makes a value simpler, in one of a few ways. Returns whether it could.
fn simplify(value: &mut ExampleValue, step: u8) -> bool {
    let old = value.clone();
    match (step, &mut *value) {
        (0, ExampleValue::Tensor { sizes, .. }) if !sizes.is_empty() => drop(sizes.remove(0)),
        (1, ExampleValue::Tensor { range, .. }) => *range = None,
        (1, ExampleValue::Literal { elements, .. }) => {
            // Only the elements that are not plain.
            elements.iter_mut().for_each(|x| {
                if x.is_finite() && x.abs() < 1000.0 {
                    *x = x.signum().max(0.0);
                }
            });
        }
        (2, ExampleValue::Literal { dtype, sizes, elements }) if sizes.len() == 1 && elements.len() > 1 => {
            let kept = elements.len().div_ceil(2);
            *value = ExampleValue::Literal {
                dtype: dtype.clone(),
                sizes: vec![kept as i64],
                elements: elements.iter().take(kept).copied().collect(),
            };
        }
        (3, ExampleValue::Literal { dtype, sizes, elements }) if sizes.len() == 1 && elements.len() > 1 => {
            let dropped = elements.len() / 2;
            *value = ExampleValue::Literal {
                dtype: dtype.clone(),
                sizes: vec![(elements.len() - dropped) as i64],
                elements: elements.iter().skip(dropped).copied().collect(),
            };
        }
        (4, _) if dtype_of(&old).is_some() => set_dtype(value, "f32"),
        (5, ExampleValue::Literal { dtype, sizes, .. }) => {
            *value = random_elements(dtype, sizes);
        }
        (2, ExampleValue::Tensor { sizes, .. }) if sizes.len() > 1 => drop(sizes.pop()),
        (0, ExampleValue::Int(n)) => *n = 0,
        (1, ExampleValue::Int(n)) => *n = 1,
        (2, ExampleValue::Int(n)) => *n /= 2,
        (0, ExampleValue::Float(x)) => *x = 0.0,
        (1, ExampleValue::Float(x)) => *x = 1.0,
        (2, ExampleValue::Float(x)) if x.is_finite() => *x = x.trunc(),
        (0, ExampleValue::Bool(b)) => *b = false,
        (0, ExampleValue::List(items)) if items.len() > 1 => drop(items.pop()),
        (1, ExampleValue::List(items)) if items.len() > 1 => drop(items.remove(0)),
        _ => return false,
    }
    *value != old
}
