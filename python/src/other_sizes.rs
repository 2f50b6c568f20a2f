//! Sizes at which a branch goes the other way.

use std::collections::HashMap;

use aten2onnx::program::{Guard, Program};

/// Sizes that are tried for a dimension, besides those near its smallest size and near that of the example.
const USUAL: [i64; 12] = [8, 9, 15, 16, 17, 32, 33, 64, 128, 256, 512, 1025];
/// So many sizes from the smallest on are tried.
const FIRST: i64 = 8;
/// The largest divisor of a size whose multiples are tried.
const DIVISOR: i64 = 64;
/// Conditions on more dimensions are tried in one dimension at a time.
const TOGETHER: usize = 2;

/// So many choices of sizes are returned for a condition: a model may not run at some of them.
const CHOICES: usize = 4;

/// Values of all symbols of the inputs that do not fulfil a condition, those near the example before others.
pub fn other_sizes(program: &Program, guard: &Guard) -> Vec<HashMap<String, i64>> {
    let Guard::Sizes(condition) = guard else { return Vec::new() };
    let symbols: Vec<String> = condition.symbols().into_iter().collect();
    let example: HashMap<String, i64> = program.hints.iter().map(|(symbol, size)| (symbol.clone(), *size)).collect();
    if symbols.iter().any(|symbol| !example.contains_key(symbol)) {
        return Vec::new();
    }
    let mut found: Vec<HashMap<String, i64>> = Vec::new();
    let mut keep = |sizes: HashMap<String, i64>| {
        if condition.eval(&sizes) == Some(0) && !found.contains(&sizes) {
            found.push(sizes);
        }
        found.len() == CHOICES
    };
    for symbol in &symbols {
        for size in candidates(program, symbol) {
            if keep(with(&example, &[(symbol, size)])) {
                return found;
            }
        }
    }
    let [one, other] = symbols.as_slice() else { return found };
    debug_assert!(symbols.len() <= TOGETHER);
    for first in candidates(program, one) {
        for second in candidates(program, other) {
            if keep(with(&example, &[(one, first), (other, second)])) {
                return found;
            }
        }
    }
    found
}

fn with(example: &HashMap<String, i64>, changes: &[(&String, i64)]) -> HashMap<String, i64> {
    let mut sizes = example.clone();
    sizes.extend(changes.iter().map(|(symbol, size)| ((*symbol).clone(), *size)));
    sizes
}

/// Sizes of a dimension within its bounds, each once: those of other dimensions, near sizes, small ones, multiples of what divides the size of the example, which a
/// patch or a window asks for, and usual ones.
fn candidates(program: &Program, symbol: &str) -> Vec<i64> {
    let (low, high) = program.ranges.get(symbol).copied().unwrap_or_default();
    let (low, high) = (low.unwrap_or(0), high.unwrap_or(i64::MAX));
    let example = program.hints.get(symbol).copied().unwrap_or(low);
    let mut others: Vec<i64> = program.hints.values().copied().collect();
    others.sort_unstable();
    let near = [example.saturating_mul(2), example - 1, example + 1];
    let divisors = (2..=DIVISOR).filter(|divisor| example % divisor == 0);
    let multiples = divisors.flat_map(|divisor| (1..=FIRST).map(move |factor| factor * divisor));
    let all = others.into_iter().chain(near).chain(low..low.saturating_add(FIRST)).chain(multiples).chain(USUAL);
    let mut found = Vec::new();
    for size in all {
        if (low..=high).contains(&size) && !found.contains(&size) {
            found.push(size);
        }
    }
    found
}
