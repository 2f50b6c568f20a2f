//! Einstein summation by Transpose, Mul, MatMul and ReduceSum, for opsets without Einsum.

use super::nodes::MakeNodes;
use super::shapes::reduce;
use aten2onnx_builder::Builder;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// A tensor whose dimensions have names.
#[derive(Clone)]
struct Named {
    value: Value,
    names: Vec<char>,
}

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
    let all: Vec<char> = inputs.iter().flatten().copied().filter(char::is_ascii_alphabetic).collect();
    let mut once: Vec<char> = all.iter().copied().filter(|c| all.iter().filter(|d| *d == c).count() == 1).collect();
    once.sort_unstable();
    (0..hidden).rev().map(ellipsis_name).chain(once).collect()
}

/// The Einstein summation, two tensors at a time.
pub fn summed_products(cx: &mut Builder, xs: &[Value], equation: &str) -> Result<Value> {
    let ranks: Vec<usize> = xs.iter().map(|x| Ok(cx.shape(*x)?.len())).collect::<Result<_>>()?;
    let Equation { inputs, output } = Equation::parse(equation, &ranks)?;
    let mut terms = Vec::new();
    for (value, names) in xs.iter().zip(inputs) {
        terms.push(without_repeats(cx, Named { value: *value, names })?);
    }
    let mut terms = terms.into_iter();
    let mut sofar = terms.next().ok_or_else(|| Error::input("an Einstein summation needs an operand"))?;
    while let Some(next) = terms.next() {
        let later: Vec<char> = terms.as_slice().iter().flat_map(|t| t.names.iter().copied()).collect();
        let wanted = |c: &char| output.contains(c) || later.contains(c);
        sofar = contracted(cx, &sofar, &next, &wanted)?;
    }
    let sofar = summed(cx, sofar, &|c| output.contains(c))?;
    arranged(cx, &sofar, &output)
}

/// A repeated name selects the diagonal.
fn without_repeats(cx: &mut Builder, term: Named) -> Result<Named> {
    let repeat =
        (0..term.names.len()).find_map(|j| Some((term.names[..j].iter().position(|c| *c == term.names[j])?, j)));
    let Some((i, j)) = repeat else { return Ok(term) };
    let shape = cx.shape(term.value)?;
    let rank = shape.len();
    let order: Vec<i64> = (0..rank).filter(|d| *d != i && *d != j).chain([i, j]).map(|d| d as i64).collect();
    let turned = cx.transpose(term.value, &order)?;
    let size = &shape[i];
    let mut flat: Vec<SymInt> = order.iter().take(rank - 2).map(|d| shape[*d as usize].clone()).collect();
    flat.push(size * size);
    let line = cx.reshape(turned, &flat)?;
    let count = cx.count(size)?;
    let places = cx.mul(count, size + 1)?;
    let value = cx.gather(line, places, rank as i64 - 2)?;
    let mut names: Vec<char> = order.iter().take(rank - 2).map(|d| term.names[*d as usize]).collect();
    names.push(term.names[i]);
    without_repeats(cx, Named { value, names })
}

/// Sums the dimensions that are not needed.
fn summed(cx: &mut Builder, term: Named, wanted: &dyn Fn(&char) -> bool) -> Result<Named> {
    let over: Vec<i64> = term.names.iter().enumerate().filter(|(_, c)| !wanted(c)).map(|(i, _)| i as i64).collect();
    let value = reduce(cx, "ReduceSum", term.value, &over, false)?;
    Ok(Named { value, names: term.names.into_iter().filter(|c| wanted(c)).collect() })
}

/// The dimensions in the order of `names`; missing ones have size 1.
fn arranged(cx: &mut Builder, term: &Named, names: &[char]) -> Result<Value> {
    let order: Vec<i64> =
        names.iter().filter_map(|c| term.names.iter().position(|d| d == c)).map(|i| i as i64).collect();
    let turned = cx.transpose(term.value, &order)?;
    let missing: Vec<i64> =
        names.iter().enumerate().filter(|(_, c)| !term.names.contains(c)).map(|(i, _)| i as i64).collect();
    cx.unsqueeze(turned, &missing)
}

/// The matrix product of two terms, summed over names that neither the result nor a later term has.
fn contracted(cx: &mut Builder, a: &Named, b: &Named, wanted: &dyn Fn(&char) -> bool) -> Result<Named> {
    let a = summed(cx, a.clone(), &|c| wanted(c) || b.names.contains(c))?;
    let b = summed(cx, b.clone(), &|c| wanted(c) || a.names.contains(c))?;
    let shared: Vec<char> = a.names.iter().copied().filter(|c| b.names.contains(c)).collect();
    let (batch, inner): (Vec<char>, Vec<char>) = shared.iter().copied().partition(|c| wanted(c));
    let rows: Vec<char> = a.names.iter().copied().filter(|c| !shared.contains(c)).collect();
    let columns: Vec<char> = b.names.iter().copied().filter(|c| !shared.contains(c)).collect();
    if inner.is_empty() {
        let names = [batch.as_slice(), &rows, &columns].concat();
        let left = arranged(cx, &a, &names)?;
        let right = arranged(cx, &b, &names)?;
        return Ok(Named { value: cx.mul(left, right)?, names });
    }
    let size = |cx: &Builder, term: &Named, c: &char| -> Result<SymInt> {
        let at = term.names.iter().position(|d| d == c).unwrap_or(0);
        cx.dim(term.value, at as i64)
    };
    let mut sizes = Vec::new();
    for c in &batch {
        let own = size(cx, &a, c)?;
        sizes.push(if own == 1 { size(cx, &b, c)? } else { own });
    }
    let row_sizes: Vec<SymInt> = rows.iter().map(|c| size(cx, &a, c)).collect::<Result<_>>()?;
    let column_sizes: Vec<SymInt> = columns.iter().map(|c| size(cx, &b, c)).collect::<Result<_>>()?;
    let inner_sizes: Vec<SymInt> = inner.iter().map(|c| size(cx, &a, c)).collect::<Result<_>>()?;
    let k: SymInt = inner_sizes.iter().product();
    let left = arranged(cx, &a, &[batch.as_slice(), &rows, &inner].concat())?;
    let right = arranged(cx, &b, &[batch.as_slice(), &inner, &columns].concat())?;
    let own_batch =
        |cx: &Builder, v: Value| -> Result<Vec<SymInt>> { Ok(cx.shape(v)?.into_iter().take(batch.len()).collect()) };
    let left_batch = own_batch(cx, left)?;
    let right_batch = own_batch(cx, right)?;
    let left = cx.reshape(left, &[left_batch, vec![row_sizes.iter().product(), k.clone()]].concat())?;
    let right = cx.reshape(right, &[right_batch, vec![k, column_sizes.iter().product()]].concat())?;
    let product = cx.op("MatMul", vec![left.into(), right.into()])?;
    let value = cx.reshape(product, &[sizes, row_sizes, column_sizes].concat())?;
    Ok(Named { value, names: [batch, rows, columns].concat() })
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
