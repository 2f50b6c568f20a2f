//! Resize, one dimension at a time: known sizes use a weight matrix or a list of indices, others use `resize_graph`.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// How a dimension is resized.
pub(super) struct Plan<'a> {
    pub(super) coordinates: &'a str,
    pub(super) cubic: f64,
    pub(super) exclude: bool,
    pub(super) outside: f64,
    pub(super) mode: &'a str,
    pub(super) nearest: &'a str,
    pub(super) antialias: bool,
}

/// The request for one dimension.
pub(super) struct Side {
    pub(super) from: SymInt,
    pub(super) to: SymInt,
    /// The scale, unless it is the quotient of the sizes.
    pub(super) factor: Option<Scalar>,
    /// Start and end of the cropped region, as fractions of the dimension.
    pub(super) region: (Scalar, Scalar),
}

/// A `Side` with known numbers: sizes before and after, scale, region.
type KnownSide = (i64, i64, Option<f64>, (f64, f64));

impl Side {
    /// Sizes, scale and region, if all are known.
    fn known(&self) -> Option<KnownSide> {
        let factor = match &self.factor {
            Some(factor) => Some(factor.as_float()?),
            None => None,
        };
        Some((self.from.known()?, self.to.known()?, factor, (self.region.0.as_float()?, self.region.1.as_float()?)))
    }

    /// Whether the dimension stays unchanged.
    fn is_unchanged(&self, cropping: bool) -> bool {
        let is = |number: &Scalar, wanted: f64| number.as_float() == Some(wanted);
        let is_whole = !cropping || (is(&self.region.0, 0.0) && is(&self.region.1, 1.0));
        self.from == self.to && self.factor.as_ref().is_none_or(|factor| is(factor, 1.0)) && is_whole
    }
}

/// Positions this close to the middle between two elements count as the middle, as in ONNX Runtime: scales are float32.
pub(super) const HALF: f64 = 0.5 + 1e-6;

/// A larger weight matrix is not stored as a constant.
const MAX_WEIGHTS: i64 = 1 << 24;

/// Resizes one dimension at a time.
#[allow(clippy::too_many_arguments)]
pub fn resize_spelled(
    cx: &mut Builder,
    x: Value,
    roi: Option<Value>,
    size: &[SymInt],
    factors: &Option<Vec<Scalar>>,
    coordinates: &str,
    cubic: f64,
    exclude: bool,
    outside: f64,
    mode: &str,
    nearest: &str,
    antialias: bool,
) -> Result<Value> {
    let plan = Plan { coordinates, cubic, exclude, outside, mode, nearest, antialias };
    let cropping = coordinates == "tf_crop_and_resize";
    let t = cx.dtype(x);
    let float = mode == "nearest" || t.is_float();
    let mut result = if float { x } else { cx.cast(x, Dtype::Float32)? };
    for (axis, to) in size.iter().enumerate() {
        let region = match roi.filter(|_| cropping) {
            Some(roi) => (part_of(cx, roi, axis)?, part_of(cx, roi, axis + size.len())?),
            None => (Scalar::Float(0.0), Scalar::Float(1.0)),
        };
        let factor = factors.as_ref().and_then(|factors| factors.get(axis).cloned());
        let side = Side { from: cx.dim(result, axis as i64)?, to: to.clone(), factor, region };
        if side.is_unchanged(cropping) {
            continue;
        }
        let spelled = |(from, to, ..): &(i64, i64, _, _)| mode == "nearest" || from.saturating_mul(*to) <= MAX_WEIGHTS;
        result = match side.known().filter(spelled) {
            Some((from, to, factor, region)) => plan.known(cx, result, axis as i64, from, to, factor, region)?,
            None => plan.in_graph(cx, result, axis as i64, &side)?,
        };
    }
    if float { Ok(result) } else { cx.cast(result, t) }
}

/// An element of a float vector, known or in the graph.
pub(super) fn part_of(cx: &mut Builder, vector: Value, at: usize) -> Result<Scalar> {
    if let Some(known) = cx.constant_floats(vector) {
        let missing = || Error::input(format!("a list of {} numbers has none for dimension {at}", known.len()));
        return known.get(at).map(|number| Scalar::Float(*number)).ok_or_else(missing);
    }
    Ok(Scalar::Value(cx.gather(vector, at as i64, 0)?))
}

impl Plan<'_> {
    /// The coordinate in the input of an element of the result.
    fn coordinate(&self, i: f64, from: f64, to: f64, factor: Option<f64>, region: (f64, f64)) -> f64 {
        // If the sizes determine the scale, a coordinate halfway between two elements must be exact. With a given
        // scale, runtimes divide in float32, where 1.5 / 0.6 is 2.5 and not slightly less.
        let divided = |place: f64, factor: f64| f64::from(place as f32 / factor as f32);
        let unscaled = |place: f64| factor.map_or(place * from / to, |factor| divided(place, factor));
        let half_pixel = unscaled(i + 0.5) - 0.5;
        match self.coordinates {
            "align_corners" if to == 1.0 => 0.0,
            "align_corners" => i * (from - 1.0) / (to - 1.0),
            "asymmetric" => unscaled(i),
            "pytorch_half_pixel" if to == 1.0 => 0.0,
            "tf_half_pixel_for_nn" => unscaled(i + 0.5),
            "tf_crop_and_resize" if to == 1.0 => 0.5 * (region.0 + region.1) * (from - 1.0),
            "tf_crop_and_resize" => region.0 * (from - 1.0) + i * (region.1 - region.0) * (from - 1.0) / (to - 1.0),
            "half_pixel_symmetric" => {
                let Some(factor) = factor else { return half_pixel };
                let missing = 1.0 - to as f32 / (factor as f32 * from as f32);
                f64::from(from as f32 / 2.0 * missing + unscaled(i + 0.5) as f32 - 0.5)
            }
            _ => half_pixel,
        }
    }

    fn round(&self, x: f64) -> f64 {
        match self.nearest {
            "floor" => x.floor(),
            "ceil" => x.ceil(),
            "round_prefer_ceil" => (x + HALF).floor(),
            _ => (x - HALF).ceil(),
        }
    }

    /// The positions that contribute to a coordinate, with their weights.
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

    /// For known sizes: gathers by index, or multiplies by a weight matrix.
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
            (0..to).map(|i| self.coordinate(i as f64, from as f64, to as f64, factor, region)).collect();
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

    /// Multiplies by a weight matrix.
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

    /// Replaces values outside of the input by the extrapolation value.
    fn replaced(&self, cx: &mut Builder, x: Value, axis: i64, outside: &[bool]) -> Result<Value> {
        let flags: Vec<Scalar> = outside.iter().copied().map(Scalar::Bool).collect();
        let list = cx.numbers(&flags, Dtype::Bool)?;
        let mask = self.broadcast_along(cx, list, x, axis)?;
        cx.where_(mask, self.outside, x)
    }

    /// Reshapes a vector to broadcast along a dimension of `x`.
    pub(super) fn broadcast_along(&self, cx: &mut Builder, vector: Value, x: Value, axis: i64) -> Result<Value> {
        let after = cx.rank(x)? - 1 - axis;
        cx.unsqueeze(vector, &(1..=after).collect::<Vec<_>>())
    }
}
