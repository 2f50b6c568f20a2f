//! Reductions, losses and TopK.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::{Ctx, Param, Shape};
use super::dims::with_dim;

pub(super) fn reduce(c: &Ctx) -> Result<Vec<Type>> {
    let keep = c.int("keepdims").unwrap_or(1) != 0;
    let Some(dims) = c.shape(0) else {
        // Without `keepdims`, reducing all axes gives a scalar for any rank.
        let everything = !keep && all_axes(c);
        return c.one_output(everything.then(Vec::new));
    };
    let axes = match c.int_param("axes", 1) {
        Param::Known(axes) if !axes.is_empty() => c.axes(&axes, dims.len())?,
        Param::Unknown if keep => {
            let dim = |d: &SymInt| if *d == 1 { d.clone() } else { c.fresh() };
            return c.one_output(Some(dims.iter().map(dim).collect()));
        }
        Param::Unknown => {
            return c.one_output(c.length(1).filter(|n| *n > 0).map(|n| c.fresh_shape(dims.len().saturating_sub(n))));
        }
        _ if c.flag("noop_with_empty_axes") => Vec::new(),
        _ => (0..dims.len()).collect(),
    };
    c.one_output(Some(reduced(dims, &axes, keep)))
}

fn all_axes(c: &Ctx) -> bool {
    let none_given = match c.int_param("axes", 1) {
        Param::Known(axes) => axes.is_empty(),
        Param::Absent => true,
        Param::Unknown => false,
    };
    none_given && !c.flag("noop_with_empty_axes")
}

pub(super) fn reduced(dims: &[SymInt], axes: &[usize], keep: bool) -> Vec<SymInt> {
    let left = dims.iter().enumerate().filter_map(|(i, d)| match (axes.contains(&i), keep) {
        (false, _) => Some(d.clone()),
        (true, true) => Some(SymInt::from(1)),
        (true, false) => None,
    });
    left.collect()
}

pub(super) fn arg(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    let axis = c.axis_attr(0, dims.len())?;
    c.one_output(Some(reduced(dims, &[axis], c.int("keepdims").unwrap_or(1) != 0)))
}

/// Scores `[N, C, ..]` and labels `[N, ..]`; the optional second output has the shape of the scores.
pub(super) fn loss(c: &Ctx) -> Result<Vec<Type>> {
    if let (Some([_, _, ..]), Some([])) = (c.shape(0), c.shape(1)) {
        return Err(c.error("the labels must not be a scalar"));
    }
    let per_sample: Shape = match c.shape(0) {
        Some([n, _, rest @ ..]) => {
            let wanted: Vec<SymInt> = std::iter::once(n).chain(rest).cloned().collect();
            c.equal_shapes(Some(&wanted), c.shape(1))?
        }
        Some(_) => return Err(c.error("the scores must have rank 2 or more")),
        None => c.owned_shape(1),
    };
    let loss = if c.string("reduction").unwrap_or("mean") == "none" { per_sample } else { Some(vec![]) };
    let mut shapes = vec![loss];
    if c.version.outputs.len() > 1 {
        shapes.push(c.owned_shape(0));
    }
    c.outputs_typed(shapes)
}

pub(super) fn top_k(c: &Ctx) -> Result<Vec<Type>> {
    let Some(dims) = c.shape(0) else { return c.outputs_typed(vec![None, None]) };
    let axis = c.axis_attr(-1, dims.len())?;
    let k = c.int("k").map(SymInt::from).or_else(|| c.scalar(1)).unwrap_or_else(|| c.fresh());
    if let (Some(k), Some(n)) = (k.known(), dims.get(axis).and_then(SymInt::known))
        && k > n
    {
        return Err(c.error(format!("takes {k} of {n} elements")));
    }
    let shape = Some(with_dim(dims, axis, k));
    c.outputs_typed(vec![shape.clone(), shape])
}
