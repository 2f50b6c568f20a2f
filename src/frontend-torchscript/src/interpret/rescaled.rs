//! Quantized operators that compute with floats and round the result with a scale of their own: given, fixed by the operator,
//! or computed from a number.

use std::rc::Rc;

use super::Interpreter;
use super::operators::OperatorCall;
use crate::values::{Item, Quantized, Tensor, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::Arg;

/// Operators of the namespace `quantized`, and the operator on floats with the parameters of the same names.
const GIVEN: &[(&str, &str)] = &[
    ("sigmoid", "aten::sigmoid"),
    ("hardswish", "aten::hardswish"),
    ("leaky_relu", "aten::leaky_relu"),
    ("elu", "aten::elu"),
    ("celu", "aten::celu"),
    ("prelu", "aten::prelu"),
    ("softmax", "aten::softmax.int"),
    ("layer_norm", "aten::layer_norm"),
    ("group_norm", "aten::group_norm"),
    ("instance_norm", "aten::instance_norm"),
    ("dropout", "aten::alias"),
];

/// The same for those that round as their operand is rounded.
const KEPT: &[(&str, &str)] = &[
    ("max_pool1d", "aten::max_pool1d"),
    ("max_pool2d", "aten::max_pool2d"),
    ("relu6", "aten::relu6"),
    ("clamp", "aten::clamp"),
    ("threshold", "aten::threshold"),
];

/// Parameters that say how to round the result, or that mean nothing.
const NO_OPERANDS: &[&str] = &["output_scale", "output_zero_point", "inplace", "p", "training"];

/// The rounding of the results of operators that have a fixed range.
pub(super) fn fixed(short: &str, by: &Quantized) -> Option<Quantized> {
    let bits = match by.dtype {
        Dtype::Int8 | Dtype::Uint8 => 8,
        _ => 32,
    };
    let unit = 0.5_f64.powi(bits);
    let (scale, zero_point) = match (short.trim_end_matches('_'), by.dtype) {
        ("sigmoid" | "hardsigmoid", Dtype::Int8) => (unit, -128),
        ("sigmoid" | "hardsigmoid", _) => (unit, 0),
        ("tanh", Dtype::Uint8) => (2.0 * unit, 128),
        ("tanh", _) => (2.0 * unit, 0),
        _ => return None,
    };
    let (scale, zero_point) = (Value::Float(scale), Value::Int(zero_point));
    Some(Quantized { dtype: by.dtype, scale, zero_point, axis: None, is_raw: false })
}

impl Interpreter<'_, '_> {
    /// An operator of the namespace `quantized` that rounds in one of these ways; None for others.
    pub(super) fn rescaled(&mut self, short: &str, call: &OperatorCall) -> Result<Option<Item>> {
        if let Some((_, target)) = GIVEN.iter().find(|(name, _)| *name == short) {
            return self.given_rounding(short, target, call).map(Some);
        }
        if let (Some((_, target)), Value::Tensor(Tensor { quantized: Some(by), .. })) =
            (KEPT.iter().find(|(name, _)| *name == short), call.value(0))
        {
            let by = Quantized { is_raw: false, ..(**by).clone() };
            let result = self.on_floats(short, target, call)?;
            return self.quantized(&result, by).map(Some);
        }
        let (kind, relu) = match short.strip_suffix("_relu") {
            Some(kind) => (kind, true),
            None => (short, false),
        };
        let kind = kind.trim_end_matches("_scalar");
        let overload = call.found.schema.overload.as_str();
        if !matches!(kind, "add" | "mul") || !(short.contains("_scalar") || overload.starts_with("Scalar")) {
            return Ok(None);
        }
        let (tensor, number) = match (call.value(0), call.value(1)) {
            (Value::Tensor(tensor), number) if overload != "Scalar2" => (tensor.clone(), number.clone()),
            (number, Value::Tensor(tensor)) => (tensor.clone(), number.clone()),
            _ => return Ok(None),
        };
        let number = self.known_number(&number)?;
        let item = self.with_number(kind, &tensor, number)?;
        match (&item.value, relu) {
            (Value::Tensor(tensor), true) => {
                let floats = self.tensor_node("aten::relu", vec![("self", Arg::Tensor(tensor.name.to_string()))])?;
                Ok(Some(Item::tensor(Tensor { quantized: tensor.quantized.clone(), ..floats })))
            }
            _ => Ok(Some(item)),
        }
    }

    /// The operator on floats, rounded as arguments say.
    fn given_rounding(&mut self, short: &str, target: &str, call: &OperatorCall) -> Result<Item> {
        let result = self.on_floats(short, target, call)?;
        let value = |name: &str| call.named(name).map_or(Value::None, |item| item.value.clone());
        self.requantized(&result, &value("output_scale"), &value("output_zero_point"))
    }

    fn on_floats(&mut self, short: &str, target: &str, call: &OperatorCall) -> Result<Tensor> {
        let schema = Rc::clone(&call.found.schema);
        let mut args = Vec::new();
        for (index, (param, item)) in schema.params.iter().zip(&call.args).enumerate() {
            let Some(item) = item.as_ref().filter(|_| !NO_OPERANDS.contains(&param.name.as_str())) else { continue };
            let name = match (index, short) {
                (0, "layer_norm" | "group_norm" | "instance_norm") => "input",
                (0, _) => "self",
                _ => param.name.as_str(),
            };
            let arg = self.argument(param, item).map_err(|error| error.at(format!("`{}`", call.name())))?;
            args.push((name, arg));
        }
        if short == "instance_norm" {
            let defaults =
                [("running_mean", Arg::None), ("running_var", Arg::None), ("use_input_stats", Arg::Bool(true))];
            args.extend(defaults);
            args.extend([("momentum", Arg::Float(0.0)), ("cudnn_enabled", Arg::Bool(false))]);
        }
        self.tensor_node(target, args)
    }

    fn known_number(&mut self, value: &Value) -> Result<f64> {
        let value = match value {
            Value::Tensor(tensor) => self.number_of(&tensor.clone())?,
            other => other.clone(),
        };
        match value {
            Value::Int(number) => Ok(number as f64),
            Value::Float(number) => Ok(number),
            _ => Err(Error::unsupported(
                "a number that depends on data is added to or multiplied with a quantized tensor",
            )),
        }
    }

    /// `x + number` or `x * number`: the integers stay as they are where they can.
    fn with_number(&mut self, kind: &str, tensor: &Tensor, number: f64) -> Result<Item> {
        let Some(by) = tensor.quantized.clone() else {
            return Err(Error::unsupported("a quantized operator is given floats"));
        };
        let (scale, zero) = (self.known_number(&by.scale)?, self.known_number(&by.zero_point)?);
        let (low, high) = super::rounding::bounds(by.dtype);
        let (low, high) = (low as f64, high as f64);
        let floats = self.plain(tensor)?;
        let (target, operand, exact, new_scale, new_zero) = match kind {
            "mul" if number > 0.0 => ("aten::mul.Scalar", number, true, scale * number, zero),
            "mul" if number < 0.0 => ("aten::mul.Scalar", number, true, scale * -number, low + high - zero),
            "mul" => ("aten::mul.Scalar", 0.0, true, 1.0, 0.0),
            _ => {
                let steps = (number / scale).round_ties_even();
                let moved = zero - steps;
                let (exact, new_scale, new_zero) = if moved < low {
                    (false, (high - moved) / (high - low) * scale, low)
                } else if moved > high {
                    (false, (moved - low) / (high - low) * scale, high)
                } else {
                    (true, scale, moved)
                };
                ("aten::add.Scalar", steps * scale, exact, new_scale, new_zero)
            }
        };
        let args = vec![("self", Arg::Tensor(floats.name.to_string())), ("other", Arg::Float(operand))];
        let result = self.tensor_node(target, args)?;
        let (scale, zero_point) = (Value::Float(new_scale), Value::Int(new_zero as i64));
        let by = Quantized { dtype: by.dtype, scale, zero_point, axis: None, is_raw: false };
        match exact {
            true => Ok(Item::tensor(Tensor { quantized: Some(Rc::new(by)), ..result })),
            false => self.quantized(&result, by),
        }
    }
}
