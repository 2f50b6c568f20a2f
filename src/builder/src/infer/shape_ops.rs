//! Operators on shapes: reshaping, joining, splitting, padding, repeating, and tensors made from shapes.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Type};

use super::ctx::{Ctx, Param, Shape};
use super::dims::{int, product, with_dim};

pub(super) fn shape(c: &Ctx) -> Result<Vec<Type>> {
    let length = match c.shape(0) {
        Some(dims) => int(shape_range(c, dims.len()).len()),
        None => c.fresh(),
    };
    c.one_output(Some(vec![length]))
}

/// The axes that `Shape` returns.
pub(super) fn shape_range(c: &Ctx, rank: usize) -> std::ops::Range<usize> {
    let signed = i64::try_from(rank).unwrap_or(i64::MAX);
    let bound = |name: &str, default: i64| {
        let axis = c.int(name).unwrap_or(default);
        let axis = if axis < 0 { axis.saturating_add(signed) } else { axis };
        usize::try_from(axis.clamp(0, signed)).unwrap_or(0)
    };
    let (start, end) = (bound("start", 0), bound("end", signed));
    start..end.max(start)
}

pub(super) fn reshape(c: &Ctx) -> Result<Vec<Type>> {
    let target = match c.param("shape", 1) {
        Param::Known(target) => target,
        _ => return c.one_output(c.length(1).map(|rank| c.fresh_shape(rank))),
    };
    c.one_output(Some(reshaped(c, c.shape(0), &target)?))
}

fn reshaped(c: &Ctx, data: Option<&[SymInt]>, target: &[SymInt]) -> Result<Vec<SymInt>> {
    let copies_zeros = !c.flag("allowzero");
    let mut dims = Vec::with_capacity(target.len());
    let mut inferred = None;
    for (i, size) in target.iter().enumerate() {
        match size.known() {
            Some(-1) if inferred.is_some() => return Err(c.error("more than one size is -1")),
            Some(-1) => inferred = Some(i),
            Some(n) if n < -1 => return Err(c.error(format!("cannot reshape to size {n}"))),
            _ => {}
        }
        dims.push(match (size.known(), data) {
            (Some(0), Some(data)) if copies_zeros => match data.get(i) {
                Some(dim) => dim.clone(),
                None => return Err(c.error(format!("size {i} is 0, but the data has no such dimension"))),
            },
            (Some(0), None) if copies_zeros => c.fresh(),
            _ => size.clone(),
        });
    }
    // One anonymous size also follows from the number of elements.
    let anonymous = || {
        let mut places = dims.iter().enumerate().filter(|(i, d)| d.is_anonymous() && target.get(*i) == Some(*d));
        places.next().map(|(i, _)| i).filter(|_| places.next().is_none())
    };
    let Some(place) = inferred.or_else(anonymous) else {
        check_count(c, data, &dims)?;
        return Ok(dims);
    };
    let size = match (remaining(c, data, &dims, place)?, inferred) {
        (Some(size), _) => size,
        (None, Some(_)) => c.fresh(),
        (None, None) => return Ok(dims),
    };
    Ok(with_dim(&dims, place, size))
}

/// The size at `place` that preserves the number of elements.
fn remaining(c: &Ctx, data: Option<&[SymInt]>, dims: &[SymInt], place: usize) -> Result<Option<SymInt>> {
    let Some(data) = data else { return Ok(None) };
    let others: SymInt = dims.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, d)| d).product();
    let total = product(data);
    match (total.known(), others.known()) {
        (_, Some(0)) => Ok(None),
        (Some(total), Some(others)) if total.checked_rem(others) != Some(0) => {
            Err(c.error(format!("{total} elements do not fit a multiple of {others}")))
        }
        _ => Ok(Some(total.floor_div(&others))),
    }
}

fn check_count(c: &Ctx, data: Option<&[SymInt]>, dims: &[SymInt]) -> Result<()> {
    let Some(data) = data else { return Ok(()) };
    match (product(data).known(), product(dims).known()) {
        (Some(a), Some(b)) if a != b => Err(c.error(format!("cannot reshape {a} elements to {b}"))),
        _ => Ok(()),
    }
}

pub(super) fn flatten(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one_output(Some(c.fresh_shape(2))) };
    let axis = c.int("axis").unwrap_or(1);
    // The rank itself is a valid axis of Flatten, as is its negative.
    let at = if axis == i64::try_from(dims.len()).unwrap_or(-1) { dims.len() } else { c.axis(axis, dims.len())? };
    let (outer, inner) = dims.split_at(at);
    c.one_output(Some(vec![product(outer), product(inner)]))
}

pub(super) fn squeeze(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    let axes = match c.int_param("axes", 1) {
        Param::Known(axes) => c.axes(&axes, dims.len())?,
        Param::Unknown => return c.one_output(c.length(1).map(|n| c.fresh_shape(dims.len().saturating_sub(n)))),
        Param::Absent => return c.one_output(without_ones(c, dims)),
    };
    for axis in &axes {
        if let Some(n) = dims.get(*axis).and_then(SymInt::known).filter(|n| *n != 1) {
            return Err(c.error(format!("cannot squeeze axis {axis} of size {n}")));
        }
    }
    let kept = dims.iter().enumerate().filter(|(i, _)| !axes.contains(i));
    c.one_output(Some(kept.map(|(_, d)| d.clone()).collect()))
}

/// None if it is unknown whether a size is 1.
fn without_ones(c: &Ctx, dims: &[SymInt]) -> Shape {
    let mut kept = Vec::new();
    for dim in dims {
        match dim.known() {
            Some(1) => {}
            Some(_) => kept.push(dim.clone()),
            None if c.at_least(dim, 2) => kept.push(dim.clone()),
            None => return None,
        }
    }
    Some(kept)
}

pub(super) fn unsqueeze(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    let axes = match c.int_param("axes", 1) {
        Param::Known(axes) => axes,
        _ => return c.one_output(c.length(1).map(|n| c.fresh_shape(dims.len() + n))),
    };
    let rank = dims.len() + axes.len();
    let axes = c.axes(&axes, rank)?;
    if axes.iter().enumerate().any(|(i, a)| axes.iter().skip(i + 1).any(|b| a == b)) {
        return Err(c.error("an axis is repeated"));
    }
    let mut rest = dims.iter();
    let at = |i: usize| if axes.contains(&i) { Some(SymInt::from(1)) } else { rest.next().cloned() };
    c.one_output(Some((0..rank).filter_map(at).collect()))
}

pub(super) fn transpose(c: &Ctx) -> Result<Vec<Type>> {
    let perm = c.int_list("perm");
    let Some(dims) = c.shape(0) else { return c.one_output(perm.map(|p| c.fresh_shape(p.len()))) };
    let Some(perm) = perm else { return c.one_output(Some(dims.iter().rev().cloned().collect())) };
    let mut axes = c.axes(&perm, dims.len())?;
    let shape = axes.iter().filter_map(|a| dims.get(*a)).cloned().collect();
    axes.sort_unstable();
    axes.dedup();
    if axes.len() != dims.len() || perm.len() != dims.len() {
        return Err(c.error(format!("{perm:?} is not a permutation of {} axes", dims.len())));
    }
    c.one_output(Some(shape))
}

pub(super) fn concat(c: &Ctx) -> Result<Vec<Type>> {
    let shapes: Vec<&[SymInt]> = (0..c.inputs.len()).filter_map(|i| c.shape(i)).collect();
    let Some(first) = shapes.first() else { return c.one_output(None) };
    let axis = c.axis_attr(1, first.len())?;
    let mut dims = first.to_vec();
    let mut length = SymInt::from(0);
    for shape in &shapes {
        if shape.len() != first.len() {
            return Err(c.error("ranks differ"));
        }
        for (i, (known, dim)) in dims.iter_mut().zip(*shape).enumerate() {
            if i == axis {
                length = &length + dim;
            } else {
                *known = c.equal_dims(known, dim)?;
            }
        }
    }
    let length = if shapes.len() == c.inputs.len() { length } else { c.fresh() };
    c.one_output(Some(with_dim(&dims, axis, length)))
}

pub(super) fn split(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.outputs_typed(vec![None; c.outputs]) };
    let axis = c.axis_attr(0, dims.len())?;
    let dim = dims.get(axis).cloned().unwrap_or_default();
    let lengths = split_lengths(c, &dim)?;
    c.outputs_typed(lengths.into_iter().map(|length| Some(with_dim(dims, axis, length))).collect())
}

/// The size of each part.
pub(super) fn split_lengths(c: &Ctx, dim: &SymInt) -> Result<Vec<SymInt>> {
    match c.param("split", 1) {
        Param::Known(lengths) if lengths.len() != c.outputs => {
            Err(c.error(format!("{} lengths for {} outputs", lengths.len(), c.outputs)))
        }
        Param::Known(lengths) => {
            c.equal_dims(&lengths.iter().sum(), dim)?;
            Ok(lengths)
        }
        Param::Unknown if c.outputs == 1 => Ok(vec![dim.clone()]),
        Param::Unknown => Ok(c.fresh_shape(c.outputs)),
        Param::Absent => even_lengths(c, dim),
    }
}

/// Parts of equal size; since opset 18 the last one may be smaller.
fn even_lengths(c: &Ctx, dim: &SymInt) -> Result<Vec<SymInt>> {
    let parts = int(c.int("num_outputs").and_then(|n| usize::try_from(n).ok()).unwrap_or(c.outputs));
    let part = dim.ceil_div(&parts);
    if c.version.since < 18 && !dim.known().is_none_or(|_| &part * &parts == *dim) {
        return Err(c.error(format!("size {dim} cannot be split into {parts} equal parts")));
    }
    let exact = dim.floor_div(&parts);
    if c.version.since < 18 || &exact * &parts == *dim {
        return Ok(vec![exact; c.outputs]);
    }
    let last = if parts == 2 { exact } else { c.not_negative(&(dim - &(&part * &(&parts - 1)))) };
    let mut lengths = vec![part; c.outputs];
    if let (Some(length), true) = (lengths.last_mut(), parts == int(c.outputs)) {
        *length = last;
    }
    Ok(lengths)
}

pub(super) fn expand(c: &Ctx) -> Result<Vec<Type>> {
    let target = c.content(1).or_else(|| c.length(1).map(|rank| c.fresh_shape(rank)));
    c.one_output(c.broadcast(&[c.shape(0), target.as_deref()])?)
}

pub(super) fn tile(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one_output(c.length(1).map(|rank| c.fresh_shape(rank))) };
    let Some(repeats) = c.content(1) else { return c.one_output(Some(c.fresh_shape(dims.len()))) };
    if repeats.len() != dims.len() {
        return Err(c.error(format!("{} repeats for {} dimensions", repeats.len(), dims.len())));
    }
    c.one_output(Some(dims.iter().zip(&repeats).map(|(d, n)| d * n).collect()))
}

pub(super) fn pad(c: &Ctx) -> Result<Vec<Type>> {
    let pads = c.param("pads", 1);
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    let axes = match c.int_param("axes", 3) {
        Param::Known(axes) => c.axes(&axes, dims.len())?,
        Param::Absent => (0..dims.len()).collect(),
        Param::Unknown => return c.one_output(Some(c.fresh_shape(dims.len()))),
    };
    let Param::Known(pads) = pads else {
        let padded = |(i, d): (usize, &SymInt)| if axes.contains(&i) { c.fresh() } else { d.clone() };
        return c.one_output(Some(dims.iter().enumerate().map(padded).collect()));
    };
    if pads.len() != 2 * axes.len() {
        return Err(c.error(format!("{} pads for {} axes", pads.len(), axes.len())));
    }
    let (before, after) = pads.split_at(axes.len());
    let mut shape = dims.to_vec();
    for (axis, (before, after)) in axes.iter().zip(before.iter().zip(after)) {
        if let Some(dim) = shape.get_mut(*axis) {
            *dim = &(&*dim + before) + after;
        }
    }
    if shape.iter().any(|d| d.known().is_some_and(|n| n < 0)) {
        return Err(c.error("negative pads exceed the size"));
    }
    c.one_output(Some(shape))
}

pub(super) fn center_crop_pad(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    let axes = match c.int_list("axes") {
        Some(axes) => c.axes(&axes, dims.len())?,
        None => (0..dims.len()).collect(),
    };
    let sizes = c.content(1).unwrap_or_else(|| c.fresh_shape(axes.len()));
    if sizes.len() != axes.len() {
        return Err(c.error(format!("{} sizes for {} axes", sizes.len(), axes.len())));
    }
    let shape = axes.iter().zip(sizes).fold(dims.to_vec(), |shape, (axis, size)| with_dim(&shape, *axis, size));
    c.one_output(Some(shape))
}

pub(super) fn range(c: &Ctx) -> Result<Vec<Type>> {
    let length = float_range(c).map(SymInt::from).or_else(|| int_range(c)).unwrap_or_else(|| c.fresh());
    c.one_output(Some(vec![length]))
}

fn float_range(c: &Ctx) -> Option<i64> {
    let only = |i: usize| c.floats(i)?.first().copied();
    let (start, limit, delta) = (only(0)?, only(1)?, only(2)?);
    let length = ((limit - start) / delta).ceil().max(0.0);
    // Beyond this, floats are too coarse to count elements.
    (length < 9.0e15).then_some(length as i64)
}

fn int_range(c: &Ctx) -> Option<SymInt> {
    let (start, limit, delta) = (c.scalar(0)?, c.scalar(1)?, c.scalar(2)?);
    match delta.known() {
        Some(0) | None => None,
        Some(_) => Some(c.not_negative(&(&limit - &start).ceil_div(&delta))),
    }
}

pub(super) fn constant(c: &Ctx) -> Result<Vec<Type>> {
    let list = |n: usize| Some(vec![int(n)]);
    let Some((name, attr)) = c.attrs.first() else { return Err(c.error("has no value")) };
    match attr {
        Attr::Int(_) => c.typed(Dtype::Int64, Some(vec![])),
        Attr::Float(_) => c.typed(Dtype::Float32, Some(vec![])),
        Attr::Str(_) => c.typed(Dtype::String, Some(vec![])),
        Attr::Ints(values) => c.typed(Dtype::Int64, list(values.len())),
        Attr::Floats(values) => c.typed(Dtype::Float32, list(values.len())),
        Attr::Strs(values) => c.typed(Dtype::String, list(values.len())),
        Attr::Tensor(value) => match c.cx.type_of(*value) {
            Some(ty) => Ok(vec![ty]),
            None => Err(c.error(format!("the type of attribute {name} is unknown"))),
        },
        Attr::Graph(_) | Attr::Graphs(_) | Attr::Message(_) => {
            Err(c.error(format!("attribute {name} is not a tensor")))
        }
    }
}

pub(super) fn constant_of_shape(c: &Ctx) -> Result<Vec<Type>> {
    let dtype = match c.tensor("value").map(|v| c.cx.type_of(v)) {
        None => Dtype::Float32,
        Some(Some(Type::Tensor { dtype, .. })) => dtype,
        Some(_) => return Err(c.error("the type of attribute value is unknown")),
    };
    c.typed(dtype, c.content(0).or_else(|| c.length(0).map(|rank| c.fresh_shape(rank))))
}
