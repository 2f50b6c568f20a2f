//! Recurrent layers: reorders PyTorch's weights for ONNX, layer by layer.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, In, Scalar};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value};

use super::projected::{Weights, projected};

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
            // Update, reset and new; PyTorch has reset, update, new, and applies the reset after the weights.
            "GRU" => Kind { op: "GRU", gates: &[1, 0, 2], attrs: vec![("linear_before_reset", Attr::Int(1))] },
            "Tanh" | "Relu" => {
                let names = vec![name.to_string(); directions];
                Kind { op: "RNN", gates: &[0], attrs: vec![("activations", Attr::Strs(names))] }
            }
            other => return Err(Error::internal(format!("unknown recurrent layer `{other}`"))),
        })
    }
}

/// The order of the parameters of a layer's directions.
struct Params<'a> {
    all: &'a [Value],
    each: usize,
    has_biases: bool,
}

impl Params<'_> {
    /// Whether there is a projection weight.
    fn is_projected(&self) -> bool {
        self.each == if self.has_biases { 5 } else { 3 }
    }

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

/// The same parameter of all directions, stacked.
fn stacked(cx: &mut Builder, values: Vec<Value>) -> Result<Value> {
    let mut rows = Vec::new();
    for value in values {
        rows.push(cx.unsqueeze(value, &[0])?);
    }
    cx.concat(rows, 0)
}

/// A recurrent network: the outputs, and the last state of each kind.
#[allow(clippy::too_many_arguments)]
pub fn recurrent(
    cx: &mut Builder,
    kind: &str,
    input: Value,
    states: &[Value],
    params: &[Value],
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    bidirectional: bool,
    batch_first: bool,
    lengths: Option<Value>,
) -> Result<Vec<Value>> {
    let directions = if bidirectional { 2 } else { 1 };
    let kind = Kind::find(kind, directions)?;
    let layers = usize::try_from(num_layers).unwrap_or(0);
    let each = params.len() / (layers * directions).max(1);
    let params = Params { all: params, each, has_biases };
    if params.is_projected() && lengths.is_some() {
        return Err(Error::unsupported("packed sequences in a recurrent layer with projections"));
    }
    let mut x = if batch_first { cx.transpose(input, &[1, 0, 2])? } else { input };
    let mut last: Vec<Vec<Value>> = vec![Vec::new(); states.len()];
    for layer in 0..layers {
        if layer > 0 {
            x = apply_dropout(cx, x, dropout)?;
        }
        let from = (layer * directions) as i64;
        let to = from + directions as i64;
        let mut own = Vec::new();
        for state in states {
            let all = layers == 1;
            own.push(if all { *state } else { cx.part(*state, 0, &SymInt::from(from), &SymInt::from(to))? });
        }
        let first = layer * directions;
        let mut outputs = if params.is_projected() {
            projected_layer(cx, x, &own, &params, first, directions)?.into_iter()
        } else {
            let mut outputs = one_layer(cx, &kind, x, &own, &params, first, directions, lengths)?;
            outputs[0] = side_by_side(cx, outputs.first().copied(), directions)?;
            outputs.into_iter()
        };
        x = outputs.next().ok_or_else(|| Error::internal("a recurrent layer without an output"))?;
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

/// Dropout between layers in training: random elements become 0, the others are scaled up.
fn apply_dropout(cx: &mut Builder, x: Value, rate: f64) -> Result<Value> {
    let number = |x: f64| In::Number(Scalar::Float(x));
    match rate {
        0.0 => Ok(x),
        1.0 => cx.node1("Mul", vec![x.into(), number(0.0)], Vec::new()),
        _ => {
            let drawn = cx.node1("RandomUniformLike", vec![x.into()], Vec::new())?;
            let dropped = cx.node1("Less", vec![drawn.into(), number(rate)], Vec::new())?;
            let grown = cx.node1("Div", vec![x.into(), number(1.0 - rate)], Vec::new())?;
            cx.node1("Where", vec![dropped.into(), number(0.0), grown.into()], Vec::new())
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn one_layer(
    cx: &mut Builder,
    kind: &Kind,
    x: Value,
    states: &[Value],
    params: &Params,
    first: usize,
    directions: usize,
    lengths: Option<Value>,
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
    if params.has_biases {
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
    let mut inputs: Vec<In> = vec![x.into(), (*w).into(), (*r).into(), bias.into(), lengths.into()];
    inputs.extend(states.iter().map(|s| In::from(*s)));
    let direction = if directions == 2 { "bidirectional" } else { "forward" };
    let mut attrs = vec![("hidden_size", Attr::Int(hidden)), ("direction", Attr::Str(direction.into()))];
    attrs.extend(kind.attrs.iter().cloned());
    cx.node(kind.op, inputs, attrs, 1 + states.len())
}

/// A layer with projected states: the outputs of both directions concatenated, and their last states.
fn projected_layer(
    cx: &mut Builder,
    x: Value,
    states: &[Value],
    params: &Params,
    first: usize,
    directions: usize,
) -> Result<Vec<Value>> {
    let [hidden, cell] = states else { return Err(Error::input("an LSTM has two states")) };
    let (mut outputs, mut last) = (Vec::new(), [Vec::new(), Vec::new()]);
    for direction in 0..directions {
        let at = first + direction;
        let weights = Weights {
            input: params.get(at, 0)?,
            state: params.get(at, 1)?,
            biases: (2..params.each - 1).map(|i| params.get(at, i)).collect::<Result<_>>()?,
            projection: params.get(at, params.each - 1)?,
        };
        let own = [cx.gather(*hidden, direction as i64, 0)?, cx.gather(*cell, direction as i64, 0)?];
        let [output, own_hidden, own_cell] = projected(cx, x, own, &weights, direction == 1)?;
        outputs.push(output);
        last[0].push(own_hidden);
        last[1].push(own_cell);
    }
    let [hidden, cell] = last;
    Ok(vec![cx.concat(outputs, 2)?, stacked(cx, hidden)?, stacked(cx, cell)?])
}

/// Time, directions, batch, features to time, batch, concatenated features.
fn side_by_side(cx: &mut Builder, output: Option<Value>, directions: usize) -> Result<Value> {
    let output = output.ok_or_else(|| Error::internal("a recurrent layer without an output"))?;
    if directions == 1 {
        return cx.op("Squeeze", vec![output.into(), vec![1].into()]);
    }
    let shape = cx.shape(output)?;
    let [time, count, batch, hidden] = shape.as_slice() else {
        return Err(Error::internal("the output of a recurrent layer has four dimensions"));
    };
    let turned = cx.transpose(output, &[0, 2, 1, 3])?;
    cx.reshape(turned, &[time.clone(), batch.clone(), count * hidden])
}
