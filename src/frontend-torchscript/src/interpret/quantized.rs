//! Quantized operators as their definition: dequantize the operands, compute with floats, quantize the result.

use std::rc::Rc;

use super::Interpreter;
use super::nodes::dtype_of;
use super::operators::OperatorCall;
use crate::types::Type;
use crate::values::{Item, Packed, Quantized, Tensor, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::Arg;

/// Operators of `aten` whose results have elements of their operand only.
const MOVES: &[&str] = &[
    "flatten",
    "view",
    "reshape",
    "transpose",
    "permute",
    "squeeze",
    "unsqueeze",
    "select",
    "slice",
    "expand",
    "clone",
    "contiguous",
    "relu",
    "relu_",
    "relu6",
    "hardtanh",
    "hardtanh_",
    "clamp",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "chunk",
    "split",
    "unbind",
    "detach",
    "to",
    "dropout",
    "max",
    "min",
    "topk",
    "sort",
    "narrow",
    "index_select",
    "repeat",
    "unflatten",
    "quantized_max_pool1d",
    "quantized_max_pool2d",
    "upsample_nearest2d",
    "upsample_nearest1d",
    "upsample_nearest3d",
    "pad",
    "reflection_pad2d",
    "constant_pad_nd",
    "stack",
    "cat",
    "t",
    "pixel_shuffle",
    "channel_shuffle",
    "identity",
];

/// Operators of `aten` that compute with floats and round the result as their operand is rounded.
const ROUNDS: &[&str] = &[
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "mean",
    "upsample_bilinear2d",
    "upsample_linear1d",
    "upsample_bicubic2d",
    "leaky_relu",
    "leaky_relu_",
    "hardswish",
    "hardswish_",
    "threshold",
];

impl Interpreter<'_, '_> {
    /// An operator on quantized tensors; None for other operators.
    pub(super) fn quantized_function(&mut self, call: &OperatorCall) -> Result<Option<Item>> {
        let (namespace, short) = call.name().split_once("::").unwrap_or(("", call.name()));
        match (namespace, short) {
            ("aten", "quantize_per_tensor" | "quantize_per_channel") => {
                let tensor = self.operand(call, 0)?;
                let (scale, zero_point) = (call.value(1).clone(), call.value(2).clone());
                let axis = match (short, call.value(3)) {
                    ("quantize_per_channel", Value::Int(axis)) => Some(*axis),
                    _ => None,
                };
                let dtype = match call.named("dtype").map(|item| &item.value) {
                    Some(Value::Int(number)) => dtype_of(*number)?,
                    _ => Dtype::Uint8,
                };
                self.quantized(&tensor, Quantized { dtype, scale, zero_point, axis, is_raw: false }).map(Some)
            }
            ("aten", "dequantize") if matches!(call.value(0), Value::Tensor(_)) => {
                Ok(Some(Item::tensor(self.operand(call, 0)?)))
            }
            ("aten", "int_repr") => match call.value(0) {
                Value::Tensor(tensor @ Tensor { quantized: Some(by), .. }) if by.is_raw => {
                    Ok(Some(Item::tensor(Tensor { quantized: None, ..tensor.clone() })))
                }
                Value::Tensor(tensor @ Tensor { quantized: Some(by), .. }) => {
                    let by = Rc::clone(by);
                    let (target, args) = self.rounding("quantize", &tensor.name, &by)?;
                    self.tensor_node(target, args).map(|tensor| Some(Item::tensor(tensor)))
                }
                _ => Ok(None),
            },
            ("aten", "quantized_lstm" | "quantized_gru") => self.dynamic_layers(call).map(Some),
            ("quantized", "make_quantized_cell_params_dynamic" | "make_quantized_cell_params_fp16") => {
                Ok(Some(Item::new(Value::Packed(self.cell_of(call)?), call.returns())))
            }
            ("quantized", _) => {
                if let Some(item) = self.dynamic_cell(short, call)? {
                    return Ok(Some(item));
                }
                match self.rescaled(short, call)? {
                    Some(item) => Ok(Some(item)),
                    None => self.of_namespace(short, call).map(Some),
                }
            }
            ("aten", _) => self.on_quantized(short, call),
            _ => Ok(None),
        }
    }

    /// A tensor argument as floats.
    pub(super) fn operand(&mut self, call: &OperatorCall, index: usize) -> Result<Tensor> {
        match call.value(index) {
            Value::Tensor(tensor) => self.plain(&tensor.clone()),
            other => Err(Error::unsupported(format!("`{}` is given {}", call.name(), other.kind()))),
        }
    }

    /// An operator of `aten` on quantized tensors.
    fn on_quantized(&mut self, short: &str, call: &OperatorCall) -> Result<Option<Item>> {
        let mut found = None;
        for item in call.args.iter().flatten() {
            let items = match &item.value {
                Value::Tensor(_) => vec![item.clone()],
                Value::List(_) if item.ty.element() == Type::Tensor => match self.elements(item) {
                    Ok(items) => items,
                    Err(_) => continue,
                },
                _ => continue,
            };
            for item in items {
                if let Value::Tensor(Tensor { quantized: Some(by), .. }) = item.value {
                    found = found.or(Some(by));
                }
            }
        }
        let Some(by) = found else { return Ok(None) };
        let fixed = super::rescaled::fixed(short, &by);
        if let Some(by) = fixed {
            let result = self.node_of(call)?;
            return match &result.value {
                Value::Tensor(tensor) => self.quantized(&tensor.clone(), by).map(Some),
                other => Err(Error::internal(format!("`{}` returns {}", call.name(), other.kind()))),
            };
        }
        if !MOVES.contains(&short) && !ROUNDS.contains(&short) {
            return Err(Error::unsupported(format!("`{}` on a quantized tensor is not supported", call.name())));
        }
        let by = match by.is_raw {
            true => Rc::new(Quantized { is_raw: false, ..(*by).clone() }),
            false => by,
        };
        let result = self.node_of(call)?;
        match (&result.value, ROUNDS.contains(&short)) {
            (Value::Tensor(tensor), true) => self.quantized(&tensor.clone(), (*by).clone()).map(Some),
            _ => self.marked(result, &by).map(Some),
        }
    }

    /// An operator of the namespace `quantized`.
    fn of_namespace(&mut self, short: &str, call: &OperatorCall) -> Result<Item> {
        let (kind, relu) = match short.strip_suffix("_relu") {
            Some(kind) => (kind, true),
            None => (short, false),
        };
        let count = call.args.len();
        let result = match kind {
            "conv1d" | "conv2d" | "conv3d" | "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => {
                let input = self.operand(call, 0)?;
                let packed = self.packed(call.value(1))?;
                self.convolution(kind, &input, &packed)?
            }
            "linear" => {
                let input = self.operand(call, 0)?;
                let packed = self.packed(call.value(1))?;
                self.linear(&input, &packed)?
            }
            "linear_dynamic" | "linear_relu_dynamic" => {
                let input = self.operand(call, 0)?;
                let packed = self.packed(call.value(1))?;
                let reduced = matches!(call.value(2), Value::Bool(true));
                let rounded = self.dynamically_rounded(&input, reduced)?;
                let result = self.linear(&rounded, &packed)?;
                return Ok(Item::tensor(if short.contains("relu") { self.relu(&result)? } else { result }));
            }
            "linear_dynamic_fp16" => {
                let input = self.operand(call, 0)?;
                let packed = self.packed(call.value(1))?;
                return self.linear(&input, &packed).map(Item::tensor);
            }
            "add" | "mul" | "matmul" if matches!(call.value(1), Value::Tensor(_)) => {
                let (a, b) = (self.operand(call, 0)?, self.operand(call, 1)?);
                let target = match kind {
                    "add" => "aten::add.Tensor",
                    "mul" => "aten::mul.Tensor",
                    _ => "aten::matmul",
                };
                self.tensor_node(target, vec![("self", name(&a)), ("other", name(&b))])?
            }
            "cat" => {
                let mut names = Vec::new();
                for item in self.elements(call.item(0)?)? {
                    if let Value::Tensor(tensor) = &item.value {
                        names.push(Some(self.plain(tensor)?.name.to_string()));
                    }
                }
                let dim = self.recorder.number(call.value(1))?;
                self.tensor_node("aten::cat", vec![("tensors", Arg::Tensors(names)), ("dim", dim)])?
            }
            "batch_norm" | "batch_norm1d" | "batch_norm2d" | "batch_norm3d" => {
                let input = self.operand(call, 0)?;
                let mut args = vec![("input", name(&input))];
                for (index, arg) in ["weight", "bias", "running_mean", "running_var"].into_iter().enumerate() {
                    args.push((
                        arg,
                        match call.value(index + 1) {
                            Value::Tensor(tensor) => name(&self.plain(&tensor.clone())?),
                            _ => Arg::None,
                        },
                    ));
                }
                let eps = self.recorder.number(call.value(5))?;
                args.extend([
                    ("training", Arg::Bool(false)),
                    ("momentum", Arg::Float(0.0)),
                    ("eps", eps),
                    ("cudnn_enabled", Arg::Bool(false)),
                ]);
                self.tensor_node("aten::batch_norm", args)?
            }
            "conv1d_prepack"
            | "conv2d_prepack"
            | "conv3d_prepack"
            | "conv_transpose1d_prepack"
            | "conv_transpose2d_prepack"
            | "conv_transpose3d_prepack" => return self.prepacked(kind, call),
            "linear_prepack" | "linear_prepack_fp16" => {
                let (Value::Tensor(weight), bias) = (call.value(0), tensor(call.value(1))) else {
                    return Err(Error::unsupported("packed weights are no tensor"));
                };
                return Ok(Item::new(Value::Packed(Rc::new(Packed::of(weight.clone(), bias))), call.returns()));
            }
            "conv1d_unpack" | "conv2d_unpack" | "conv3d_unpack" | "linear_unpack" | "linear_unpack_fp16" => {
                let packed = self.packed(call.value(0))?;
                let bias = packed.bias.clone().map_or_else(Item::none, Item::tensor);
                return Ok(Item::tuple(vec![Item::tensor(packed.weight.clone()), bias]));
            }
            _ => return Err(Error::unsupported(format!("`{}` is not supported", call.name()))),
        };
        let result = if relu { self.relu(&result)? } else { result };
        self.requantized(&result, call.value(count.saturating_sub(2)), call.value(count.saturating_sub(1)))
    }

    pub(super) fn relu(&mut self, tensor: &Tensor) -> Result<Tensor> {
        self.tensor_node("aten::relu", vec![("self", name(tensor))])
    }
}

fn name(tensor: &Tensor) -> Arg {
    Arg::Tensor(tensor.name.to_string())
}

fn tensor(value: &Value) -> Option<Tensor> {
    match value {
        Value::Tensor(tensor) => Some(tensor.clone()),
        _ => None,
    }
}
