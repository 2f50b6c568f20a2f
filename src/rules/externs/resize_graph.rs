//! Resizes a dimension whose sizes, scale or region only the graph knows: coordinates are computed in float64; elements
//! are gathered and weighted, or multiplied by a weight matrix if their number depends on the scale.

use super::nodes::MakeNodes;
use super::resize::{HALF, Plan, Side};
use aten2onnx_builder::{Builder, In, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value};

impl Plan<'_> {
    /// Resizes one dimension.
    pub(super) fn in_graph(&self, cx: &mut Builder, x: Value, axis: i64, side: &Side) -> Result<Value> {
        let places = self.coordinates(cx, side)?;
        let result = match self.mode {
            "nearest" => {
                let whole = self.rounded(cx, places)?;
                self.gathered(cx, x, axis, whole, &side.from)?
            }
            _ if self.antialias => {
                let scale = side.scale(cx)?;
                self.by_matrix(cx, x, axis, places, scale, &side.from)?
            }
            "linear" => self.linear(cx, x, axis, places, &side.from)?,
            _ => self.cubic(cx, x, axis, places, &side.from)?,
        };
        if self.coordinates != "tf_crop_and_resize" {
            return Ok(result);
        }
        let inside = cx.between(places, 0, &side.from - 1)?;
        let is_inside = cx.op("Equal", vec![inside.into(), places.into()])?;
        let is_inside = self.broadcast_along(cx, is_inside, x, axis)?;
        cx.where_(is_inside, result, self.outside)
    }

    /// The coordinate in the input of each element of the result.
    fn coordinates(&self, cx: &mut Builder, side: &Side) -> Result<Value> {
        let i = cx.count(&side.to)?;
        let i = cx.cast(i, Dtype::Float64)?;
        let last = &side.from - 1;
        let spans = (&side.to - 1).max(&SymInt::from(1));
        match self.coordinates {
            "asymmetric" => side.unscaled(cx, i),
            "align_corners" => {
                let scaled = cx.mul(i, &last)?;
                cx.div(scaled, &spans)
            }
            "tf_half_pixel_for_nn" => {
                let middle = cx.add(i, 0.5)?;
                side.unscaled(cx, middle)
            }
            "tf_crop_and_resize" => {
                let start = number(cx, &side.region.0)?;
                let end = number(cx, &side.region.1)?;
                let both = cx.add(start, end)?;
                let middle = cx.mul(both, 0.5)?;
                let width = cx.sub(end, start)?;
                let steps = cx.mul(i, width)?;
                let steps = cx.div(steps, &spans)?;
                let many = cx.add(start, steps)?;
                let places = one_or_more(cx, &side.to, middle, many)?;
                cx.mul(places, &last)
            }
            "pytorch_half_pixel" => {
                let many = side.half_pixel(cx, i)?;
                let one = cx.scalar(&Scalar::Float(0.0), Dtype::Float64)?;
                one_or_more(cx, &side.to, one, many)
            }
            "half_pixel_symmetric" => {
                let Some(factor) = &side.factor else { return side.half_pixel(cx, i) };
                let factor = single(cx, factor)?;
                let width = cx.mul(factor, &side.from)?;
                let to = single(cx, &Scalar::from(&side.to))?;
                let share = cx.div(to, width)?;
                let one = cx.scalar(&Scalar::Float(1.0), Dtype::Float32)?;
                let missing = cx.sub(one, share)?;
                let center = single(cx, &Scalar::from(&side.from))?;
                let center = cx.mul(center, 0.5)?;
                let offset = cx.mul(center, missing)?;
                let middle = cx.add(i, 0.5)?;
                let unscaled = side.unscaled(cx, middle)?;
                let unscaled = cx.cast(unscaled, Dtype::Float32)?;
                let moved = cx.add(offset, unscaled)?;
                let places = cx.sub(moved, 0.5)?;
                cx.cast(places, Dtype::Float64)
            }
            _ => side.half_pixel(cx, i),
        }
    }

    fn linear(&self, cx: &mut Builder, x: Value, axis: i64, places: Value, from: &SymInt) -> Result<Value> {
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

    fn weight_along(&self, cx: &mut Builder, weight: Value, x: Value, axis: i64) -> Result<Value> {
        let t = cx.dtype(x);
        let weight = cx.cast(weight, t)?;
        self.broadcast_along(cx, weight, x, axis)
    }

    fn cubic(&self, cx: &mut Builder, x: Value, axis: i64, places: Value, from: &SymInt) -> Result<Value> {
        let low = cx.op("Floor", vec![places.into()])?;
        let part = cx.sub(places, low)?;
        let (mut sum, mut weights): (Option<Value>, Option<Value>) = (None, None);
        for i in -1..3i64 {
            let place = cx.add(low, i)?;
            let away = cx.sub(part, i)?;
            let away = cx.op("Abs", vec![away.into()])?;
            let mut weight = cubic_weight(cx, away, i == 0 || i == 1, self.cubic)?;
            if self.exclude {
                let is_inside = is_place(cx, place, from)?;
                weight = cx.where_(is_inside, weight, 0.0)?;
            }
            let values = self.gathered(cx, x, axis, place, from)?;
            let along = self.weight_along(cx, weight, x, axis)?;
            let term = cx.mul(values, along)?;
            sum = Some(sum.map_or(Ok(term), |sofar| cx.add(sofar, term))?);
            weights = Some(weights.map_or(Ok(weight), |sofar| cx.add(sofar, weight))?);
        }
        let (Some(sum), Some(weights)) = (sum, weights) else { return Ok(x) };
        if !self.exclude {
            return Ok(sum);
        }
        let along = self.weight_along(cx, weights, x, axis)?;
        cx.div(sum, along)
    }

    /// Antialiased: when shrinking by a factor, each element averages that many more. Each has a row of weights over
    /// the positions of the input, extended by as many beyond the ends, which repeat the border elements.
    fn by_matrix(
        &self,
        cx: &mut Builder,
        x: Value,
        axis: i64,
        places: Value,
        scale: Value,
        from: &SymInt,
    ) -> Result<Value> {
        let stretch = cx.op("Min", vec![scale.into(), 1.0.into()])?;
        let reach = cx.scalar(&Scalar::Float(if self.mode == "cubic" { 2.0 } else { 1.0 }), Dtype::Float64)?;
        let reach = cx.div(reach, stretch)?;
        let reach = cx.op("Ceil", vec![reach.into()])?;
        let reach = cx.cast(reach, Dtype::Int64)?;
        let beyond = &cx.sym(reach)? + 1;
        let taps = cx.count(&(from + &(&beyond * 2)))?;
        let taps = cx.sub(taps, &beyond)?;
        let positions = cx.cast(taps, Dtype::Float64)?;
        let column = cx.unsqueeze(places, &[1])?;
        let apart = cx.sub(positions, column)?;
        let apart = cx.mul(apart, stretch)?;
        let away = cx.op("Abs", vec![apart.into()])?;
        let mut weights = self.weight(cx, away)?;
        if self.exclude {
            let is_inside = is_place(cx, positions, from)?;
            weights = cx.where_(is_inside, weights, 0.0)?;
        }
        let sums = cx.op("ReduceSum", vec![weights.into(), vec![1i64].into()])?;
        let weights = cx.div(weights, sums)?;
        let ends = cx.between(taps, 0, from - 1)?;
        let ends = cx.unsqueeze(ends, &[1])?;
        let own = cx.count(from)?;
        let is_end = cx.op("Equal", vec![ends.into(), own.into()])?;
        let is_end = cx.cast(is_end, Dtype::Float64)?;
        let matrix = cx.op("MatMul", vec![weights.into(), is_end.into()])?;
        let matrix = cx.op_with("Transpose", vec![matrix.into()], "perm", Attr::Ints(vec![1, 0]))?;
        let t = cx.dtype(x);
        let matrix = cx.cast(matrix, t)?;
        let rank = cx.rank(x)?;
        let order: Vec<i64> = (0..rank).filter(|d| *d != axis).chain([axis]).collect();
        let back: Vec<i64> = (0..axis).chain([rank - 1]).chain(axis..rank - 1).collect();
        let turned = cx.transpose(x, &order)?;
        let product = cx.op("MatMul", vec![turned.into(), matrix.into()])?;
        cx.transpose(product, &back)
    }

    /// The weight of a position at this distance.
    fn weight(&self, cx: &mut Builder, away: Value) -> Result<Value> {
        if self.mode != "cubic" {
            let one = cx.scalar(&Scalar::Float(1.0), Dtype::Float64)?;
            let near = cx.sub(one, away)?;
            return cx.op("Max", vec![near.into(), 0.0.into()]);
        }
        let near = cubic_weight(cx, away, true, self.cubic)?;
        let far = cubic_weight(cx, away, false, self.cubic)?;
        let is_near = cx.op("Less", vec![away.into(), 1.0.into()])?;
        let is_far = cx.op("Less", vec![away.into(), 2.0.into()])?;
        let outer = cx.where_(is_far, far, 0.0)?;
        cx.where_(is_near, near, outer)
    }

    fn rounded(&self, cx: &mut Builder, x: Value) -> Result<Value> {
        match self.nearest {
            "floor" => cx.op("Floor", vec![x.into()]),
            "ceil" => cx.op("Ceil", vec![x.into()]),
            "round_prefer_ceil" => {
                let up = cx.add(x, HALF)?;
                cx.op("Floor", vec![up.into()])
            }
            _ => {
                let down = cx.sub(x, HALF)?;
                cx.op("Ceil", vec![down.into()])
            }
        }
    }

    /// The elements at whole positions, clamped to the borders.
    fn gathered(&self, cx: &mut Builder, x: Value, axis: i64, places: Value, from: &SymInt) -> Result<Value> {
        let inside = cx.between(places, 0, from - 1)?;
        let inside = cx.cast(inside, Dtype::Int64)?;
        cx.gather(x, inside, axis)
    }
}

/// A number as float64.
fn number(cx: &mut Builder, x: &Scalar) -> Result<Value> {
    match x {
        Scalar::Value(value) => cx.cast(*value, Dtype::Float64),
        other => cx.scalar(other, Dtype::Float64),
    }
}

/// A number as float32.
fn single(cx: &mut Builder, x: &Scalar) -> Result<Value> {
    match x {
        Scalar::Value(value) => cx.cast(*value, Dtype::Float32),
        other => cx.scalar(other, Dtype::Float32),
    }
}

impl Side {
    /// The new size divided by the old one.
    fn scale(&self, cx: &mut Builder) -> Result<Value> {
        match &self.factor {
            Some(factor) => number(cx, factor),
            None => {
                let new = number(cx, &Scalar::from(&self.to))?;
                cx.div(new, &self.from)
            }
        }
    }

    /// The coordinate in the input of a position of the result. If the sizes determine the scale, a coordinate halfway
    /// between two elements must be exact. With a given scale, runtimes divide in float32.
    fn unscaled(&self, cx: &mut Builder, place: Value) -> Result<Value> {
        match &self.factor {
            Some(factor) => {
                let factor = single(cx, factor)?;
                let place = cx.cast(place, Dtype::Float32)?;
                let unscaled = cx.div(place, factor)?;
                cx.cast(unscaled, Dtype::Float64)
            }
            None => {
                let product = cx.mul(place, &self.from)?;
                cx.div(product, &self.to)
            }
        }
    }

    fn half_pixel(&self, cx: &mut Builder, i: Value) -> Result<Value> {
        let middle = cx.add(i, 0.5)?;
        let unscaled = self.unscaled(cx, middle)?;
        cx.sub(unscaled, 0.5)
    }
}

/// Selects a value for one element, or for more.
fn one_or_more(cx: &mut Builder, count: &SymInt, one: Value, more: Value) -> Result<Value> {
    match count.known() {
        Some(1) => cx.op("Add", vec![one.into(), In::from(vec![0.0])]),
        Some(_) => Ok(more),
        None => {
            let count = cx.sym_value(count)?;
            let is_one = cx.op("Equal", vec![count.into(), 1.into()])?;
            cx.where_(is_one, one, more)
        }
    }
}

/// Whether it is a position of the input.
fn is_place(cx: &mut Builder, places: Value, from: &SymInt) -> Result<Value> {
    let inside = cx.between(places, 0, from - 1)?;
    let apart = cx.sub(inside, places)?;
    let apart = cx.op("Abs", vec![apart.into()])?;
    cx.op("Less", vec![apart.into(), In::from(0.5)])
}

/// The weight of cubic interpolation at a distance below 1 (`near`), or from 1 to 2.
fn cubic_weight(cx: &mut Builder, away: Value, near: bool, a: f64) -> Result<Value> {
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
