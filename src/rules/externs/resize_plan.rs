//! The sizes, scales and regions of a Resize, for all dimensions.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

use super::resize::part_of;
use super::shapes::wrap;

/// The resized dimensions, counted from the front.
fn dims(rank: usize, axes: &Option<Vec<i64>>) -> Vec<usize> {
    match axes {
        None => (0..rank).collect(),
        Some(axes) => axes.iter().filter_map(|a| usize::try_from(wrap(*a, rank)).ok()).filter(|d| *d < rank).collect(),
    }
}

/// The scales; an empty list counts as absent.
fn given_factors(cx: &Builder, scales: Option<Value>) -> Option<Value> {
    scales.filter(|s| cx.ty(*s).shape().is_none_or(|shape| shape.first().is_none_or(|n| *n != 0)))
}

/// The scales of all dimensions, if scales are given, or sizes that must keep the aspect ratio.
pub fn resize_factors(
    cx: &mut Builder,
    x: Value,
    scales: Option<Value>,
    sizes: Option<Value>,
    axes: &Option<Vec<i64>>,
    policy: &str,
) -> Result<Option<Vec<Scalar>>> {
    let rank = cx.shape(x)?.len();
    let mut all = vec![Scalar::Float(1.0); rank];
    let dims = dims(rank, axes);
    if let Some(factors) = given_factors(cx, scales) {
        for (i, dim) in dims.into_iter().enumerate() {
            all[dim] = part_of(cx, factors, i)?;
        }
        return Ok(Some(all));
    }
    let Some(sizes) = sizes.filter(|_| policy != "stretch") else { return Ok(None) };
    let ratio = common_ratio(cx, x, sizes, &dims, policy)?;
    for dim in dims {
        all[dim] = ratio.clone();
    }
    Ok(Some(all))
}

/// The sizes of all dimensions.
pub fn resize_target(
    cx: &mut Builder,
    x: Value,
    scales: Option<Value>,
    sizes: Option<Value>,
    axes: &Option<Vec<i64>>,
    policy: &str,
) -> Result<Vec<SymInt>> {
    let mut all = cx.shape(x)?;
    let dims = dims(all.len(), axes);
    if let Some(factors) = given_factors(cx, scales) {
        for (i, dim) in dims.into_iter().enumerate() {
            let factor = part_of(cx, factors, i)?;
            all[dim] = times(cx, &all[dim], &factor, 0.0)?;
        }
        return Ok(all);
    }
    let sizes = sizes.ok_or_else(|| Error::input("Resize needs sizes or scales"))?;
    if policy == "stretch" {
        for (dim, size) in dims.into_iter().zip(cx.sym_ints(sizes)?) {
            all[dim] = size;
        }
        return Ok(all);
    }
    let ratio = common_ratio(cx, x, sizes, &dims, policy)?;
    for dim in dims {
        all[dim] = times(cx, &all[dim], &ratio, 0.5)?;
    }
    Ok(all)
}

/// The scale that keeps the aspect ratio.
fn common_ratio(cx: &mut Builder, x: Value, sizes: Value, dims: &[usize], policy: &str) -> Result<Scalar> {
    let have = cx.shape(x)?;
    let wanted = cx.sym_ints(sizes)?;
    let pairs: Vec<(&SymInt, SymInt)> = dims.iter().filter_map(|d| have.get(*d)).zip(wanted).collect();
    let known: Option<Vec<f64>> = pairs.iter().map(|(h, w)| Some(w.known()? as f64 / h.known()? as f64)).collect();
    if let Some(ratios) = known {
        let smaller = policy == "not_larger";
        let start = if smaller { f64::INFINITY } else { 0.0 };
        let ratio = ratios.into_iter().fold(start, |a, b| if smaller { a.min(b) } else { a.max(b) });
        return Ok(Scalar::Float(ratio));
    }
    let mut ratios = Vec::with_capacity(pairs.len());
    for (have, wanted) in pairs {
        let wanted = cx.scalar(&Scalar::from(&wanted), Dtype::Float64)?;
        ratios.push(cx.div(wanted, have)?.into());
    }
    Ok(Scalar::Value(cx.op(if policy == "not_larger" { "Min" } else { "Max" }, ratios)?))
}

/// `floor(size * factor + more)`.
fn times(cx: &mut Builder, size: &SymInt, factor: &Scalar, more: f64) -> Result<SymInt> {
    let known = factor.as_float();
    if let Some(scaled) = known.filter(|_| more == 0.0).and_then(|factor| scaled(size, factor)) {
        return Ok(scaled);
    }
    if let Some((size, factor)) = size.known().zip(known) {
        return Ok(SymInt::from((size as f64 * factor + more).floor() as i64));
    }
    // Runtimes multiply in float32.
    let t = if more == 0.0 { Dtype::Float32 } else { Dtype::Float64 };
    let factor = match factor {
        Scalar::Value(value) => cx.cast(*value, t)?,
        other => cx.scalar(other, t)?,
    };
    let product = cx.mul(factor, size)?;
    let product = if more == 0.0 { product } else { cx.add(product, more)? };
    let whole = cx.op("Floor", vec![product.into()])?;
    let whole = cx.cast(whole, Dtype::Int64)?;
    cx.sym(whole)
}

/// Numbers, known or in the graph, as a vector.
pub fn vector_of(cx: &mut Builder, numbers: &[Scalar], t: Dtype) -> Result<Value> {
    if numbers.iter().all(Scalar::is_known) {
        return cx.numbers(numbers, t);
    }
    let mut parts = Vec::with_capacity(numbers.len());
    for number in numbers {
        let element = match number {
            Scalar::Value(value) => cx.cast(*value, t)?,
            other => cx.scalar(other, t)?,
        };
        parts.push(cx.unsqueeze(element, &[0])?);
    }
    cx.concat(parts, 0)
}

/// `floor(size * factor)`, if it can be expressed.
fn scaled(size: &SymInt, factor: f64) -> Option<SymInt> {
    if let Some(n) = size.known() {
        return Some(SymInt::from((n as f64 * f64::from(factor as f32)).floor() as i64));
    }
    if factor.fract() == 0.0 {
        return Some(size * (factor as i64));
    }
    let inverse = 1.0 / factor;
    (inverse.fract() == 0.0).then(|| size.floor_div(&SymInt::from(inverse as i64)))
}

/// The region of every dimension, 0 to 1 if not given; only used for cropping.
pub fn all_regions(cx: &mut Builder, x: Value, roi: Option<Value>, axes: &Option<Vec<i64>>) -> Result<Option<Value>> {
    let Some(roi) = roi else { return Ok(None) };
    if axes.is_none() {
        return Ok(Some(roi));
    }
    let rank = cx.shape(x)?.len();
    let dims = dims(rank, axes);
    let mut all: Vec<Scalar> = (0..2 * rank).map(|i| Scalar::Float(if i < rank { 0.0 } else { 1.0 })).collect();
    for (i, dim) in dims.iter().enumerate() {
        all[*dim] = part_of(cx, roi, i)?;
        all[rank + dim] = part_of(cx, roi, i + dims.len())?;
    }
    let t = cx.dtype(roi);
    Ok(Some(vector_of(cx, &all, if t.is_float() { t } else { Dtype::Float32 })?))
}
