//! Sums overlapping windows into an image, one dimension after the other; sizes may be computed by the graph.

use super::nodes::MakeNodes;
use aten2onnx_builder::Builder;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// The windows along one dimension.
struct Side {
    /// The size of the image.
    size: SymInt,
    /// The elements per window.
    block: SymInt,
    /// The number of windows.
    count: SymInt,
    dilation: i64,
    before: i64,
    stride: i64,
}

/// `Col2Im`: elements of windows, `[N, C * block, windows]`, to an image.
pub fn columns_to_image(
    cx: &mut Builder,
    x: Value,
    image: &[SymInt],
    block: &[SymInt],
    dilations: &[i64],
    pads: &[i64],
    strides: &[i64],
) -> Result<Value> {
    let n = image.len().min(block.len());
    let mut sides = Vec::with_capacity(n);
    for i in 0..n {
        let at = |list: &[i64], i: usize, absent: i64| list.get(i).copied().unwrap_or(absent);
        let (dilation, stride) = (at(dilations, i, 1), at(strides, i, 1));
        let (before, after) = (at(pads, i, 0), at(pads, i + n, 0));
        let span = (&block[i] - 1) * dilation + 1;
        let count = (&(&image[i] + (before + after)) - &span).floor_div(&SymInt::from(stride)) + 1;
        sides.push(Side { size: image[i].clone(), block: block[i].clone(), count, dilation, before, stride });
    }
    let area: SymInt = block.iter().product();
    let batch = cx.dim(x, 0)?;
    let channels = cx.dim(x, 1)?.floor_div(&area);
    // N, C, blocks.., counts.. -> N, C, block, count, block, count, ..
    let apart = [batch.clone(), channels.clone()].into_iter().chain(block.iter().cloned());
    let apart: Vec<SymInt> = apart.chain(sides.iter().map(|side| side.count.clone())).collect();
    let apart = cx.reshape(x, &apart)?;
    let order: Vec<i64> = [0, 1].into_iter().chain((0..n).flat_map(|i| [2 + i, 2 + n + i])).map(|d| d as i64).collect();
    let paired = cx.transpose(apart, &order)?;
    let merged = sides.iter().map(|side| &side.block * &side.count);
    let merged: Vec<SymInt> = [batch, channels].into_iter().chain(merged).collect();
    let mut result = cx.reshape(paired, &merged)?;
    for (i, side) in sides.iter().enumerate() {
        result = fold_windows(cx, result, 2 + i as i64, side)?;
    }
    Ok(result)
}

/// Replaces a dimension of window elements by that of the image.
fn fold_windows(cx: &mut Builder, x: Value, axis: i64, side: &Side) -> Result<Value> {
    let elements = cx.count(&side.block)?;
    let elements = cx.mul(elements, side.dilation)?;
    let column = cx.unsqueeze(elements, &[1])?;
    let windows = cx.count(&side.count)?;
    let windows = cx.mul(windows, side.stride)?;
    let starts = cx.sub(windows, side.before)?;
    let places = cx.add(column, starts)?;
    let places = cx.reshape(places, &[SymInt::from(-1), SymInt::from(1)])?;
    let own = cx.count(&side.size)?;
    let is_there = cx.op("Equal", vec![places.into(), own.into()])?;
    let t = cx.dtype(x);
    let matrix = cx.cast(is_there, t)?;
    let last = cx.rank(x)? - 1;
    let order: Vec<i64> = (0..last).map(|d| if d < axis { d } else { d + 1 }).chain([axis]).collect();
    let back: Vec<i64> = (0..=last)
        .map(|d| {
            if d < axis {
                d
            } else if d == axis {
                last
            } else {
                d - 1
            }
        })
        .collect();
    let turned = cx.transpose(x, &order)?;
    let summed = cx.op("MatMul", vec![turned.into(), matrix.into()])?;
    cx.transpose(summed, &back)
}

/// The flat indices of the largest elements of windows. `windows` has two dimensions for each pooled one, the window
/// and its element, and includes the padding.
#[allow(clippy::too_many_arguments)]
pub fn places_of_largest(
    cx: &mut Builder,
    windows: Value,
    x: Value,
    kernel: &[i64],
    strides: &[i64],
    dilations: &[i64],
    pads: &[i64],
    by_column: bool,
) -> Result<Value> {
    let n = kernel.len();
    let all = cx.shape(windows)?;
    let counts: Vec<SymInt> = (0..n).filter_map(|i| all.get(2 + 2 * i).cloned()).collect();
    let order: Vec<i64> =
        [0, 1].into_iter().chain((0..n).map(|i| 2 + 2 * i as i64)).chain((0..n).map(|i| 3 + 2 * i as i64)).collect();
    let turned = cx.transpose(windows, &order)?;
    let lead = all.iter().take(2).cloned().chain(counts.iter().cloned());
    let flat: Vec<SymInt> = lead.chain([SymInt::from(kernel.iter().product::<i64>())]).collect();
    let flat = cx.reshape(turned, &flat)?;
    let attrs = vec![
        ("axis", aten2onnx_onnx::graph::Attr::Int(2 + n as i64)),
        ("keepdims", aten2onnx_onnx::graph::Attr::Int(0)),
    ];
    let chosen = cx.node1("ArgMax", vec![flat.into()], attrs)?;
    let sizes: Vec<SymInt> = cx.shape(x)?.into_iter().skip(2).collect();
    let mut place: Option<Value> = None;
    let mut factor = SymInt::from(1);
    let dims: Vec<usize> = if by_column { (0..n).collect() } else { (0..n).rev().collect() };
    for i in dims {
        let at = |list: &[i64]| list.get(i).copied().unwrap_or(1);
        // The index within the window along this dimension, and its position in the image.
        let below: i64 = kernel.iter().skip(i + 1).product();
        let element = cx.div(chosen, below)?;
        let element = cx.op("Mod", vec![element.into(), kernel[i].into()])?;
        let away = cx.mul(element, at(dilations))?;
        let starts = cx.count(&counts[i])?;
        let starts = cx.mul(starts, at(strides))?;
        let starts = cx.sub(starts, pads.get(i).copied().unwrap_or(0))?;
        let starts = cx.unsqueeze(starts, &(1..(n - i) as i64).collect::<Vec<_>>())?;
        let own = cx.add(starts, away)?;
        let term = cx.mul(own, &factor)?;
        place = Some(match place {
            None => term,
            Some(sofar) => cx.add(sofar, term)?,
        });
        factor = &factor * &sizes[i];
    }
    // Each channel of each image starts after the previous ones.
    let channels = &all[0] * &all[1];
    let starts = cx.count(&channels)?;
    let starts = cx.mul(starts, &factor)?;
    let ones = vec![SymInt::from(1); n];
    let starts = cx.reshape(starts, &[vec![all[0].clone(), all[1].clone()], ones].concat())?;
    let place = place.ok_or_else(|| cx.fault("expected at least one window dimension"))?;
    cx.add(place, starts)
}
