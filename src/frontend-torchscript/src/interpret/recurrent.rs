//! Dynamically quantized recurrent layers and cells: each step rounds the hidden state with its own range.

use std::rc::Rc;

use super::Interpreter;
use super::operators::OperatorCall;
use crate::types::Type;
use crate::values::{Item, Packed, Rounding, Tensor, Value};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::Arg;

/// The most steps of a sequence; they unroll.
const MAX_STEPS: i64 = 4096;

/// What one step computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Lstm,
    Gru,
    Tanh,
    Relu,
}

/// The hidden state, and the cell state of an LSTM.
#[derive(Clone)]
struct State {
    hidden: Tensor,
    cell: Option<Tensor>,
}

impl Interpreter<'_, '_> {
    /// `aten::quantized_lstm` or `aten::quantized_gru`.
    pub(super) fn dynamic_layers(&mut self, call: &OperatorCall) -> Result<Item> {
        let kind = if call.name().ends_with("lstm") { Cell::Lstm } else { Cell::Gru };
        let flag = |name: &str| matches!(call.named(name).map(|item| &item.value), Some(Value::Bool(true)));
        let layers = match call.named("num_layers").map(|item| &item.value) {
            Some(Value::Int(layers)) => usize::try_from(*layers).unwrap_or(1),
            _ => 1,
        };
        if call.named("batch_sizes").is_some() {
            return Err(refused("over a packed sequence"));
        }
        let mut input = self.operand(call, 0)?;
        let starts = match kind {
            Cell::Lstm => self.elements(call.item(1)?)?,
            _ => vec![call.item(1)?.clone()],
        };
        let starts = starts.iter().map(|item| self.floats(&item.value)).collect::<Result<Vec<Tensor>>>()?;
        let params = self.elements(call.item(2)?)?;
        let directions = if flag("bidirectional") { 2 } else { 1 };
        let axis = i64::from(flag("batch_first"));
        let (mut hidden, mut cells) = (Vec::new(), Vec::new());
        for layer in 0..layers {
            let mut outputs = Vec::new();
            for direction in 0..directions {
                let at = layer * directions + direction;
                let Some(Value::Packed(packed)) = params.get(at).map(|item| &item.value) else {
                    return Err(refused("without packed weights"));
                };
                let packed = Rc::clone(packed);
                let mut state = self.state_at(&starts, at)?;
                outputs.push(self.direction(kind, &input, &packed, &mut state, axis, direction == 1)?);
                hidden.push(Some(state.hidden.name.to_string()));
                cells.extend(state.cell.map(|cell| Some(cell.name.to_string())));
            }
            input = match outputs.as_slice() {
                [output] => output.clone(),
                _ => {
                    let names = outputs.iter().map(|output| Some(output.name.to_string())).collect();
                    self.tensor_node("aten::cat", vec![("tensors", Arg::Tensors(names)), ("dim", Arg::Int(-1))])?
                }
            };
        }
        let mut results = vec![Item::tensor(input)];
        for states in [hidden, cells].into_iter().filter(|states| !states.is_empty()) {
            results.push(Item::tensor(self.stacked_on(states, 0)?));
        }
        Ok(Item::tuple(results))
    }

    /// A step by itself: `quantized::quantized_lstm_cell_dynamic` and others; None for other operators.
    pub(super) fn dynamic_cell(&mut self, short: &str, call: &OperatorCall) -> Result<Option<Item>> {
        let kind = match short {
            "quantized_lstm_cell_dynamic" => Cell::Lstm,
            "quantized_gru_cell_dynamic" => Cell::Gru,
            "quantized_rnn_tanh_cell_dynamic" => Cell::Tanh,
            "quantized_rnn_relu_cell_dynamic" => Cell::Relu,
            _ => return Ok(None),
        };
        let input = self.operand(call, 0)?;
        let starts = match kind {
            Cell::Lstm => self.elements(call.item(1)?)?,
            _ => vec![call.item(1)?.clone()],
        };
        let mut starts =
            starts.iter().map(|item| self.floats(&item.value)).collect::<Result<Vec<Tensor>>>()?.into_iter();
        let hidden = starts.next().ok_or_else(|| refused("without its states"))?;
        let state = State { hidden, cell: starts.next() };
        let packed = self.cell_of(call)?;
        let [of_input, _] = packed.parts.as_slice() else { return Err(refused("without packed weights")) };
        let from_input = self.rounded_linear(&input, of_input, packed.rounding)?;
        let next = self.recurrent_step(kind, &from_input, &packed, &state)?;
        Ok(Some(match next.cell {
            Some(cell) => Item::tuple(vec![Item::tensor(next.hidden), Item::tensor(cell)]),
            None => Item::tensor(next.hidden),
        }))
    }

    /// The weights of a cell out of its packed linear layers, as `quantized::make_quantized_cell_params_dynamic` unites them.
    pub(super) fn cell_of(&mut self, call: &OperatorCall) -> Result<Rc<Packed>> {
        let mut parts = Vec::new();
        for (weight, bias) in [("w_ih", ["b_ih", "bias_ih"]), ("w_hh", ["b_hh", "bias_hh"])] {
            let Some(Value::Packed(packed)) = call.named(weight).map(|item| &item.value) else {
                return Err(refused("without packed weights"));
            };
            let weight = packed.weight.clone();
            let bias = bias.iter().find_map(|name| call.named(name)).and_then(|item| match &item.value {
                Value::Tensor(tensor) => Some(tensor.clone()),
                _ => None,
            });
            // torch computes with the bias that is packed with the weight.
            parts.push(Rc::new(Packed::of(weight, packed.bias.clone().or(bias))));
        }
        let reduced = matches!(call.named("reduce_range").map(|item| &item.value), Some(Value::Bool(true)));
        let rounding = match call.name() {
            name if name.ends_with("fp16") => Rounding::None,
            "quantized::make_quantized_cell_params_dynamic" if !reduced => Rounding::Full,
            _ => Rounding::Reduced,
        };
        let first = parts.first().ok_or_else(|| refused("without packed weights"))?;
        Ok(Rc::new(Packed { rounding, ..Packed::of(first.weight.clone(), None) }.with_parts(parts)))
    }

    /// The states of a layer and direction before the first step.
    fn state_at(&mut self, starts: &[Tensor], at: usize) -> Result<State> {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let mut states =
            starts.iter().map(|tensor| self.selected(tensor, 0, at)).collect::<Result<Vec<Tensor>>>()?.into_iter();
        let hidden = states.next().ok_or_else(|| refused("without its states"))?;
        Ok(State { hidden, cell: states.next() })
    }

    /// One layer in one direction; the state becomes that after the last step.
    fn direction(
        &mut self,
        kind: Cell,
        input: &Tensor,
        packed: &Packed,
        state: &mut State,
        axis: i64,
        backwards: bool,
    ) -> Result<Tensor> {
        let [of_input, _] = packed.parts.as_slice() else { return Err(refused("without packed weights")) };
        let sizes = self.recorder.meta(input)?.sizes;
        let steps = sizes.get(usize::try_from(axis).unwrap_or(0)).and_then(aten2onnx_core::sym::SymInt::known);
        let Some(steps) = steps.filter(|steps| *steps <= MAX_STEPS) else {
            return Err(refused("over a length that is only known at run time"));
        };
        let of_inputs = self.rounded_linear(input, of_input, packed.rounding)?;
        let mut outputs = Vec::new();
        for round in 0..steps {
            let step = if backwards { steps - 1 - round } else { round };
            let from_input = self.selected(&of_inputs, axis, step)?;
            *state = self.recurrent_step(kind, &from_input, packed, state)?;
            outputs.push(Some(state.hidden.name.to_string()));
        }
        if backwards {
            outputs.reverse();
        }
        self.stacked_on(outputs, axis)
    }

    /// The next state.
    fn recurrent_step(&mut self, kind: Cell, from_input: &Tensor, packed: &Packed, state: &State) -> Result<State> {
        let [_, of_state] = packed.parts.as_slice() else { return Err(refused("without packed weights")) };
        let from_state = self.rounded_linear(&state.hidden, of_state, packed.rounding)?;
        match (kind, &state.cell) {
            (Cell::Lstm, Some(cell)) => {
                let gates = self.binary_node("aten::add.Tensor", from_input, &from_state)?;
                let [i, f, g, o] = self.gates(&gates)?;
                let (i, f) = (self.squashed("sigmoid", &i)?, self.squashed("sigmoid", &f)?);
                let (g, o) = (self.squashed("tanh", &g)?, self.squashed("sigmoid", &o)?);
                let kept = self.binary_node("aten::mul.Tensor", &f, cell)?;
                let new = self.binary_node("aten::mul.Tensor", &i, &g)?;
                let cell = self.binary_node("aten::add.Tensor", &kept, &new)?;
                let shown = self.squashed("tanh", &cell)?;
                let hidden = self.binary_node("aten::mul.Tensor", &o, &shown)?;
                Ok(State { hidden, cell: Some(cell) })
            }
            (Cell::Lstm, None) => Err(refused("without its states")),
            (Cell::Gru, _) => {
                let [reset, update, new]: [Tensor; 3] = self.gates(from_input)?;
                let [state_reset, state_update, state_new]: [Tensor; 3] = self.gates(&from_state)?;
                let reset = self.binary_node("aten::add.Tensor", &state_reset, &reset)?;
                let reset = self.squashed("sigmoid", &reset)?;
                let update = self.binary_node("aten::add.Tensor", &state_update, &update)?;
                let update = self.squashed("sigmoid", &update)?;
                let state_new = self.binary_node("aten::mul.Tensor", &state_new, &reset)?;
                let new = self.binary_node("aten::add.Tensor", &new, &state_new)?;
                let new = self.squashed("tanh", &new)?;
                let change = self.binary_node("aten::sub.Tensor", &state.hidden, &new)?;
                let change = self.binary_node("aten::mul.Tensor", &change, &update)?;
                let hidden = self.binary_node("aten::add.Tensor", &change, &new)?;
                Ok(State { hidden, cell: None })
            }
            (Cell::Tanh | Cell::Relu, _) => {
                let sum = self.binary_node("aten::add.Tensor", &from_state, from_input)?;
                let hidden = self.squashed(if kind == Cell::Tanh { "tanh" } else { "relu" }, &sum)?;
                Ok(State { hidden, cell: None })
            }
        }
    }

    fn rounded_linear(&mut self, input: &Tensor, packed: &Packed, rounding: Rounding) -> Result<Tensor> {
        let rounded = match rounding {
            Rounding::None => input.clone(),
            rounding => self.dynamically_rounded(input, rounding == Rounding::Reduced)?,
        };
        self.linear(&rounded, packed)
    }

    /// Equal parts of the last axis.
    fn gates<const N: usize>(&mut self, tensor: &Tensor) -> Result<[Tensor; N]> {
        let count = i64::try_from(N).unwrap_or(i64::MAX);
        let args = vec![
            ("self".to_owned(), Arg::Tensor(tensor.name.to_string())),
            ("chunks".to_owned(), Arg::Int(count)),
            ("dim".to_owned(), Arg::Int(-1)),
        ];
        let parts = self.emit("aten::chunk", args, &[Type::list(Type::Tensor)])?;
        let parts = self.unpacked(&parts, N)?;
        let parts = parts.into_iter().filter_map(|item| match item.value {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        });
        parts.collect::<Vec<Tensor>>().try_into().map_err(|_| Error::internal("expected gates"))
    }

    fn squashed(&mut self, function: &str, tensor: &Tensor) -> Result<Tensor> {
        self.tensor_node(&format!("aten::{function}"), vec![("self", Arg::Tensor(tensor.name.to_string()))])
    }

    fn stacked_on(&mut self, names: Vec<Option<String>>, axis: i64) -> Result<Tensor> {
        self.tensor_node("aten::stack", vec![("tensors", Arg::Tensors(names)), ("dim", Arg::Int(axis))])
    }

    fn selected(&mut self, tensor: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
        let this = Arg::Tensor(tensor.name.to_string());
        let args = vec![("self", this), ("dim", Arg::Int(dim)), ("index", Arg::Int(index))];
        self.tensor_node("aten::select.int", args)
    }

    fn binary_node(&mut self, target: &str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let name = |tensor: &Tensor| Arg::Tensor(tensor.name.to_string());
        self.tensor_node(target, vec![("self", name(a)), ("other", name(b))])
    }

    fn floats(&mut self, value: &Value) -> Result<Tensor> {
        match value {
            Value::Tensor(tensor) => self.plain(&tensor.clone()),
            _ => Err(refused("without its states")),
        }
    }
}

fn refused(what: &str) -> Error {
    Error::unsupported(format!("a dynamically quantized recurrent layer {what} is not supported"))
}
