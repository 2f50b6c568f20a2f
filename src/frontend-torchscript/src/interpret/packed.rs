//! Layers with packed weights: linear layers and convolutions of quantized modules.

use std::rc::Rc;

use super::Interpreter;
use super::operators::OperatorCall;
use crate::values::{Item, Packed, Tensor, Value};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::{Arg, IntArg};

impl Interpreter<'_, '_> {
    pub(super) fn packed(&self, value: &Value) -> Result<Rc<Packed>> {
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

    pub(super) fn convolution(&mut self, kind: &str, input: &Tensor, packed: &Packed) -> Result<Tensor> {
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

    pub(super) fn prepacked(&mut self, kind: &str, call: &OperatorCall) -> Result<Item> {
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
