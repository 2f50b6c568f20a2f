//! Operators that select elements by index or condition.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;
use super::dims::{int, product, with_dim};

pub(super) fn gather(c: &Ctx) -> Result<Vec<Type>> {
    let (Some(data), Some(indices)) = (c.shape(0), c.shape(1)) else { return c.one_output(None) };
    let axis = c.axis_attr(0, data.len())?;
    let (before, from) = data.split_at(axis);
    let after = from.get(1..).unwrap_or_default();
    c.one_output(Some([before, indices, after].concat()))
}

/// The last dimension of the indices is the number of indexed dimensions of the data, after the batch.
pub(super) fn gather_nd(c: &Ctx) -> Result<Vec<Type>> {
    let (Some(data), Some(indices)) = (c.shape(0), c.shape(1)) else { return c.one_output(None) };
    let batch = usize::try_from(c.int("batch_dims").unwrap_or(0)).unwrap_or(usize::MAX);
    let Some((depth, outer)) = indices.split_last() else { return Err(c.error("the indices must not be a scalar")) };
    if batch > outer.len() || batch > data.len() {
        return Err(c.error(format!("batch_dims is {batch}")));
    }
    let Some(depth) = depth.known() else { return c.one_output(None) };
    let pointed = usize::try_from(depth).ok().and_then(|depth| batch.checked_add(depth));
    match pointed.and_then(|n| data.get(n..)) {
        Some(rest) => c.one_output(Some([outer, rest].concat())),
        None => Err(c.error(format!("indices of depth {depth} are too deep"))),
    }
}

/// The updates have the shape of the indices, and the rank of the data.
pub(super) fn scatter_elements(c: &Ctx) -> Result<Vec<Type>> {
    let updates = c.equal_shapes(c.shape(1), c.shape(2))?;
    if let (Some(data), Some(updates)) = (c.shape(0), updates)
        && data.len() != updates.len()
    {
        return Err(c.error(format!("ranks {} and {} differ", data.len(), updates.len())));
    }
    c.one_output(c.owned_shape(0))
}

/// The updates have the outer dimensions of the indices and those of the data that are not indexed.
pub(super) fn scatter_nd(c: &Ctx) -> Result<Vec<Type>> {
    if let (Some(data), Some((depth, outer))) = (c.shape(0), c.shape(1).and_then(<[SymInt]>::split_last))
        && let Some(depth) = depth.known()
    {
        let Some(rest) = usize::try_from(depth).ok().and_then(|depth| data.get(depth..)) else {
            return Err(c.error(format!("indices of depth {depth} are too deep")));
        };
        c.equal_shapes(Some(&[outer, rest].concat()), c.shape(2))?;
    }
    c.one_output(c.owned_shape(0))
}

pub(super) fn compress(c: &Ctx) -> Result<Vec<Type>> {
    let Some(axis) = c.int("axis") else { return c.one_output(Some(vec![true_count(c)])) };
    let Some(dims) = c.shape(0) else { return c.one_output(None) };
    c.one_output(Some(with_dim(dims, c.axis(axis, dims.len())?, true_count(c))))
}

/// The number of true conditions.
fn true_count(c: &Ctx) -> SymInt {
    c.content(1).map_or_else(|| c.fresh(), |conditions| conditions.iter().sum())
}

/// A batch, a class and a box for each box that is kept.
pub(super) fn non_max_suppression(c: &Ctx) -> Result<Vec<Type>> {
    for (i, what) in [(2, "number of boxes"), (3, "limit of the overlap"), (4, "limit of the score")] {
        c.want_one_element(i, what)?;
    }
    c.one_output(Some(vec![c.fresh(), SymInt::from(3)]))
}

pub(super) fn non_zero(c: &Ctx) -> Result<Vec<Type>> {
    // For a scalar, ONNX specifies 0 and ONNX Runtime returns 1.
    let rank = c.shape(0).filter(|dims| !dims.is_empty()).map_or_else(|| c.fresh(), |dims| int(dims.len()));
    c.one_output(Some(vec![rank, c.fresh()]))
}

pub(super) fn one_hot(c: &Ctx) -> Result<Vec<Type>> {
    let Some(indices) = c.shape(0) else { return c.one_output(None) };
    let as_float = || c.floats(1).and_then(|f| f.first().map(|n| SymInt::from(*n as i64)));
    let depth = c.scalar(1).or_else(as_float).unwrap_or_else(|| c.fresh());
    let axis = c.axis_attr(-1, indices.len() + 1)?;
    let (before, after) = indices.split_at(axis);
    c.one_output(Some([before, &[depth], after].concat()))
}

pub(super) fn unique(c: &Ctx) -> Result<Vec<Type>> {
    let found = c.fresh();
    let (values, searched) = match (c.int("axis"), c.shape(0)) {
        (None, dims) => (Some(vec![found.clone()]), dims.map(product)),
        (Some(axis), Some(dims)) => {
            let axis = c.axis(axis, dims.len())?;
            (Some(with_dim(dims, axis, found.clone())), dims.get(axis).cloned())
        }
        (Some(_), None) => (None, None),
    };
    let per_value = Some(vec![found]);
    let searched = Some(vec![searched.unwrap_or_else(|| c.fresh())]);
    c.outputs_typed(vec![values, per_value.clone(), searched, per_value])
}
