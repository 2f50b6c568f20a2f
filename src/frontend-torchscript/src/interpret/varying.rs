//! Numbers that differ between traces of one function: the size that has these values.

use rustc_hash::FxHashMap;

use super::Interpreter;
use crate::traces::shown;
use crate::types::Type;
use crate::values::{Item, Value};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;

/// The most sizes of tensors that are combined with each other.
const MOST_PAIRED: usize = 64;

/// A size and its values in the traces.
struct Candidate {
    size: SymInt,
    values: Vec<i64>,
}

impl Interpreter<'_, '_> {
    /// The size that has these values in the traces.
    pub(super) fn varying(&mut self, values: &[i64]) -> Result<Item> {
        let size = self.size_of_values(values).ok_or_else(|| self.no_size(values))?;
        Ok(Item::new(Value::size(size), Type::Int))
    }

    /// Sizes of inputs come first, then those of other tensors in their order: the model's code had it from one of them.
    fn size_of_values(&self, values: &[i64]) -> Option<SymInt> {
        let candidates = self.candidates();
        if let Some(same) = candidates.iter().find(|candidate| candidate.values == values) {
            return Some(same.size.clone());
        }
        let of_one = candidates.iter().find_map(|candidate| linear(candidate, values));
        of_one.or_else(|| {
            let few = candidates.get(..MOST_PAIRED).unwrap_or(&candidates);
            let pairs = few.iter().enumerate().flat_map(|(at, one)| few.iter().skip(at).map(move |other| (one, other)));
            pairs.filter_map(|(one, other)| combined(one, other)).find_map(|pair| linear(&pair, values))
        })
    }

    fn candidates(&self) -> Vec<Candidate> {
        let runs: Vec<FxHashMap<String, i64>> = self.runs.iter().map(|run| run.iter().cloned().collect()).collect();
        let names = self.runs.first().into_iter().flatten().map(|(name, _)| SymInt::symbol(name.as_str()));
        let sizes = names.chain(self.recorder.sizes().cloned());
        let candidate = |size: SymInt| {
            let values = runs.iter().map(|run| size.eval(run)).collect::<Option<Vec<i64>>>()?;
            Some(Candidate { size, values })
        };
        sizes.filter_map(candidate).collect()
    }

    fn no_size(&self, values: &[i64]) -> Error {
        let runs = self.runs.iter().zip(values).map(|(run, value)| format!("{value} with {}", shown(run)));
        let runs: Vec<String> = runs.collect();
        let message = format!("a number of the model depends on sizes in an unknown way: {}", runs.join("; "));
        Error::unsupported(message)
            .help("compute it from one size by `+`, `-` and `*`, take it from the size of a tensor, or export one size")
    }
}

/// `a * size + b` with these values.
fn linear(candidate: &Candidate, values: &[i64]) -> Option<SymInt> {
    let first = *candidate.values.first()?;
    let wanted = *values.first()?;
    let (other, value) = candidate.values.iter().zip(values).find(|(size, _)| **size != first)?;
    let (run, rise) = (other.checked_sub(first)?, value.checked_sub(wanted)?);
    if rise == 0 || rise.checked_rem(run)? != 0 {
        return None;
    }
    let factor = rise.checked_div(run)?;
    let offset = wanted.checked_sub(factor.checked_mul(first)?)?;
    let fits = |(size, value): (&i64, &i64)| {
        size.checked_mul(factor).and_then(|product| product.checked_add(offset)) == Some(*value)
    };
    let all = candidate.values.iter().zip(values).all(fits);
    all.then(|| candidate.size.mul(&SymInt::from(factor)).add(&SymInt::from(offset)))
}

/// The product of two sizes.
fn combined(one: &Candidate, other: &Candidate) -> Option<Candidate> {
    let values = one.values.iter().zip(&other.values).map(|(a, b)| a.checked_mul(*b));
    Some(Candidate { size: one.size.mul(&other.size), values: values.collect::<Option<Vec<i64>>>()? })
}
