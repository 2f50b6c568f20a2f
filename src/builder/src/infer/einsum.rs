//! Einsum: maps the letters of an equation to sizes.

use std::collections::BTreeMap;

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

/// The letter that represents the ellipsis.
const DOTS: char = '.';

pub(super) fn einsum(c: &Ctx) -> Result<Vec<Type>> {
    let equation: String = c.string("equation").unwrap_or_default().split_whitespace().collect();
    let equation = equation.replace("...", ".");
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right.to_string())),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != c.inputs.len() {
        return Err(c.error(format!("the equation has {} operands", terms.len())));
    }
    let right = right.unwrap_or_else(|| implicit_output(left));
    let mut sizes = BTreeMap::new();
    let mut dots = Some(Vec::new());
    for (i, term) in terms.iter().enumerate() {
        match c.shape(i) {
            Some(shape) => read_operand(c, term, shape, &mut sizes, &mut dots)?,
            None if term.contains(DOTS) => dots = None,
            None => {}
        }
    }
    let mut shape = Vec::new();
    for letter in right.chars() {
        match (letter, &dots) {
            (DOTS, Some(dots)) => shape.extend(dots.iter().cloned()),
            (DOTS, None) => return c.one_output(None),
            _ if !left.contains(letter) => return Err(c.error(format!("no operand has {letter}"))),
            _ => shape.push(sizes.get(&letter).cloned().unwrap_or_else(|| c.fresh())),
        }
    }
    c.one_output(Some(shape))
}

/// The ellipsis, then the letters that occur once, in alphabetical order.
fn implicit_output(left: &str) -> String {
    let mut letters: Vec<char> = left.chars().filter(|l| l.is_alphabetic() && left.matches(*l).count() == 1).collect();
    letters.sort_unstable();
    let dots = left.contains(DOTS).then_some(DOTS);
    dots.into_iter().chain(letters).collect()
}

fn read_operand(
    c: &Ctx,
    term: &str,
    shape: &[SymInt],
    sizes: &mut BTreeMap<char, SymInt>,
    dots: &mut Option<Vec<SymInt>>,
) -> Result<()> {
    let letters = term.chars().filter(|l| *l != DOTS).count();
    let covered = match shape.len().checked_sub(letters) {
        Some(0) => 0,
        Some(n) if term.contains(DOTS) => n,
        _ => return Err(c.error(format!("{term} does not fit rank {}", shape.len()))),
    };
    let mut rest = shape;
    for letter in term.chars() {
        let (taken, left) = rest.split_at(if letter == DOTS { covered } else { 1 }.min(rest.len()));
        rest = left;
        if letter == DOTS {
            if let Some(known) = dots {
                *known = c.broadcast_two(known, taken)?;
            }
            continue;
        }
        for dim in taken {
            let size = match sizes.get(&letter) {
                Some(known) => c.broadcast_dims(known, dim)?,
                None => dim.clone(),
            };
            sizes.insert(letter, size);
        }
    }
    Ok(())
}
