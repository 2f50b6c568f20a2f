//! Recurrent layers: PyTorch's weights in ONNX's order, layer after layer.

use crate::builder::{Builder, In};
use crate::error::{Error, Result};
use crate::graph::{Attr, Value};
use crate::sym::SymInt;

/// A kind of layer.
struct Kind {
    op: &'static str,
    /// PyTorch's gates in the order of ONNX.
    gates: &'static [i64],
    attrs: Vec<(&'static str, Attr)>,
}

impl Kind {
    fn find(name: &str, directions: usize) -> Result<Kind> {
        Ok(match name {
            // Input, output, forget and cell; PyTorch has input, forget, cell, output.
            "LSTM" => Kind { op: "LSTM", gates: &[0, 3, 1, 2], attrs: Vec::new() },
            // Update, reset and new; PyTorch has reset, update, new, and multiplies by the reset after the weights.
            "GRU" => Kind { op: "GRU", gates: &[1, 0, 2], attrs: vec![("linear_before_reset", Attr::Int(1))] },
            "Tanh" | "Relu" => {
                let names = vec![name.to_string(); directions];
                Kind { op: "RNN", gates: &[0], attrs: vec![("activations", Attr::Strs(names))] }
            }
            other => return Err(Error::internal(format!("there is no recurrent layer `{other}`"))),
        })
    }
}

/// How the parameters of a direction of a layer follow one another.
struct Params<'a> {
    all: &'a [Value],
    each: usize,
}

impl Params<'_> {
    fn get(&self, layer: usize, i: usize) -> Result<Value> {
        let found = self.all.get(layer * self.each + i).copied();
        found.ok_or_else(|| Error::input("a recurrent network has fewer parameters than its layers need"))
    }
}

/// The gates of a weight or bias in ONNX's order.
fn reordered(cx: &mut Builder, x: Value, kind: &Kind) -> Result<Value> {
    if kind.gates.len() == 1 {
        return Ok(x);
    }
    let size = cx.dim(x, 0)?.floor_div(&SymInt::from(kind.gates.len() as i64));
    let mut parts = Vec::new();
    for gate in kind.gates {
        parts.push(cx.part(x, 0, &(&size * *gate), &(&size * (gate + 1)))?);
    }
    cx.concat(parts, 0)
}

/// The same parameter of all directions, one above the other.
fn stacked(cx: &mut Builder, values: Vec<Value>) -> Result<Value> {
    let mut rows = Vec::new();
    for value in values {
        rows.push(cx.unsqueeze(value, &[0])?);
    }
    cx.concat(rows, 0)
}

/// Layers of a recurrent network: the outputs, and the last state of each kind.
#[allow(clippy::too_many_arguments)]
pub fn recurrent(
    cx: &mut Builder,
    kind: &str,
    input: Value,
    states: &[Value],
    params: &[Value],
    has_biases: bool,
    num_layers: i64,
    bidirectional: bool,
    batch_first: bool,
) -> Result<Vec<Value>> {
    let directions = if bidirectional { 2 } else { 1 };
    let kind = Kind::find(kind, directions)?;
    let layers = usize::try_from(num_layers).unwrap_or(0);
    let each = if has_biases { 4 } else { 2 };
    if params.len() != each * layers * directions {
        return Err(Error::unsupported("recurrent layers with projections"));
    }
    let params = Params { all: params, each };
    let mut x = if batch_first { cx.transpose(input, &[1, 0, 2])? } else { input };
    let mut last: Vec<Vec<Value>> = vec![Vec::new(); states.len()];
    for layer in 0..layers {
        let from = (layer * directions) as i64;
        let to = from + directions as i64;
        let mut own = Vec::new();
        for state in states {
            let all = layers == 1;
            own.push(if all { *state } else { cx.part(*state, 0, &SymInt::from(from), &SymInt::from(to))? });
        }
        let outputs = one_layer(cx, &kind, x, &own, &params, layer * directions, directions)?;
        let mut outputs = outputs.into_iter();
        x = side_by_side(cx, outputs.next(), directions)?;
        for (list, state) in last.iter_mut().zip(outputs) {
            list.push(state);
        }
    }
    if batch_first {
        x = cx.transpose(x, &[1, 0, 2])?;
    }
    let mut results = vec![x];
    for list in last {
        results.push(cx.concat(list, 0)?);
    }
    Ok(results)
}

fn one_layer(
    cx: &mut Builder,
    kind: &Kind,
    x: Value,
    states: &[Value],
    params: &Params,
    first: usize,
    directions: usize,
) -> Result<Vec<Value>> {
    let mut weights = Vec::new();
    for i in 0..2 {
        let mut rows = Vec::new();
        for direction in 0..directions {
            let weight = params.get(first + direction, i)?;
            rows.push(reordered(cx, weight, kind)?);
        }
        weights.push(stacked(cx, rows)?);
    }
    let mut bias = None;
    if params.each == 4 {
        let mut rows = Vec::new();
        for direction in 0..directions {
            let mut both = Vec::new();
            for i in 2..4 {
                let own = params.get(first + direction, i)?;
                both.push(reordered(cx, own, kind)?);
            }
            rows.push(cx.concat(both, 0)?);
        }
        bias = Some(stacked(cx, rows)?);
    }
    let [w, r] = weights.as_slice() else { return Err(Error::internal("a layer has two weights")) };
    let hidden = cx.dim(*r, -1)?.known();
    let hidden = hidden.ok_or_else(|| Error::unsupported("a recurrent layer whose size is not known"))?;
    let mut inputs: Vec<In> = vec![x.into(), (*w).into(), (*r).into(), bias.into(), In::None];
    inputs.extend(states.iter().map(|s| In::from(*s)));
    let direction = if directions == 2 { "bidirectional" } else { "forward" };
    let mut attrs = vec![("hidden_size", Attr::Int(hidden)), ("direction", Attr::Str(direction.into()))];
    attrs.extend(kind.attrs.iter().cloned());
    cx.node(kind.op, inputs, attrs, 1 + states.len())
}

/// Time, directions, batch, features to time, batch, features of both directions.
fn side_by_side(cx: &mut Builder, output: Option<Value>, directions: usize) -> Result<Value> {
    let output = output.ok_or_else(|| Error::internal("a recurrent layer without an output"))?;
    if directions == 1 {
        return cx.op("Squeeze", vec![output.into(), vec![1].into()]);
    }
    let shape = cx.shape(output)?;
    let [time, count, batch, hidden] = shape.as_slice() else {
        return Err(Error::internal("a recurrent layer gives four dimensions"));
    };
    let turned = cx.transpose(output, &[0, 2, 1, 3])?;
    cx.reshape(turned, &[time.clone(), batch.clone(), count * hidden])
}
