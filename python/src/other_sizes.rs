//! Sizes at which a branch goes the other way.

use std::collections::HashMap;

use aten2onnx::program::{Guard, Program};

/// Sizes that are tried for a dimension, besides those near its smallest size and near that of the example.
const USUAL: [i64; 12] = [8, 9, 15, 16, 17, 32, 33, 64, 128, 256, 512, 1025];
/// So many sizes from the smallest on are tried.
const FIRST: i64 = 8;
/// Conditions on more dimensions are tried in one dimension at a time.
const TOGETHER: usize = 2;

/// Values of all symbols of the inputs, near those of the example, that do not fulfil a condition.
pub fn other_sizes(program: &Program, guard: &Guard) -> Option<HashMap<String, i64>> {
    let Guard::Sizes(condition) = guard else { return None };
    let symbols: Vec<String> = condition.symbols().into_iter().collect();
    let example: HashMap<String, i64> = program.hints.iter().map(|(symbol, size)| (symbol.clone(), *size)).collect();
    if symbols.iter().any(|symbol| !example.contains_key(symbol)) {
        return None;
    }
    let fails = |sizes: &HashMap<String, i64>| condition.eval(sizes) == Some(0);
    for symbol in &symbols {
        for size in candidates(program, symbol) {
            let mut sizes = example.clone();
            sizes.insert(symbol.clone(), size);
            if fails(&sizes) {
                return Some(sizes);
            }
        }
    }
    let [one, other] = symbols.as_slice() else { return None };
    debug_assert!(symbols.len() <= TOGETHER);
    for first in candidates(program, one) {
        for second in candidates(program, other) {
            let mut sizes = example.clone();
            sizes.insert(one.clone(), first);
            sizes.insert(other.clone(), second);
            if fails(&sizes) {
                return Some(sizes);
            }
        }
    }
    None
}

/// Sizes of a dimension within its bounds.
fn candidates(program: &Program, symbol: &str) -> Vec<i64> {
    let (low, high) = program.ranges.get(symbol).copied().unwrap_or_default();
    let (low, high) = (low.unwrap_or(0), high.unwrap_or(i64::MAX));
    let example = program.hints.get(symbol).copied().unwrap_or(low);
    let near = [example - 1, example + 1, example.saturating_mul(2)];
    let all = (low..low.saturating_add(FIRST)).chain(near).chain(USUAL).filter(|size| (low..=high).contains(size));
    // Nothing is asked of 0 that another size shows.
    let (empty, others): (Vec<i64>, Vec<i64>) = all.partition(|size| *size == 0);
    others.into_iter().chain(empty.into_iter().take(1)).collect()
}
