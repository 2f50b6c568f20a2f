//! LSTM layers with projections: ONNX's LSTM does not support them, so they become a Scan over time.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, In};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::{Attr, Type, Value};

/// The weights of one direction of a layer, in PyTorch's layout.
pub(super) struct Weights {
    pub input: Value,
    pub state: Value,
    pub biases: Vec<Value>,
    pub projection: Value,
}

/// One direction of a layer over time, batch, features: the outputs and the last states.
pub(super) fn projected(
    cx: &mut Builder,
    x: Value,
    states: [Value; 2],
    weights: &Weights,
    backwards: bool,
) -> Result<[Value; 3]> {
    let gates = from_input(cx, x, weights)?;
    let to_gates = cx.transpose(weights.state, &[1, 0])?;
    let to_output = cx.transpose(weights.projection, &[1, 0])?;
    let [hidden, cell] = states;
    let mut params: Vec<Type> = vec![cx.ty(hidden).clone(), cx.ty(cell).clone()];
    let step_sizes = cx.shape(gates)?.split_off(1);
    params.push(Type::tensor(cx.dtype(gates), step_sizes));
    let body = cx.body(&params, |cx, params| {
        let [hidden, cell, own] = params else { return Err(cx.fault("expected three parameters of the body")) };
        let from_state = cx.op("MatMul", vec![(*hidden).into(), to_gates.into()])?;
        let all = cx.add(*own, from_state)?;
        let (open, cell) = next_cell(cx, all, *cell)?;
        let bent = cx.op("Tanh", vec![cell.into()])?;
        let full = cx.op("Mul", vec![open.into(), bent.into()])?;
        let hidden = cx.op("MatMul", vec![full.into(), to_output.into()])?;
        Ok(vec![hidden, cell, hidden])
    })?;
    let direction = Attr::Ints(vec![i64::from(backwards)]);
    let attrs = vec![
        ("body", body),
        ("num_scan_inputs", Attr::Int(1)),
        ("scan_input_directions", direction.clone()),
        ("scan_output_directions", direction),
    ];
    let results = cx.node("Scan", vec![hidden.into(), cell.into(), gates.into()], attrs, 3)?;
    match results.as_slice() {
        [hidden, cell, outputs] => Ok([*outputs, *hidden, *cell]),
        _ => Err(cx.fault("expected three results of Scan")),
    }
}

/// The contributions of the inputs of all steps, and of the biases, to the gates.
fn from_input(cx: &mut Builder, x: Value, weights: &Weights) -> Result<Value> {
    let turned = cx.transpose(weights.input, &[1, 0])?;
    let mut gates = cx.op("MatMul", vec![x.into(), turned.into()])?;
    for bias in &weights.biases {
        gates = cx.add(gates, *bias)?;
    }
    Ok(gates)
}

/// The output gate and the next cell state, from gates in PyTorch's order: input, forget, cell, output.
fn next_cell(cx: &mut Builder, gates: Value, cell: Value) -> Result<(Value, Value)> {
    let attrs = vec![("axis", Attr::Int(-1)), ("num_outputs", Attr::Int(4))];
    let parts = cx.node("Split", vec![gates.into(), In::None], attrs, 4)?;
    let [input, forget, new, output] = parts.as_slice() else { return Err(cx.fault("expected four results of Split")) };
    let input = cx.op("Sigmoid", vec![(*input).into()])?;
    let forget = cx.op("Sigmoid", vec![(*forget).into()])?;
    let new = cx.op("Tanh", vec![(*new).into()])?;
    let output = cx.op("Sigmoid", vec![(*output).into()])?;
    let kept = cx.op("Mul", vec![forget.into(), cell.into()])?;
    let added = cx.op("Mul", vec![input.into(), new.into()])?;
    Ok((output, cx.add(kept, added)?))
}
