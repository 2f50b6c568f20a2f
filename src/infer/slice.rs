//! Slice: how many elements a start, an end and a step leave of a size, any of which may be symbolic.

use crate::error::Result;
use crate::graph::Type;
use crate::sym::SymInt;

use super::ctx::{Ctx, Param};
use super::dims::int;

/// Starts and ends from here on mean the end of the dimension: exporters write the largest int32 or int64.
const FAR: i64 = i32::MAX as i64;

pub(super) fn slice(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one(None) };
    c.one(Some(sliced(c, dims)?))
}

fn sliced(c: &Ctx, dims: &[SymInt]) -> Result<Vec<SymInt>> {
    let (starts, ends) = (c.param("starts", 1), c.param("ends", 2));
    let length = |p: &Param<Vec<SymInt>>, i: usize| match p {
        Param::Known(list) => Some(list.len()),
        _ => c.length(i),
    };
    let count = length(&starts, 1).or_else(|| length(&ends, 2));
    let axes = match (c.int_param("axes", 3), count) {
        (Param::Known(axes), _) => c.axes(&axes, dims.len())?,
        (Param::Absent, Some(count)) if count <= dims.len() => (0..count).collect(),
        (Param::Absent, Some(count)) => return Err(c.error(format!("{count} starts for rank {}", dims.len()))),
        _ => return Ok(c.fresh_shape(dims.len())),
    };
    let steps = match c.int_param("steps", 4) {
        Param::Known(steps) => steps,
        Param::Absent => vec![1; axes.len()],
        Param::Unknown => Vec::new(),
    };
    let at = |p: &Param<Vec<SymInt>>, i: usize| match p {
        Param::Known(list) => list.get(i).cloned(),
        _ => None,
    };
    let mut shape = dims.to_vec();
    for (i, axis) in axes.iter().enumerate() {
        let Some(dim) = shape.get_mut(*axis) else { continue };
        *dim = match (at(&starts, i), at(&ends, i), steps.get(i)) {
            (_, _, Some(0)) => return Err(c.error("a step is 0")),
            (Some(start), Some(end), Some(step)) => {
                slice_length(c, dim, &start, &end, *step).unwrap_or_else(|| c.fresh())
            }
            _ => c.fresh(),
        };
    }
    Ok(shape)
}

/// The number of elements; none if it depends on signs that are not known.
fn slice_length(c: &Ctx, dim: &SymInt, start: &SymInt, end: &SymInt, step: i64) -> Option<SymInt> {
    if *dim == 0 {
        return Some(SymInt::from(0));
    }
    let span = if step > 0 {
        &forward(c, dim, end)? - &forward(c, dim, start)?
    } else {
        // At run time a size of 0 is no place to start from.
        if *start != -1 && !c.at_least(dim, 1) {
            return None;
        }
        &backward_start(c, dim, start)? - &backward_end(c, dim, end)?
    };
    let step = int(usize::try_from(step.unsigned_abs()).ok()?);
    Some(c.not_negative(&c.not_negative(&span).ceil_div(&step)))
}

/// A bound with a positive step: from 0 to the size.
fn forward(c: &Ctx, dim: &SymInt, bound: &SymInt) -> Option<SymInt> {
    match bound.known() {
        Some(n) if n >= FAR => Some(dim.clone()),
        Some(n) if n <= -FAR => Some(SymInt::from(0)),
        _ if c.at_least(bound, 0) => Some(c.min(bound, dim)),
        _ if c.at_most(bound, -1) => Some(c.not_negative(&(dim + bound))),
        _ => None,
    }
}

/// A start with a negative step: from 0 to the last element.
fn backward_start(c: &Ctx, dim: &SymInt, start: &SymInt) -> Option<SymInt> {
    let last = dim - 1;
    match start.known() {
        Some(n) if n >= FAR => Some(last),
        Some(n) if n <= -FAR => Some(SymInt::from(0)),
        Some(-1) => Some(last),
        _ if c.at_least(start, 0) => Some(c.min(start, &last)),
        _ if c.at_most(start, -1) => Some(c.not_negative(&(dim + start))),
        _ => None,
    }
}

/// An end with a negative step: from -1, before the first element, to the last one.
fn backward_end(c: &Ctx, dim: &SymInt, end: &SymInt) -> Option<SymInt> {
    let before = SymInt::from(-1);
    match end.known() {
        Some(n) if n >= FAR => Some(dim - 1),
        Some(n) if n <= -FAR => Some(before),
        _ if c.at_least(end, 0) => Some(c.min(end, &(dim - 1))),
        _ if c.at_most(end, -1) => Some(c.max(&(dim + end), &before)),
        _ => None,
    }
}
