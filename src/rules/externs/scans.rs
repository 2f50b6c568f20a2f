//! Operations that run along a dimension, one slice at a time.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, Form, Graph, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Type, Value};

/// A Scan along one dimension: `states` are carried, and each step returns `count` values.
fn scan(
    cx: &mut Builder,
    x: Value,
    dim: i64,
    states: Vec<Value>,
    count: usize,
    step: impl FnOnce(&mut Builder, &[Value]) -> Result<Vec<Value>>,
) -> Result<Vec<Value>> {
    let mut params: Vec<Type> = states.iter().map(|s| cx.ty(*s).clone()).collect();
    let sizes = sizes_except(cx, x, dim)?;
    params.push(Type::tensor(cx.dtype(x), sizes));
    let body = cx.body(&params, step)?;
    let attrs = vec![
        ("body", body),
        ("num_scan_inputs", Attr::Int(1)),
        ("scan_input_axes", Attr::Ints(vec![dim])),
        ("scan_output_axes", Attr::Ints(vec![dim; count])),
    ];
    let carried = states.len();
    let inputs = states.into_iter().chain([x]).map(Into::into).collect();
    let results = cx.node("Scan", inputs, attrs, carried + count)?;
    Ok(results.into_iter().skip(carried).collect())
}

/// All sizes but one.
fn sizes_except(cx: &Builder, x: Value, dim: i64) -> Result<Vec<SymInt>> {
    let shape = cx.shape(x)?;
    Ok(shape.into_iter().enumerate().filter(|(d, _)| *d as i64 != dim).map(|(_, n)| n).collect())
}

/// The running extreme and its position, the last one of equals; NaN propagates.
pub fn running_extreme(cx: &mut Builder, x: Value, dim: i64, largest: bool) -> Result<(Value, Value)> {
    let t = cx.dtype(x);
    let worst = match (t.is_float(), largest) {
        (true, true) => Scalar::Float(f64::NEG_INFINITY),
        (true, false) => Scalar::Float(f64::INFINITY),
        (false, true) => super::lowest(cx, t)?,
        (false, false) => super::highest(cx, t)?,
    };
    let sizes = sizes_except(cx, x, dim)?;
    let best = super::full_of(cx, &sizes, &worst, t)?;
    let place = super::full_of(cx, &sizes, &Scalar::Int(0), Dtype::Int64)?;
    let zero = cx.scalar(&Scalar::Int(0), Dtype::Int64)?;
    let compare = if largest { "GreaterOrEqual" } else { "LessOrEqual" };
    let results = scan(cx, x, dim, vec![best, place, zero], 2, |cx, params| {
        let [best, place, i, element] = params else { return Err(cx.fault("expected four parameters of the body")) };
        let (best, place, i, element) = (*best, *place, *i, *element);
        let mut now = cx.op(compare, vec![element.into(), best.into()])?;
        if t.is_float() {
            let none = cx.op("IsNaN", vec![element.into()])?;
            now = cx.op("Or", vec![now.into(), none.into()])?;
        }
        let best = cx.where_(now, element, best)?;
        let place = cx.where_(now, i, place)?;
        let next = cx.add(i, 1)?;
        Ok(vec![best, place, next, best, place])
    })?;
    match results.as_slice() {
        [values, places] => Ok((*values, *places)),
        _ => Err(cx.fault("expected two results of Scan")),
    }
}

/// `log(cumsum(exp(x)))`, safe against overflow.
pub fn running_log_sum(cx: &mut Builder, x: Value, dim: i64) -> Result<Value> {
    let t = cx.dtype(x);
    let sizes = sizes_except(cx, x, dim)?;
    let start = super::full_of(cx, &sizes, &Scalar::Float(f64::NEG_INFINITY), t)?;
    let results = scan(cx, x, dim, vec![start], 1, |cx, params| {
        let [before, element] = params else { return Err(cx.fault("expected two parameters of the body")) };
        let (before, element) = (*before, *element);
        let top = cx.op("Max", vec![before.into(), element.into()])?;
        let apart = cx.sub(before, element)?;
        let away = cx.op("Abs", vec![apart.into()])?;
        let away = cx.op("Neg", vec![away.into()])?;
        let smaller = cx.op("Exp", vec![away.into()])?;
        let sum = cx.add(smaller, 1)?;
        let more = cx.op("Log", vec![sum.into()])?;
        let sum = cx.add(top, more)?;
        // Equal values may be infinite, and infinity minus infinity is NaN.
        let doubled = cx.add(element, std::f64::consts::LN_2)?;
        let same = cx.op("Equal", vec![before.into(), element.into()])?;
        let next = cx.where_(same, doubled, sum)?;
        Ok(vec![next, next])
    })?;
    results.first().copied().ok_or_else(|| cx.fault("expected a result of Scan"))
}

/// A Loop without loop-carried values, for opsets that require one: adds an unused number.
pub fn loop_with_a_number(
    cx: &mut Builder,
    trips: Option<Value>,
    condition: Option<Value>,
    body: &Graph,
    outputs: i64,
) -> Result<Vec<Value>> {
    let Graph::Built(body) = body else { return Err(cx.fault("a loop needs a body")) };
    let body = cx.with_carried(body);
    let zero = cx.scalar(&Scalar::Int(0), Dtype::Int64)?;
    let count = usize::try_from(outputs).unwrap_or(0) + 1;
    let inputs = vec![trips.into(), condition.into(), zero.into()];
    let values = cx.node_in(Form::before(11), "Loop", inputs, vec![("body", Attr::Graph(body))], count)?;
    Ok(values.into_iter().skip(1).collect())
}
