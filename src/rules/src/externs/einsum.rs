//! The equations of Einstein summations.

use aten2onnx_builder::Builder;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::Value;

/// The names of the inputs and of the result.
struct Equation {
    inputs: Vec<Vec<char>>,
    output: Vec<char>,
}

/// Names for the dimensions of an ellipsis, which are not letters.
fn ellipsis_name(i: usize) -> char {
    char::from_u32(0xE000 + i as u32).unwrap_or('.')
}

/// The names of a term; the dimensions of an ellipsis are numbered from the last one.
fn names(term: &str, rank: usize) -> Result<Vec<char>> {
    let letters = term.chars().filter(|c| *c != '.').count();
    let hidden = rank.saturating_sub(letters);
    let mut result = Vec::new();
    let mut dots = 0;
    for c in term.chars() {
        if c != '.' {
            result.push(c);
        } else {
            dots += 1;
            if dots == 3 {
                result.extend((0..hidden).rev().map(ellipsis_name));
            }
        }
    }
    if dots != 0 && dots != 3 || dots == 0 && letters != rank {
        return Err(Error::input(format!("`{term}` does not name the {rank} dimensions of its tensor")));
    }
    Ok(result)
}

impl Equation {
    fn parse(text: &str, ranks: &[usize]) -> Result<Equation> {
        let text: String = text.split_whitespace().collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != ranks.len() {
            return Err(Error::input(format!("`{text}` does not have {} operands", ranks.len())));
        }
        let inputs: Vec<Vec<char>> = terms.iter().zip(ranks).map(|(t, rank)| names(t, *rank)).collect::<Result<_>>()?;
        let hidden = |names: &[char]| names.iter().filter(|c| !c.is_ascii_alphabetic()).count();
        let most_hidden = inputs.iter().map(|n| hidden(n)).max().unwrap_or(0);
        let output = match right {
            Some(right) => {
                let letters = right.chars().filter(|c| *c != '.').count();
                names(right, if right.contains('.') { letters + most_hidden } else { letters })?
            }
            None => implicit(&inputs, most_hidden),
        };
        Ok(Equation { inputs, output })
    }
}

/// The implicit output: the ellipsis, then the names that occur once, in alphabetical order.
fn implicit(inputs: &[Vec<char>], hidden: usize) -> Vec<char> {
    (0..hidden).rev().map(ellipsis_name).chain(once(inputs.iter().flatten().copied())).collect()
}

/// The letters that occur once, in alphabetical order.
fn once(names: impl Iterator<Item = char>) -> Vec<char> {
    let all: Vec<char> = names.filter(char::is_ascii_alphabetic).collect();
    let mut once: Vec<char> = all.iter().copied().filter(|c| all.iter().filter(|d| *d == c).count() == 1).collect();
    once.sort_unstable();
    once
}

/// The equation without blanks and with its output, which some runtimes do not find by themselves.
pub fn explicit_equation(_: &mut Builder, equation: &str) -> Result<String> {
    let text: String = equation.split_whitespace().collect();
    if text.contains("->") {
        return Ok(text);
    }
    let dots = if text.contains('.') { "..." } else { "" };
    let once: String = once(text.chars()).into_iter().collect();
    Ok(format!("{text}->{dots}{once}"))
}

/// The names of the dimensions of each operand, and last those of the result, as numbers.
pub fn einsum_names(cx: &mut Builder, equation: &str, xs: &[Value]) -> Result<Vec<Vec<i64>>> {
    let ranks: Vec<usize> = xs.iter().map(|x| Ok(cx.shape(*x)?.len())).collect::<Result<_>>()?;
    let Equation { inputs, output } = Equation::parse(equation, &ranks)?;
    let numbers = |names: Vec<char>| names.into_iter().map(|name| i64::from(u32::from(name))).collect();
    Ok(inputs.into_iter().chain([output]).map(numbers).collect())
}

/// Whether all ellipses have the same number of dimensions.
pub fn has_even_dots(cx: &mut Builder, equation: &str, xs: &[Value]) -> Result<bool> {
    let left = equation.split("->").next().unwrap_or(equation);
    let mut hidden = Vec::new();
    for (term, x) in left.split(',').zip(xs) {
        if term.contains('.') {
            let letters = term.chars().filter(char::is_ascii_alphabetic).count();
            hidden.push(cx.shape(*x)?.len().saturating_sub(letters));
        }
    }
    Ok(hidden.windows(2).all(|pair| pair[0] == pair[1]))
}
