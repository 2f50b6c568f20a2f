//! Slice: the number of elements between a start and an end, any of which may be symbolic.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::{Ctx, Param};
use super::dims::int;

/// Starts and ends from this value on mean the end of the dimension: exporters write the largest int32 or int64.
const END: i64 = i32::MAX as i64;

pub(super) fn slice(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    c.one_output(Some(sliced(c, dims)?))
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

/// The number of elements; None if it depends on unknown signs.
///
/// If the start is behind the end, the slice is empty; so only the bound that comes later in the direction of the step
/// must be clamped to the dimension. For a negative step that is the start.
fn slice_length(c: &Ctx, dim: &SymInt, start: &SymInt, end: &SymInt, step: i64) -> Option<SymInt> {
    if *dim == 0 {
        return Some(SymInt::from(0));
    }
    let zero = SymInt::from(0);
    let span = if step > 0 {
        let end = c.min(&from_front(c, dim, end, &zero)?, dim);
        end - from_front(c, dim, start, &zero)?
    } else {
        // A dimension that is empty at run time has no last element to start from.
        if *start != -1 && !c.at_least(dim, 1) {
            return None;
        }
        let last = dim - 1;
        let start = if *start == -1 { last } else { c.min(&from_front(c, dim, start, &zero)?, &last) };
        start - from_front(c, dim, end, &SymInt::from(-1))?
    };
    let step = int(usize::try_from(step.unsigned_abs()).ok()?);
    Some(c.not_negative(&span.ceil_div(&step)))
}

/// A position counted from the front, clamped to `lowest`.
fn from_front(c: &Ctx, dim: &SymInt, position: &SymInt, lowest: &SymInt) -> Option<SymInt> {
    match position.known() {
        Some(n) if n >= END => Some(dim.clone()),
        Some(n) if n <= -END => Some(lowest.clone()),
        _ if c.at_least(position, 0) => Some(position.clone()),
        _ if c.at_most(position, -1) => Some(c.max(&(dim + position), lowest)),
        _ => None,
    }
}
