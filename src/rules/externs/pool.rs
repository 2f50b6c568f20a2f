//! Windows over the last dimensions, for cases that ONNX's pooling and convolution do not support.

use super::nodes::MakeNodes;
use super::shapes::reduce;
use aten2onnx_builder::Builder;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value};

fn at(list: &[i64], i: usize) -> i64 {
    list.get(i).copied().unwrap_or(1)
}

/// The elements of windows: each of the last dimensions becomes two, the window and its element.
pub fn unfold_dims(cx: &mut Builder, x: Value, kernel: &[SymInt], stride: &[i64], dilation: &[i64]) -> Result<Value> {
    let lead = cx.shape(x)?.len().saturating_sub(kernel.len());
    let mut result = x;
    for (i, size) in kernel.iter().enumerate() {
        let axis = (lead + 2 * i) as i64;
        let (step, apart) = (at(stride, i), at(dilation, i));
        let span = (size - 1) * apart + 1;
        let count = (cx.dim(result, axis)? - &span).floor_div(&SymInt::from(step)) + 1;
        let starts = cx.count(&count)?;
        let starts = cx.mul(starts, step)?;
        let starts = cx.unsqueeze(starts, &[1])?;
        let offsets = cx.count(size)?;
        let offsets = cx.mul(offsets, apart)?;
        let places = cx.add(starts, offsets)?;
        result = cx.gather(result, places, axis)?;
    }
    Ok(result)
}

/// Convolution as a matrix product of windows and weights, for any dtype and number of groups.
pub fn conv_by_windows(
    cx: &mut Builder,
    input: Value,
    weight: Value,
    stride: &[i64],
    pads: &[i64],
    dilation: &[i64],
    groups: &SymInt,
) -> Result<Value> {
    let shape = cx.shape(weight)?;
    let n = shape.len().saturating_sub(2);
    let kernel: Vec<SymInt> = shape.iter().skip(2).cloned().collect();
    let padded = match pads.iter().any(|p| *p != 0) {
        true => {
            let (begins, ends) = pads.split_at(n.min(pads.len()));
            let all = [&[0, 0], begins, &[0, 0], ends].concat();
            cx.op("Pad", vec![input.into(), all.into()])?
        }
        false => input,
    };
    let windows = unfold_dims(cx, padded, &kernel, stride, dilation)?;
    let sizes = cx.shape(windows)?;
    let counts: Vec<SymInt> = (0..n).filter_map(|i| sizes.get(2 + 2 * i).cloned()).collect();
    let batch = cx.dim(input, 0)?;
    // N, C, o1, k1, o2, k2, ... -> N, o1, o2, ..., C, k1, k2, ...
    let order: Vec<i64> = std::iter::once(0)
        .chain((0..n).map(|i| 2 + 2 * i as i64))
        .chain(std::iter::once(1))
        .chain((0..n).map(|i| 3 + 2 * i as i64))
        .collect();
    let turned = cx.transpose(windows, &order)?;
    let area: SymInt = kernel.iter().product();
    let per_group = cx.dim(weight, 1)? * &area;
    let places: SymInt = counts.iter().product();
    let columns = cx.reshape(turned, &[batch.clone(), places, groups.clone(), per_group.clone()])?;
    let columns = cx.transpose(columns, &[0, 2, 1, 3])?;
    let outputs = shape.first().cloned().unwrap_or_default();
    let rows = cx.reshape(weight, &[groups.clone(), outputs.floor_div(groups), per_group])?;
    let rows = cx.transpose(rows, &[0, 2, 1])?;
    // N, groups, positions, outputs of a group -> N, outputs, positions
    let product = cx.op("MatMul", vec![columns.into(), rows.into()])?;
    let product = cx.transpose(product, &[0, 1, 3, 2])?;
    cx.reshape(product, &[&[batch, outputs], counts.as_slice()].concat())
}

/// The starts and ends of adaptive pooling windows.
fn adaptive_limits(cx: &mut Builder, from: &SymInt, to: &SymInt) -> Result<(Value, Value)> {
    let i = cx.count(to)?;
    let scaled = cx.mul(i, from)?;
    let first = cx.div(scaled, to)?;
    let beyond = cx.add(scaled, from + &(to - 1))?;
    Ok((first, cx.div(beyond, to)?))
}

/// The positions in each adaptive window, padded to equal length by repeating the last one.
fn adaptive_places(cx: &mut Builder, from: &SymInt, to: &SymInt) -> Result<Value> {
    let (first, last) = adaptive_limits(cx, from, to)?;
    let longest = match from.known().zip(to.known()) {
        Some((from, to)) if to > 0 && from % to == 0 => SymInt::from(from / to),
        _ => from.ceil_div(to) + 1,
    };
    let first = cx.unsqueeze(first, &[1])?;
    let last = cx.unsqueeze(last, &[1])?;
    let own = cx.count(&longest)?;
    let places = cx.add(first, own)?;
    let final_ = cx.sub(last, 1)?;
    cx.op("Min", vec![places.into(), final_.into()])
}

/// The maxima of adaptive windows over the last dimensions, and their indices in the plane.
pub fn adaptive_max(cx: &mut Builder, x: Value, size: &[SymInt]) -> Result<(Value, Value)> {
    let shape = cx.shape(x)?;
    let n = size.len().min(shape.len());
    let lead = shape.len() - n;
    let mut windows = x;
    // One dimension at a time, which is faster than whole windows.
    let mut values = x;
    // The flat indices of the plane, as windows that broadcast.
    let mut place: Option<Value> = None;
    for (i, to) in size.iter().enumerate().take(n) {
        let from = &shape[lead + i];
        let own = adaptive_places(cx, from, to)?;
        windows = cx.gather(windows, own, (lead + 2 * i) as i64)?;
        let rows = cx.gather(values, own, (lead + i) as i64)?;
        values = reduce(cx, "ReduceMax", rows, &[(lead + i + 1) as i64], false)?;
        place = Some(match place {
            None => own,
            Some(before) => {
                let scaled = cx.mul(before, from)?;
                let rank = cx.rank(scaled)?;
                let column = cx.unsqueeze(scaled, &[rank, rank + 1])?;
                cx.add(column, own)?
            }
        });
    }
    let Some(place) = place else { return Ok((x, x)) };
    // o1, k1, o2, k2, ... -> o1, o2, ..., k1, k2, ... with the k's merged
    let order = |lead: usize| -> Vec<i64> {
        let own = (0..n).map(|i| lead + 2 * i).chain((0..n).map(|i| lead + 2 * i + 1));
        (0..lead).chain(own).map(|d| d as i64).collect()
    };
    let all: Vec<SymInt> = [&shape[..lead], size, &[SymInt::from(-1)]].concat();
    let turned = cx.transpose(windows, &order(lead))?;
    let flat = cx.reshape(turned, &all)?;
    let last = (lead + n) as i64;
    let attrs = vec![("axis", Attr::Int(last)), ("keepdims", Attr::Int(1))];
    let chosen = cx.node1("ArgMax", vec![flat.into()], attrs)?;
    let place = cx.transpose(place, &order(0))?;
    let place = cx.reshape(place, &[size, &[SymInt::from(-1)]].concat())?;
    let longest = cx.dim(flat, last)?;
    let place = cx.expand(place, &[&shape[..lead], size, &[longest]].concat())?;
    let found = cx.op_with("GatherElements", vec![place.into(), chosen.into()], "axis", Attr::Int(last))?;
    let found = cx.op("Squeeze", vec![found.into(), vec![last].into()])?;
    let found = cx.cast(found, Dtype::Int64)?;
    Ok((values, found))
}
