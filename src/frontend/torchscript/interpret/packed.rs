//! Quantized operators as their definition: dequantize the operands, compute with floats, quantize the result. A quantized
//! tensor is kept as the floats that its integers stand for.

use std::rc::Rc;

use super::Interpreter;
use super::nodes::dtype_of;
use super::operators::Call;
use crate::frontend::torchscript::types::Type;
use crate::frontend::torchscript::values::{Item, Packed, Quantized, Tensor, Value};
use crate::program::{Arg, IntArg};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};

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
    /// A tensor as floats, if it is quantized.
    pub(super) fn plain(&mut self, tensor: &Tensor) -> Result<Tensor> {
        let Some(quantized) = &tensor.quantized else {
            self.recorder.meta(tensor)?;
            return Ok(tensor.clone());
        };
        if !quantized.is_raw {
            return Ok(Tensor { quantized: None, ..tensor.clone() });
        }
        self.recorder.meta(tensor)?;
        self.dequantized(&tensor.name, &Rc::clone(quantized))
    }

    /// Converts integers to the floats that they stand for.
    fn dequantized(&mut self, integers: &str, by: &Quantized) -> Result<Tensor> {
        let (target, args) = self.rounding("dequantize", integers, by)?;
        self.tensor_node(target, args)
    }

    /// The operator that quantizes or dequantizes, and its arguments.
    fn rounding(
        &mut self,
        what: &str,
        input: &str,
        by: &Quantized,
    ) -> Result<(&'static str, Vec<(&'static str, Arg)>)> {
        let is_forward = what == "quantize";
        let mut args = vec![("input", Arg::Tensor(input.to_owned()))];
        let target = match by.axis {
            Some(axis) => {
                let (scales, zeros) = (self.parameter(&by.scale)?, self.parameter(&by.zero_point)?);
                args.push(("scales", scales));
                args.push(("zero_points", zeros));
                args.push(("axis", Arg::Int(axis)));
                match is_forward {
                    true => "quantized_decomposed::quantize_per_channel",
                    false => "quantized_decomposed::dequantize_per_channel",
                }
            }
            None => {
                let (scale, zero) = (self.numeric(&by.scale)?, self.numeric(&by.zero_point)?);
                let (scale, zero) = (self.recorder.number(&scale)?, self.recorder.number(&zero)?);
                if matches!(scale, Arg::Sym(_)) || matches!(zero, Arg::Sym(_)) {
                    return Err(Error::unsupported("the scale of a quantized tensor depends on data"));
                }
                args.push(("scale", scale));
                args.push(("zero_point", zero));
                match is_forward {
                    true => "quantized_decomposed::quantize_per_tensor",
                    false => "quantized_decomposed::dequantize_per_tensor",
                }
            }
        };
        let (low, high) = bounds(by.dtype);
        args.push(("quant_min", Arg::Int(low)));
        args.push(("quant_max", Arg::Int(high)));
        args.push(("dtype", Arg::Dtype(by.dtype)));
        Ok((target, args))
    }

    /// The parameters of channels.
    fn parameter(&mut self, value: &Value) -> Result<Arg> {
        match value {
            Value::Tensor(tensor) => {
                let tensor = self.plain(&tensor.clone())?;
                let is_double = self.dtype(&tensor)? == Dtype::Float64;
                let name = Arg::Tensor(tensor.name.to_string());
                match is_double {
                    true => {
                        let args = vec![("self", name), ("dtype", Arg::Dtype(Dtype::Float32))];
                        Ok(Arg::Tensor(self.tensor_node("aten::to.dtype", args)?.name.to_string()))
                    }
                    false => Ok(name),
                }
            }
            other => Err(Error::unsupported(format!("the scales of channels are {}", other.kind()))),
        }
    }

    /// Rounds floats to what a quantized tensor can hold.
    pub(super) fn quantized(&mut self, tensor: &Tensor, by: Quantized) -> Result<Item> {
        let (target, args) = self.rounding("quantize", &tensor.name, &by)?;
        let integers = self.tensor_node(target, args)?;
        let floats = self.dequantized(&integers.name, &by)?;
        let by = Quantized { is_raw: false, ..by };
        Ok(Item::tensor(Tensor { quantized: Some(Rc::new(by)), ..floats }))
    }

    /// The same with the given scale and zero point.
    pub(super) fn requantized(&mut self, tensor: &Tensor, scale: &Value, zero_point: &Value) -> Result<Item> {
        let by = Quantized {
            dtype: Dtype::Uint8,
            scale: scale.clone(),
            zero_point: zero_point.clone(),
            axis: None,
            is_raw: false,
        };
        self.quantized(tensor, by)
    }

    /// An operator on quantized tensors; None for other operators.
    pub(super) fn quantized_function(&mut self, call: &Call) -> Result<Option<Item>> {
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
    pub(super) fn operand(&mut self, call: &Call, index: usize) -> Result<Tensor> {
        match call.value(index) {
            Value::Tensor(tensor) => self.plain(&tensor.clone()),
            other => Err(Error::unsupported(format!("`{}` is given {}", call.name(), other.kind()))),
        }
    }

    /// An operator of `aten` on quantized tensors.
    fn on_quantized(&mut self, short: &str, call: &Call) -> Result<Option<Item>> {
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

    /// The same values as elements of quantized tensors; indices among the results stay as they are.
    fn marked(&mut self, result: Item, by: &Rc<Quantized>) -> Result<Item> {
        let items = match &result.value {
            Value::Tensor(tensor) if self.dtype(tensor)?.is_float() => {
                let quantized = Some(Rc::clone(by));
                return Ok(Item::tensor(Tensor { quantized, ..tensor.clone() }));
            }
            Value::List(_) | Value::Tuple(_) => self.elements(&result)?,
            _ => return Ok(result),
        };
        let items = items.into_iter().map(|item| self.marked(item, by)).collect::<Result<Vec<Item>>>()?;
        match &result.value {
            Value::List(_) => self.list_of(Type::Tensor, items),
            _ => Ok(Item::tuple(items)),
        }
    }

    /// An operator of the namespace `quantized`.
    fn of_namespace(&mut self, short: &str, call: &Call) -> Result<Item> {
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

    fn relu(&mut self, tensor: &Tensor) -> Result<Tensor> {
        self.tensor_node("aten::relu", vec![("self", name(tensor))])
    }

    fn packed(&self, value: &Value) -> Result<Rc<Packed>> {
        match value {
            Value::Packed(packed) => Ok(Rc::clone(packed)),
            other => Err(Error::unsupported(format!("packed weights are {}", other.kind()))),
        }
    }

    pub(super) fn linear(&mut self, input: &Tensor, packed: &Packed) -> Result<Tensor> {
        let weight = self.plain(&packed.weight)?;
        let mut args = vec![("input", name(input)), ("weight", name(&weight))];
        if let Some(bias) = &packed.bias {
            args.push(("bias", name(&self.plain(bias)?)));
        }
        self.tensor_node("aten::linear", args)
    }

    fn convolution(&mut self, kind: &str, input: &Tensor, packed: &Packed) -> Result<Tensor> {
        let (geometry, groups, transposed) = self.geometry(packed)?;
        let weight = self.plain(&packed.weight)?;
        let mut args = vec![("input", name(input)), ("weight", name(&weight))];
        if let Some(bias) = &packed.bias {
            args.push(("bias", name(&self.plain(bias)?)));
        }
        let [stride, padding, dilation, output_padding] = geometry.as_slice() else {
            return Err(Error::unsupported("the packed weights of a convolution lack its strides"));
        };
        let ints = |numbers: &[i64]| Arg::Ints(numbers.iter().map(|number| IntArg::Known(*number)).collect());
        args.push(("stride", ints(stride)));
        args.push(("padding", ints(padding)));
        args.push(("dilation", ints(dilation)));
        args.push(("groups", Arg::Int(groups)));
        if transposed {
            args.push(("output_padding", ints(output_padding)));
            let target = format!("aten::conv_transpose{}d.input", stride.len());
            let target = if stride.len() == 1 { "aten::conv_transpose1d".to_owned() } else { target };
            return self.tensor_node(&target, args);
        }
        let dims = kind.chars().find(char::is_ascii_digit).unwrap_or('2');
        self.tensor_node(&format!("aten::conv{dims}d"), args)
    }

    /// Stride, padding, dilation and output padding, the number of groups, and whether it is transposed.
    fn geometry(&mut self, packed: &Packed) -> Result<(Vec<Vec<i64>>, i64, bool)> {
        let Some(config) = &packed.config else {
            return Ok((packed.geometry.clone(), packed.groups, packed.transposed));
        };
        self.recorder.meta(config)?;
        let damaged = || Error::unsupported("the packed weights of a convolution are damaged");
        let numbers = self.recorder.scratch.content(&config.name).ok_or_else(damaged)?;
        let numbers: Option<Vec<i64>> = numbers.iter().map(aten2onnx_core::sym::SymInt::known).collect();
        let numbers = numbers.ok_or_else(damaged)?;
        let (dims, rest) = numbers.split_first().ok_or_else(damaged)?;
        let dims = usize::try_from(*dims).ok().filter(|dims| (1..=3).contains(dims)).ok_or_else(damaged)?;
        let geometry: Vec<Vec<i64>> = rest.chunks(dims).take(4).map(<[i64]>::to_vec).collect();
        let [groups, flags] = rest.get(dims * 4..).unwrap_or_default() else { return Err(damaged()) };
        Ok((geometry, *groups, flags & 1 != 0))
    }

    fn prepacked(&mut self, kind: &str, call: &Call) -> Result<Item> {
        let (Value::Tensor(weight), bias) = (call.value(0), tensor(call.value(1))) else {
            return Err(Error::unsupported("packed weights are no tensor"));
        };
        let (weight, transposed) = (weight.clone(), kind.contains("transpose"));
        let mut geometry = Vec::new();
        for name in ["stride", "padding", "dilation", "output_padding"] {
            let numbers = match call.named(name) {
                Some(item) => {
                    let items = self.elements(item)?;
                    items.iter().filter_map(|item| item.value.as_size()?.known()).collect()
                }
                None => vec![0; 3],
            };
            geometry.push(numbers);
        }
        let groups = match call.named("groups").map(|item| &item.value) {
            Some(Value::Int(groups)) => *groups,
            _ => 1,
        };
        let packed = Packed { geometry, groups, transposed, ..Packed::of(weight, bias) };
        Ok(Item::new(Value::Packed(Rc::new(packed)), call.returns()))
    }

    /// A method of packed weights.
    pub(super) fn packed_method(&mut self, packed: &Rc<Packed>, method: &str) -> Result<Item> {
        match method {
            "unpack" => {
                let bias = packed.bias.clone().map_or_else(Item::none, Item::tensor);
                Ok(Item::tuple(vec![Item::tensor(packed.weight.clone()), bias]))
            }
            _ => Err(Error::unsupported(format!("packed weights have no method `{method}`"))),
        }
    }

    /// Rounds a tensor to 8 bits with the scale of its own range, as dynamic quantization does.
    pub(super) fn dynamically_rounded(&mut self, tensor: &Tensor, reduced: bool) -> Result<Tensor> {
        let high = if reduced { 127 } else { 255 };
        let limits = || vec![("quant_min", Arg::Int(0)), ("quant_max", Arg::Int(high))];
        let mut args = vec![("input", name(tensor))];
        args.extend(limits());
        // torch's kernels have the least scale of a float of 24 bits.
        args.extend([("eps", Arg::Float(f64::from(f32::EPSILON))), ("dtype", Arg::Dtype(Dtype::Uint8))]);
        let args = args.into_iter().map(|(name, arg)| (name.to_owned(), arg)).collect();
        let found = self.emit("quantized_decomposed::choose_qparams.tensor", args, &[Type::Tensor, Type::Tensor])?;
        let found = self.unpacked(&found, 2)?;
        let [Item { value: Value::Tensor(scale), .. }, Item { value: Value::Tensor(zero), .. }] = found.as_slice()
        else {
            return Err(Error::internal("expected a scale and a zero point"));
        };
        let by = |input: &Tensor| {
            let mut args = vec![("input", name(input)), ("scale", name(scale)), ("zero_point", name(zero))];
            args.extend(limits());
            args.push(("dtype", Arg::Dtype(Dtype::Uint8)));
            args
        };
        let integers = self.tensor_node("quantized_decomposed::quantize_per_tensor.tensor", by(tensor))?;
        self.tensor_node("quantized_decomposed::dequantize_per_tensor.tensor", by(&integers))
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

pub(super) fn bounds(dtype: Dtype) -> (i64, i64) {
    match dtype {
        Dtype::Int8 => (-128, 127),
        Dtype::Uint8 => (0, 255),
        _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
    }
}
