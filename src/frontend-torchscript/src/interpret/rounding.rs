//! Quantized tensors: floats that are rounded to what the integers of a quantized tensor stand for, and kept as these floats.

use std::rc::Rc;

use super::Interpreter;
use crate::types::Type;
use crate::values::{Item, Quantized, Tensor, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::Arg;

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
    pub(super) fn rounding(
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

    /// The same values as elements of quantized tensors; indices among the results stay as they are.
    pub(super) fn marked(&mut self, result: Item, by: &Rc<Quantized>) -> Result<Item> {
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

pub(super) fn bounds(dtype: Dtype) -> (i64, i64) {
    match dtype {
        Dtype::Int8 => (-128, 127),
        Dtype::Uint8 => (0, 255),
        _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
    }
}
