//! Indexing with tensors as in PyTorch and NumPy: `x[i, :, j]`, `x[mask]`, and assignment to such elements.

use super::nodes::MakeNodes;
use super::shapes::broadcast_all;
use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value};

/// The indexed dimensions and their indices: integer tensors that broadcast.
struct Plan {
    dims: Vec<usize>,
    indices: Vec<Value>,
    /// The shape that the indices broadcast to.
    common: Vec<SymInt>,
    /// Whether the indexed dimensions are adjacent: the result's dimensions then replace them, otherwise they come
    /// first.
    adjacent: bool,
}

/// Whether an index is a boolean mask.
fn is_mask(cx: &Builder, index: Value) -> bool {
    matches!(cx.dtype(index), Dtype::Bool | Dtype::Uint8)
}

/// The only index, with its dimension.
fn only(indices: &[Option<Value>]) -> Option<(usize, Value)> {
    let mut there = indices.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?)));
    let first = there.next()?;
    there.next().is_none().then_some(first)
}

impl Plan {
    fn new(cx: &mut Builder, indices: &[Option<Value>]) -> Result<Plan> {
        let (mut dims, mut tensors) = (Vec::new(), Vec::new());
        let mut dim = 0;
        for index in indices {
            match index {
                None => dim += 1,
                Some(mask) if is_mask(cx, *mask) => {
                    let rank = cx.shape(*mask)?.len();
                    for (i, column) in true_places(cx, *mask, rank)?.into_iter().enumerate() {
                        dims.push(dim + i);
                        tensors.push(column);
                    }
                    dim += rank;
                }
                Some(index) => {
                    dims.push(dim);
                    tensors.push(cx.cast(*index, Dtype::Int64)?);
                    dim += 1;
                }
            }
        }
        let shapes: Vec<Vec<SymInt>> = tensors.iter().map(|v| cx.shape(*v)).collect::<Result<_>>()?;
        let common = broadcast_all(cx, &shapes)?;
        let adjacent = dims.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        Ok(Plan { dims, indices: tensors, common, adjacent })
    }

    fn rest(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|d| !self.dims.contains(d)).collect()
    }

    /// The indexed dimensions, then the others.
    fn order(&self, rank: usize) -> Vec<i64> {
        self.dims.iter().copied().chain(self.rest(rank)).map(|d| d as i64).collect()
    }

    /// The indices stacked in a last dimension.
    fn stacked(&self, cx: &mut Builder) -> Result<Value> {
        let rank = self.common.len() as i64;
        let mut columns = Vec::new();
        for index in &self.indices {
            let spread = cx.expand(*index, &self.common)?;
            columns.push(cx.unsqueeze(spread, &[rank])?);
        }
        cx.concat(columns, rank)
    }

    /// The number of result dimensions before those of the indices.
    fn before(&self) -> usize {
        if self.adjacent { self.dims.first().copied().unwrap_or(0) } else { 0 }
    }

    /// The permutation that moves the index dimensions from the front to their position.
    fn to_their_place(&self, rank: usize) -> Vec<i64> {
        let (common, before) = (self.common.len(), self.before());
        let moved = (common..common + before).chain(0..common).chain(common + before..rank);
        moved.map(|d| d as i64).collect()
    }

    /// The permutation that moves them to the front.
    fn to_front(&self, rank: usize) -> Vec<i64> {
        let (common, before) = (self.common.len(), self.before());
        let moved = (before..before + common).chain(0..before).chain(common + before..rank);
        moved.map(|d| d as i64).collect()
    }
}

/// The positions where a mask is true: one vector per dimension.
fn true_places(cx: &mut Builder, mask: Value, rank: usize) -> Result<Vec<Value>> {
    if rank == 0 {
        return Err(Error::unsupported("indexing with a 0-dim boolean tensor"));
    }
    let mask = cx.cast(mask, Dtype::Bool)?;
    let places = cx.op("NonZero", vec![mask.into()])?;
    (0..rank).map(|i| cx.gather(places, i as i64, 0)).collect()
}

/// Elements by index.
pub fn gather_indexed(cx: &mut Builder, x: Value, indices: &[Option<Value>]) -> Result<Value> {
    if let Some((dim, index)) = only(indices) {
        return if is_mask(cx, index) { masked(cx, x, dim, index) } else { cx.gather(x, index, dim as i64) };
    }
    let plan = Plan::new(cx, indices)?;
    if plan.dims.is_empty() {
        return Ok(x);
    }
    let rank = cx.shape(x)?.len();
    let front = cx.transpose(x, &plan.order(rank))?;
    let places = plan.stacked(cx)?;
    let found = cx.op("GatherND", vec![front.into(), places.into()])?;
    let result_rank = plan.common.len() + plan.rest(rank).len();
    cx.transpose(found, &plan.to_their_place(result_rank))
}

/// The elements where a mask over some dimensions is true: these are flattened and compressed.
fn masked(cx: &mut Builder, x: Value, dim: usize, mask: Value) -> Result<Value> {
    let rank = cx.shape(mask)?.len();
    if rank == 0 {
        return Err(Error::unsupported("indexing with a 0-dim boolean tensor"));
    }
    let shape = cx.shape(x)?;
    let (before, rest) = shape.split_at(dim.min(shape.len()));
    let (covered, after) = rest.split_at(rank.min(rest.len()));
    let merged: SymInt = covered.iter().product();
    let flat = cx.reshape(x, &[before, &[merged], after].concat())?;
    let mask = cx.cast(mask, Dtype::Bool)?;
    let mask = cx.reshape(mask, &[SymInt::from(-1)])?;
    cx.op_with("Compress", vec![flat.into(), mask.into()], "axis", Attr::Int(dim as i64))
}

/// Assigns to, or adds to, the indexed elements.
pub fn put_indexed(
    cx: &mut Builder,
    x: Value,
    indices: &[Option<Value>],
    values: Value,
    accumulate: bool,
) -> Result<Value> {
    let shape = cx.shape(x)?;
    if let Some((dim, mask)) = only(indices).filter(|(_, index)| is_mask(cx, *index))
        && cx.numel(values)? == 1
    {
        return put_one(cx, x, dim, mask, values, accumulate);
    }
    let plan = Plan::new(cx, indices)?;
    if plan.dims.is_empty() {
        return Err(Error::unsupported("index_put without indices"));
    }
    let rest: Vec<SymInt> = plan.rest(shape.len()).into_iter().map(|d| shape[d].clone()).collect();
    let (head, tail) = rest.split_at(plan.before().min(rest.len()));
    let spread = cx.expand(values, &[head, &plan.common, tail].concat())?;
    let updates = cx.transpose(spread, &plan.to_front(plan.common.len() + rest.len()))?;
    let order = plan.order(shape.len());
    let front = cx.transpose(x, &order)?;
    let places = plan.stacked(cx)?;
    let written = if accumulate {
        // Runtimes support addition for these dtypes.
        let t = cx.dtype(x);
        let to = match t {
            Dtype::Float16 | Dtype::Bfloat16 => Dtype::Float32,
            Dtype::Bool => Dtype::Int32,
            other => other,
        };
        let (front, updates) = (cx.cast(front, to)?, cx.cast(updates, to)?);
        let inputs = vec![front.into(), places.into(), updates.into()];
        let sum = cx.op_with("ScatterND", inputs, "reduction", Attr::Str("add".into()))?;
        cx.cast(sum, t)?
    } else {
        cx.op("ScatterND", vec![front.into(), places.into(), updates.into()])?
    };
    cx.transpose(written, &inverse(&order))
}

/// Assigns one value where a mask is true.
fn put_one(cx: &mut Builder, x: Value, dim: usize, mask: Value, value: Value, accumulate: bool) -> Result<Value> {
    let rank = cx.shape(x)?.len();
    let covered = dim + cx.shape(mask)?.len();
    let mask = cx.cast(mask, Dtype::Bool)?;
    let trailing: Vec<i64> = (0..rank.saturating_sub(covered)).map(|i| (covered - dim + i) as i64).collect();
    let mask = cx.unsqueeze(mask, &trailing)?;
    let value = cx.reshape(value, &[])?;
    if cx.dtype(x) == Dtype::Bool {
        let off = cx.op("Not", vec![mask.into()])?;
        let on = cx.op("And", vec![mask.into(), value.into()])?;
        let kept = if accumulate { x } else { cx.op("And", vec![off.into(), x.into()])? };
        return cx.op("Or", vec![on.into(), kept.into()]);
    }
    if accumulate {
        let added = cx.where_(mask, value, Scalar::Int(0))?;
        return cx.add(x, added);
    }
    cx.where_(mask, value, x)
}

fn inverse(order: &[i64]) -> Vec<i64> {
    let place = |d: usize| order.iter().position(|o| *o == d as i64).unwrap_or(d);
    (0..order.len()).map(|d| place(d) as i64).collect()
}
