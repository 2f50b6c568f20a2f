//! Resize dimension by dimension: known sizes by a matrix of weights or a list of places, others by index and weight.

use super::grid::cubic_weight;
use crate::builder::{Builder, In, Scalar};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::sym::SymInt;

/// How a dimension is resized.
struct Plan<'a> {
    coordinates: &'a str,
    cubic: f64,
    exclude: bool,
    outside: f64,
    mode: &'a str,
    nearest: &'a str,
    antialias: bool,
}

/// A matrix with more weights than this is no constant.
const MAX_WEIGHTS: i64 = 1 << 24;

/// Resizing dimension by dimension.
#[allow(clippy::too_many_arguments)]
pub fn resize_spelled(
    cx: &mut Builder,
    x: Value,
    roi: Option<Value>,
    size: &[SymInt],
    factors: &Option<Vec<f64>>,
    coordinates: &str,
    cubic: f64,
    exclude: bool,
    outside: f64,
    mode: &str,
    nearest: &str,
    antialias: bool,
) -> Result<Value> {
    let plan = Plan { coordinates, cubic, exclude, outside, mode, nearest, antialias };
    let regions = roi.and_then(|r| cx.constant_floats(r)).filter(|r| r.len() == 2 * size.len());
    let cropping = coordinates == "tf_crop_and_resize";
    if cropping && regions.is_none() {
        return Err(Error::refused("a region that the graph computes", Some(11)));
    }
    let t = cx.dtype(x);
    let float = mode == "nearest" || t.is_float();
    let mut result = if float { x } else { cx.cast(x, Dtype::Float32)? };
    for (axis, to) in size.iter().enumerate() {
        let from = cx.dim(result, axis as i64)?;
        let factor = factors.as_ref().and_then(|f| f.get(axis).copied());
        let region = regions.as_ref().map_or((0.0, 1.0), |r| (r[axis], r[axis + size.len()]));
        let unchanged = from == *to && factor.is_none_or(|f| f == 1.0) && (!cropping || region == (0.0, 1.0));
        if unchanged {
            continue;
        }
        let axis = axis as i64;
        result = match (from.known(), to.known()) {
            (Some(from), Some(to)) => plan.known(cx, result, axis, from, to, factor, region)?,
            _ if antialias || cropping => {
                return Err(Error::refused("antialiasing or cropping of a dimension of unknown size", Some(18)));
            }
            _ => plan.unknown(cx, result, axis, &from, to, factor)?,
        };
    }
    if float { Ok(result) } else { cx.cast(result, t) }
}

impl Plan<'_> {
    /// Where an element of the result lies in the input.
    fn coordinate(&self, i: f64, from: f64, to: f64, scale: f64, region: (f64, f64)) -> f64 {
        let half_pixel = (i + 0.5) / scale - 0.5;
        match self.coordinates {
            "align_corners" if to == 1.0 => 0.0,
            "align_corners" => i * (from - 1.0) / (to - 1.0),
            "asymmetric" => i / scale,
            "pytorch_half_pixel" if to == 1.0 => 0.0,
            "tf_half_pixel_for_nn" => (i + 0.5) / scale,
            "tf_crop_and_resize" if to == 1.0 => 0.5 * (region.0 + region.1) * (from - 1.0),
            "tf_crop_and_resize" => region.0 * (from - 1.0) + i * (region.1 - region.0) * (from - 1.0) / (to - 1.0),
            "half_pixel_symmetric" => from / 2.0 * (1.0 - to / (scale * from)) + half_pixel,
            _ => half_pixel,
        }
    }

    fn round(&self, x: f64) -> f64 {
        match self.nearest {
            "floor" => x.floor(),
            "ceil" => x.ceil(),
            "round_prefer_ceil" => (x + 0.5).floor(),
            _ => (x - 0.5).ceil(),
        }
    }

    /// The places that count for a coordinate, and how much.
    fn taps(&self, x: f64, scale: f64) -> Vec<(f64, f64)> {
        let stretch = if self.antialias { scale.min(1.0) } else { 1.0 };
        let reach = if self.mode == "cubic" { 2.0 } else { 1.0 };
        let weight = |away: f64| if self.mode == "cubic" { self.cubic_weight(away) } else { (1.0 - away).max(0.0) };
        let low = x.floor();
        let first = low + (-reach / stretch).floor() + 1.0;
        let count = (2.0 * (low + 1.0 - first)) as usize;
        let taps: Vec<(f64, f64)> =
            (0..count).map(|i| first + i as f64).map(|p| (p, weight(((p - x) * stretch).abs()))).collect();
        let sum: f64 = taps.iter().map(|t| t.1).sum();
        taps.into_iter().map(|(p, w)| (p, w / sum)).collect()
    }

    fn cubic_weight(&self, d: f64) -> f64 {
        let a = self.cubic;
        if d <= 1.0 {
            ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
        } else if d < 2.0 {
            ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
        } else {
            0.0
        }
    }

    /// Both sizes are known: a list of places, or a matrix.
    #[allow(clippy::too_many_arguments)]
    fn known(
        &self,
        cx: &mut Builder,
        x: Value,
        axis: i64,
        from: i64,
        to: i64,
        factor: Option<f64>,
        region: (f64, f64),
    ) -> Result<Value> {
        let scale = factor.unwrap_or(to as f64 / from as f64);
        let places: Vec<f64> =
            (0..to).map(|i| self.coordinate(i as f64, from as f64, to as f64, scale, region)).collect();
        let last = (from - 1) as f64;
        let outside: Vec<bool> =
            places.iter().map(|p| self.coordinates == "tf_crop_and_resize" && !(0.0..=last).contains(p)).collect();
        let result = if self.mode == "nearest" {
            let places: Vec<i64> = places.iter().map(|p| self.round(*p).clamp(0.0, last.max(0.0)) as i64).collect();
            let places = cx.ints(&places);
            cx.gather(x, places, axis)?
        } else {
            self.weighted(cx, x, axis, from, to, &places, scale)?
        };
        if outside.contains(&true) { self.replaced(cx, result, axis, &outside) } else { Ok(result) }
    }

    /// Times a matrix of weights.
    #[allow(clippy::too_many_arguments)]
    fn weighted(
        &self,
        cx: &mut Builder,
        x: Value,
        axis: i64,
        from: i64,
        to: i64,
        places: &[f64],
        scale: f64,
    ) -> Result<Value> {
        if from.saturating_mul(to) > MAX_WEIGHTS {
            return Err(Error::refused("an interpolation of this size needs opset 18", Some(18)));
        }
        let (rows, columns) = (from as usize, to as usize);
        let mut weights = vec![0.0; rows * columns];
        for (column, place) in places.iter().enumerate() {
            let mut taps = self.taps(*place, scale);
            if self.exclude {
                taps.retain(|(p, _)| (0.0..from as f64).contains(p));
                let sum: f64 = taps.iter().map(|t| t.1).sum();
                taps.iter_mut().for_each(|t| t.1 /= sum);
            }
            for (p, w) in taps {
                let row = p.clamp(0.0, (from - 1) as f64) as usize;
                weights[row * columns + column] += w;
            }
        }
        let t = cx.dtype(x);
        let numbers: Vec<Scalar> = weights.into_iter().map(Scalar::Float).collect();
        let list = cx.numbers(&numbers, t)?;
        let matrix = cx.reshape(list, &[SymInt::from(from), SymInt::from(to)])?;
        let rank = cx.rank(x)?;
        let order: Vec<i64> = (0..rank).filter(|d| *d != axis).chain([axis]).collect();
        let back: Vec<i64> = (0..axis).chain([rank - 1]).chain(axis..rank - 1).collect();
        let turned = cx.transpose(x, &order)?;
        let product = cx.op("MatMul", vec![turned.into(), matrix.into()])?;
        cx.transpose(product, &back)
    }

    /// What lies outside of the input has a value of its own.
    fn replaced(&self, cx: &mut Builder, x: Value, axis: i64, outside: &[bool]) -> Result<Value> {
        let flags: Vec<Scalar> = outside.iter().copied().map(Scalar::Bool).collect();
        let list = cx.numbers(&flags, Dtype::Bool)?;
        let mask = self.along(cx, list, x, axis)?;
        cx.where_(mask, self.outside, x)
    }

    /// A vector shaped to broadcast along a dimension of `x`.
    fn along(&self, cx: &mut Builder, vector: Value, x: Value, axis: i64) -> Result<Value> {
        let after = cx.rank(x)? - 1 - axis;
        cx.unsqueeze(vector, &(1..=after).collect::<Vec<_>>())
    }

    /// The coordinates as a tensor of float32.
    fn coordinates(&self, cx: &mut Builder, from: &SymInt, to: &SymInt, factor: Option<f64>) -> Result<Value> {
        let i = cx.count(to)?;
        let i = cx.cast(i, Dtype::Float32)?;
        let scale = match factor {
            Some(factor) => cx.scalar(&Scalar::Float(factor), Dtype::Float32)?,
            None => {
                let new = cx.scalar(&Scalar::from(to), Dtype::Float32)?;
                cx.div(new, from)?
            }
        };
        match self.coordinates {
            "asymmetric" => cx.div(i, scale),
            "align_corners" => {
                let spans = (to - 1).max(&SymInt::from(1));
                let scaled = cx.mul(i, from - 1)?;
                cx.div(scaled, spans)
            }
            "tf_half_pixel_for_nn" => {
                let middle = cx.add(i, 0.5)?;
                cx.div(middle, scale)
            }
            "half_pixel" => {
                let middle = cx.add(i, 0.5)?;
                let scaled = cx.div(middle, scale)?;
                cx.sub(scaled, 0.5)
            }
            other => Err(Error::refused(format!("coordinates of {other} over a dimension of unknown size"), Some(18))),
        }
    }

    /// By index and weight.
    fn unknown(
        &self,
        cx: &mut Builder,
        x: Value,
        axis: i64,
        from: &SymInt,
        to: &SymInt,
        factor: Option<f64>,
    ) -> Result<Value> {
        let places = self.coordinates(cx, from, to, factor)?;
        match self.mode {
            "nearest" => {
                let whole = self.rounded(cx, places)?;
                self.gathered(cx, x, axis, whole, from)
            }
            "linear" => {
                let inside = cx.between(places, 0, from - 1)?;
                let low = cx.op("Floor", vec![inside.into()])?;
                let part = cx.sub(inside, low)?;
                let high = cx.add(low, 1)?;
                let a = self.gathered(cx, x, axis, low, from)?;
                let b = self.gathered(cx, x, axis, high, from)?;
                let apart = cx.sub(b, a)?;
                let weight = self.weight_along(cx, part, x, axis)?;
                let moved = cx.mul(apart, weight)?;
                cx.add(a, moved)
            }
            _ => self.unknown_cubic(cx, x, axis, places, from),
        }
    }

    fn weight_along(&self, cx: &mut Builder, weight: Value, x: Value, axis: i64) -> Result<Value> {
        let t = cx.dtype(x);
        let weight = cx.cast(weight, t)?;
        self.along(cx, weight, x, axis)
    }

    fn unknown_cubic(&self, cx: &mut Builder, x: Value, axis: i64, places: Value, from: &SymInt) -> Result<Value> {
        let low = cx.op("Floor", vec![places.into()])?;
        let part = cx.sub(places, low)?;
        let (mut sum, mut weights): (Option<Value>, Option<Value>) = (None, None);
        for i in -1..3i64 {
            let place = cx.add(low, i)?;
            let away = cx.sub(part, i)?;
            let away = cx.op("Abs", vec![away.into()])?;
            let mut weight = cubic_weight(cx, away, i == 0 || i == 1, self.cubic)?;
            if self.exclude {
                weight = self.counted(cx, place, weight, from)?;
            }
            let values = self.gathered(cx, x, axis, place, from)?;
            let along = self.weight_along(cx, weight, x, axis)?;
            let term = cx.mul(values, along)?;
            sum = Some(match sum {
                None => term,
                Some(sofar) => cx.add(sofar, term)?,
            });
            weights = Some(match weights {
                None => weight,
                Some(sofar) => cx.add(sofar, weight)?,
            });
        }
        let (Some(sum), Some(weights)) = (sum, weights) else { return Ok(x) };
        if !self.exclude {
            return Ok(sum);
        }
        let along = self.weight_along(cx, weights, x, axis)?;
        cx.div(sum, along)
    }

    /// The weight of a place, 0 outside.
    fn counted(&self, cx: &mut Builder, place: Value, weight: Value, from: &SymInt) -> Result<Value> {
        let inside = cx.between(place, 0, from - 1)?;
        let apart = cx.sub(inside, place)?;
        let apart = cx.op("Abs", vec![apart.into()])?;
        let is_inside = cx.op("Less", vec![apart.into(), In::from(0.5)])?;
        cx.where_(is_inside, weight, 0.0)
    }

    fn rounded(&self, cx: &mut Builder, x: Value) -> Result<Value> {
        match self.nearest {
            "floor" => cx.op("Floor", vec![x.into()]),
            "ceil" => cx.op("Ceil", vec![x.into()]),
            "round_prefer_ceil" => {
                let up = cx.add(x, 0.5)?;
                cx.op("Floor", vec![up.into()])
            }
            _ => {
                let down = cx.sub(x, 0.5)?;
                cx.op("Ceil", vec![down.into()])
            }
        }
    }

    /// The elements at whole places, cut at the edges.
    fn gathered(&self, cx: &mut Builder, x: Value, axis: i64, places: Value, from: &SymInt) -> Result<Value> {
        let inside = cx.between(places, 0, from - 1)?;
        let inside = cx.cast(inside, Dtype::Int64)?;
        cx.gather(x, inside, axis)
    }
}
