//! What a Resize asks for, in all dimensions: sizes, factors, regions.

use crate::builder::{Builder, Scalar};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::sym::SymInt;

use super::shapes::wrap;

/// The dimensions that are resized, counted from the front.
fn dims(rank: usize, axes: &Option<Vec<i64>>) -> Vec<usize> {
    match axes {
        None => (0..rank).collect(),
        Some(axes) => axes.iter().filter_map(|a| usize::try_from(wrap(*a, rank)).ok()).filter(|d| *d < rank).collect(),
    }
}

/// Factors that say something: an empty list stands for none.
fn given_factors(cx: &Builder, scales: Option<Value>) -> Option<Vec<f64>> {
    scales.and_then(|s| cx.constant_floats(s)).filter(|f| !f.is_empty())
}

/// The factors of all dimensions, where known factors are what was asked for.
pub fn resize_factors(
    cx: &mut Builder,
    x: Value,
    scales: Option<Value>,
    axes: &Option<Vec<i64>>,
) -> Result<Option<Vec<f64>>> {
    let rank = cx.shape(x)?.len();
    let Some(given) = given_factors(cx, scales) else { return Ok(None) };
    let mut all = vec![1.0; rank];
    for (dim, factor) in dims(rank, axes).into_iter().zip(given) {
        all[dim] = factor;
    }
    Ok(Some(all))
}

/// The sizes of all dimensions, if the numbers that they come from are known.
pub fn resize_target(
    cx: &mut Builder,
    x: Value,
    scales: Option<Value>,
    sizes: Option<Value>,
    axes: &Option<Vec<i64>>,
    policy: &str,
) -> Result<Option<Vec<SymInt>>> {
    let mut all = cx.shape(x)?;
    let dims = dims(all.len(), axes);
    if let Some(factors) = given_factors(cx, scales) {
        for (dim, factor) in dims.into_iter().zip(factors) {
            let Some(size) = scaled(&all[dim], factor) else { return Ok(None) };
            all[dim] = size;
        }
        return Ok(Some(all));
    }
    let Some(sizes) = sizes else { return Ok(None) };
    let wanted = cx.sym_ints(sizes)?;
    if policy == "stretch" {
        for (dim, size) in dims.into_iter().zip(wanted) {
            all[dim] = size;
        }
        return Ok(Some(all));
    }
    let ratios: Option<Vec<f64>> =
        dims.iter().zip(&wanted).map(|(d, w)| Some(w.known()? as f64 / all[*d].known()? as f64)).collect();
    let Some(ratios) = ratios else { return Ok(None) };
    let ratio = if policy == "not_larger" {
        ratios.iter().copied().fold(f64::INFINITY, f64::min)
    } else {
        ratios.iter().copied().fold(0.0, f64::max)
    };
    for dim in dims {
        let size = all[dim].known().unwrap_or(0) as f64;
        all[dim] = SymInt::from((ratio * size + 0.5).floor() as i64);
    }
    Ok(Some(all))
}

/// `floor(size * factor)`, if it can be said.
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

/// The region of every dimension, from 0 to 1 where none is given; it only matters for cropping.
pub fn all_regions(cx: &mut Builder, x: Value, roi: Option<Value>, axes: &Option<Vec<i64>>) -> Result<Option<Value>> {
    let Some(roi) = roi else { return Ok(None) };
    if axes.is_none() {
        return Ok(Some(roi));
    }
    let Some(given) = cx.constant_floats(roi) else { return Ok(Some(roi)) };
    let rank = cx.shape(x)?.len();
    let dims = dims(rank, axes);
    let mut all: Vec<f64> = (0..2 * rank).map(|i| if i < rank { 0.0 } else { 1.0 }).collect();
    for (i, dim) in dims.iter().enumerate() {
        let at = |i: usize| given.get(i).copied().unwrap_or(0.0);
        all[*dim] = at(i);
        all[rank + dim] = at(i + dims.len());
    }
    let numbers: Vec<Scalar> = all.into_iter().map(Scalar::Float).collect();
    let t = cx.dtype(roi);
    let t = if t.is_float() { t } else { Dtype::Float32 };
    Ok(Some(cx.numbers(&numbers, t)?))
}
