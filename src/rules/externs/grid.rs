//! GridSample by gathering and weighting, for opsets without it.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, In, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// The flattened input planes, and how coordinates are mapped to them.
struct Planes {
    /// The planes with shape N, C, elements.
    flat: Value,
    lead: [SymInt; 2],
    sizes: Vec<SymInt>,
    /// The number of samples of each plane.
    samples: SymInt,
    align: bool,
    padding: Padding,
}

#[derive(Clone, Copy, PartialEq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// Positions along one dimension, as whole floats with shape N, samples.
struct Tap {
    place: Value,
    weight: Option<Value>,
}

/// The interpolated values at the points of a grid.
pub fn grid_sample_spelled(
    cx: &mut Builder,
    x: Value,
    grid: Value,
    align: bool,
    mode: &str,
    padding: &str,
) -> Result<Value> {
    let shape = cx.shape(x)?;
    let [batch, channels, sizes @ ..] = shape.as_slice() else {
        return Err(Error::input("GridSample needs a batch, channels and spatial dimensions"));
    };
    let padding = match padding {
        "border" => Padding::Border,
        "reflection" => Padding::Reflection,
        _ => Padding::Zeros,
    };
    let grid_shape = cx.shape(grid)?;
    let outer: Vec<SymInt> = grid_shape.iter().skip(1).take(sizes.len()).cloned().collect();
    let samples: SymInt = outer.iter().product();
    let total: SymInt = sizes.iter().product();
    let flat = cx.reshape(x, &[batch.clone(), channels.clone(), total])?;
    let planes =
        Planes { flat, lead: [batch.clone(), channels.clone()], sizes: sizes.to_vec(), samples, align, padding };
    let t = cx.dtype(x);
    let grid = cx.cast(grid, t)?;
    let points = cx.reshape(grid, &[batch.clone(), planes.samples.clone(), SymInt::from(sizes.len() as i64)])?;
    let mut taps = Vec::new();
    for (i, size) in sizes.iter().enumerate() {
        // The grid lists the last dimension first.
        let place = cx.gather(points, (sizes.len() - 1 - i) as i64, 2)?;
        let place = planes.unnormalized(cx, place, size)?;
        taps.push(planes.taps(cx, place, size, mode)?);
    }
    let sum = planes.sum(cx, &taps)?;
    cx.reshape(sum, &[&planes.lead[..], outer.as_slice()].concat())
}

impl Planes {
    /// Maps -1..1 to positions.
    fn unnormalized(&self, cx: &mut Builder, place: Value, size: &SymInt) -> Result<Value> {
        let from_zero = cx.add(place, 1)?;
        if self.align {
            let scaled = cx.mul(from_zero, size - 1)?;
            return cx.mul(scaled, 0.5);
        }
        let scaled = cx.mul(from_zero, size)?;
        let scaled = cx.sub(scaled, 1)?;
        cx.mul(scaled, 0.5)
    }

    /// The positions that contribute to a coordinate, with their weights.
    fn taps(&self, cx: &mut Builder, place: Value, size: &SymInt, mode: &str) -> Result<Vec<Tap>> {
        match mode {
            "nearest" => {
                let inside = self.padded(cx, place, size)?;
                let place = cx.op("Round", vec![inside.into()])?;
                Ok(vec![Tap { place, weight: None }])
            }
            "cubic" | "bicubic" => self.cubic_taps(cx, place, size),
            _ => {
                let inside = self.padded(cx, place, size)?;
                let low = cx.op("Floor", vec![inside.into()])?;
                let high = cx.add(low, 1)?;
                let part = cx.sub(inside, low)?;
                let rest = cx.sub(high, inside)?;
                Ok(vec![Tap { place: low, weight: Some(rest) }, Tap { place: high, weight: Some(part) }])
            }
        }
    }

    fn cubic_taps(&self, cx: &mut Builder, place: Value, size: &SymInt) -> Result<Vec<Tap>> {
        let low = cx.op("Floor", vec![place.into()])?;
        let part = cx.sub(place, low)?;
        let mut taps = Vec::new();
        for i in -1..3i64 {
            let tap = cx.add(low, i)?;
            let tap = self.padded(cx, tap, size)?;
            let away = cx.sub(part, i)?;
            let away = cx.op("Abs", vec![away.into()])?;
            let weight = cubic_weight(cx, away, i == 0 || i == 1, -0.75)?;
            taps.push(Tap { place: tap, weight: Some(weight) });
        }
        Ok(taps)
    }

    /// Maps coordinates outside into the dimension, as the padding mode requires.
    fn padded(&self, cx: &mut Builder, place: Value, size: &SymInt) -> Result<Value> {
        let inside = match self.padding {
            Padding::Zeros => return Ok(place),
            Padding::Border => place,
            Padding::Reflection => self.reflected(cx, place, size)?,
        };
        cx.between(inside, 0, size - 1)
    }

    /// Reflects coordinates at the borders: at the centers of the outer elements, or at their edges.
    fn reflected(&self, cx: &mut Builder, place: Value, size: &SymInt) -> Result<Value> {
        let (first, span) = if self.align { (0.0, size - 1) } else { (-0.5, size.clone()) };
        if span == 0 {
            return cx.mul(place, 0);
        }
        let from_edge = cx.sub(place, first)?;
        let away = cx.op("Abs", vec![from_edge.into()])?;
        let turns = cx.div(away, &span)?;
        let turns = cx.op("Floor", vec![turns.into()])?;
        let whole = cx.mul(turns, &span)?;
        let extra = cx.sub(away, whole)?;
        let half = cx.mul(turns, 0.5)?;
        let pairs = cx.op("Floor", vec![half.into()])?;
        let odd = cx.op("Greater", vec![half.into(), pairs.into()])?;
        let t = cx.dtype(place);
        let span = cx.scalar(&Scalar::from(&span), t)?;
        let back = cx.sub(span, extra)?;
        let turned = cx.where_(odd, back, extra)?;
        cx.add(turned, first)
    }

    /// The sum over every combination of taps, one per dimension.
    fn sum(&self, cx: &mut Builder, taps: &[Vec<Tap>]) -> Result<Value> {
        let mut sum: Option<Value> = None;
        let count: usize = taps.iter().map(Vec::len).product();
        for mut choice in 0..count {
            let mut corner = Vec::new();
            for dim in taps {
                corner.push(&dim[choice % dim.len()]);
                choice /= dim.len();
            }
            let term = self.term(cx, &corner)?;
            sum = Some(match sum {
                None => term,
                Some(sofar) => cx.add(sofar, term)?,
            });
        }
        sum.ok_or_else(|| Error::input("a grid needs at least one dimension"))
    }

    /// The values at one position per sample, times their weight.
    fn term(&self, cx: &mut Builder, corner: &[&Tap]) -> Result<Value> {
        let t = cx.dtype(self.flat);
        let mut weight: Option<Value> = None;
        let mut place: Option<Value> = None;
        for (tap, size) in corner.iter().zip(&self.sizes) {
            let mut own = tap.weight;
            let mut at = tap.place;
            if self.padding == Padding::Zeros {
                let inside = inside(cx, at, size)?;
                let counts = cx.cast(inside, t)?;
                own = Some(match own {
                    Some(w) => cx.mul(w, counts)?,
                    None => counts,
                });
            }
            at = cx.between(at, 0, size - 1)?;
            let at = cx.cast(at, Dtype::Int64)?;
            place = Some(match place {
                None => at,
                Some(before) => {
                    let rows = cx.mul(before, size)?;
                    cx.add(rows, at)?
                }
            });
            weight = match (weight, own) {
                (Some(a), Some(b)) => Some(cx.mul(a, b)?),
                (a, b) => a.or(b),
            };
        }
        let place = place.ok_or_else(|| Error::input("a grid needs at least one dimension"))?;
        let place = cx.unsqueeze(place, &[1])?;
        let [batch, channels] = &self.lead;
        let place = cx.expand(place, &[batch.clone(), channels.clone(), self.samples.clone()])?;
        let axis = aten2onnx_onnx::graph::Attr::Int(2);
        let values = cx.op_with("GatherElements", vec![self.flat.into(), place.into()], "axis", axis)?;
        match weight {
            None => Ok(values),
            Some(weight) => {
                let weight = cx.unsqueeze(weight, &[1])?;
                cx.mul(values, weight)
            }
        }
    }
}

/// Whether a position is inside the dimension.
fn inside(cx: &mut Builder, place: Value, size: &SymInt) -> Result<Value> {
    let above = cx.op("Greater", vec![place.into(), In::from(-0.5)])?;
    let last = cx.sub(place, size)?;
    let below = cx.op("Less", vec![last.into(), In::from(-0.5)])?;
    cx.op("And", vec![above.into(), below.into()])
}

/// The weight of cubic interpolation at a distance below 1 (`near`), or from 1 to 2.
pub(super) fn cubic_weight(cx: &mut Builder, away: Value, near: bool, a: f64) -> Result<Value> {
    let coefficients = if near { [a + 2.0, -(a + 3.0), 0.0, 1.0] } else { [a, -5.0 * a, 8.0 * a, -4.0 * a] };
    let [cube, square, linear, constant] = coefficients;
    // ((cube * x + square) * x + linear) * x + constant
    let result = cx.mul(away, cube)?;
    let result = cx.add(result, square)?;
    let mut result = cx.mul(result, away)?;
    if linear != 0.0 {
        result = cx.add(result, linear)?;
    }
    let result = cx.mul(result, away)?;
    cx.add(result, constant)
}
