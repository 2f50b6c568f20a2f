//! Scales and zero points that a model repeats for each element of a block: one number for each block is enough.

use super::super::rewriter::Rewriter;
use super::{aligned, integers};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_onnx::graph::{Node, Value};

/// A value with one number for each block of a tensor, and the number of blocks along each of its axes.
pub(super) struct Spread {
    /// The numbers in row-major order of the blocks.
    pub(super) value: Value,
    /// The number of blocks along each axis.
    pub(super) grid: Vec<i64>,
}

impl Spread {
    /// What is repeated to a value that broadcasts to `sizes`.
    pub(super) fn of(cx: &Rewriter<'_>, value: Value, sizes: &[i64]) -> Option<Spread> {
        let made = cx.producer(value).and_then(|node| match node.op {
            "Gather" => gathered(cx, node),
            "Reshape" => repeated(cx, node),
            _ => None,
        });
        match made {
            Some(made) if cx.known_sizes(value)? == sizes => Some(made),
            _ => Some(Spread { value, grid: aligned(&cx.known_sizes(value)?, sizes)? }),
        }
    }
}

/// `x[i / n]`, with these indices as a constant.
fn gathered(cx: &Rewriter<'_>, node: &Node) -> Option<Spread> {
    let value = node.input(0)?;
    let grid = cx.known_sizes(value)?;
    let axis = node.int("axis").unwrap_or(0);
    let axis = counted_from_start(axis, grid.len())?;
    let count = *grid.get(axis)?;
    let indices = integers::indices(cx, node.input(1)?, count)?;
    let length = (indices.len() as i64).checked_div(count).filter(|length| *length > 0)?;
    let is_even = (0..).zip(&indices).all(|(i, index)| i / length == *index) && count * length == indices.len() as i64;
    is_even.then_some(Spread { value, grid })
}

/// A new axis along which numbers are repeated, merged with the axis before it.
fn repeated(cx: &Rewriter<'_>, node: &Node) -> Option<Spread> {
    let expand = cx.made_by(node.input(0)?, "Expand")?;
    let value = expand.input(0)?;
    let (from, to) = (cx.known_sizes(value)?, cx.known_sizes(node.input(0)?)?);
    let changed: Vec<usize> = (0..to.len()).filter(|i| from.get(*i) != to.get(*i)).collect();
    let [axis] = changed.as_slice() else { return None };
    let before = axis.checked_sub(1).filter(|_| from.len() == to.len())?;
    let mut grid = from;
    grid.remove(*axis);
    let mut merged = to.clone();
    let length = merged.remove(*axis);
    *merged.get_mut(before)? *= length;
    (cx.known_sizes(node.outputs.first().copied().flatten()?)? == merged).then_some(Spread { value, grid })
}
