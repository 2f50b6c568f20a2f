//! The states of C++ objects that hold packed weights of quantized operators.

use std::rc::Rc;

use super::code::readable;
use super::values::{CellData, Heap, Item, Packed, Rounding, Tensor, Value};
use aten2onnx_core::error::{Error, Result};

/// The packed weights that a state describes.
pub fn packed(class: &str, state: &Item, heap: &Heap) -> Result<Value> {
    let short = class.rsplit('.').next().unwrap_or_default();
    let damaged =
        || Error::unsupported(format!("an object of the class `{}` was saved in an unknown form", readable(class)));
    let items = list(state, heap).ok_or_else(damaged)?;
    let found = match short {
        "Conv1dPackedParamsBase" | "Conv2dPackedParamsBase" | "Conv3dPackedParamsBase" => convolution(&items, heap),
        "LinearPackedParamsBase" => linear(&items),
        "CellParamsBase" => cell(&items, heap),
        _ => {
            let message = format!("an object of the C++ class `{}` has no meaning here", readable(class));
            return Err(Error::unsupported(message));
        }
    };
    found.map(|packed| Value::Packed(Rc::new(packed))).ok_or_else(damaged)
}

fn list(item: &Item, heap: &Heap) -> Option<Vec<Item>> {
    match &item.value {
        Value::Tuple(tuple) => Some(tuple.items.clone()),
        Value::List(cell) => match heap.get(*cell).map(|data| &**data) {
            Some(CellData::List(items)) => Some(items.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn tensor(item: &Item) -> Option<Tensor> {
    match &item.value {
        Value::Tensor(tensor) => Some(tensor.clone()),
        _ => None,
    }
}

/// `("2", [config, weight], [bias])`; the numbers of the configuration are read when the object is used.
fn convolution(items: &[Item], heap: &Heap) -> Option<Packed> {
    let [version, tensors, optional] = items else { return None };
    if !matches!(&version.value, Value::Str(version) if &**version == "2") {
        return None;
    }
    let tensors = list(tensors, heap)?;
    let [config, weight] = tensors.as_slice() else { return None };
    let bias = list(optional, heap)?.first().and_then(tensor);
    Some(Packed { config: tensor(config), ..Packed::of(tensor(weight)?, bias) })
}

fn linear(items: &[Item]) -> Option<Packed> {
    let [weight, bias] = items else { return None };
    Some(Packed::of(tensor(weight)?, tensor(bias)))
}

/// `("quantized_dynamic" or "quantized_fp16", tensors, doubles, ints, packed linears)`; the tensors are the biases, the int
/// says whether operands are rounded to 7 bits.
fn cell(items: &[Item], heap: &Heap) -> Option<Packed> {
    let [kind, tensors, _, ints, linears] = items else { return None };
    let rounding = match &kind.value {
        Value::Str(kind) if &**kind == "quantized_fp16" => Rounding::None,
        Value::Str(kind) if &**kind == "quantized_dynamic" => match list(ints, heap)?.first().map(|item| &item.value) {
            Some(Value::Int(0)) => Rounding::Full,
            _ => Rounding::Reduced,
        },
        _ => return None,
    };
    let biases: Vec<Tensor> = list(tensors, heap)?.iter().filter_map(tensor).collect();
    let mut parts = Vec::new();
    for (index, linear) in list(linears, heap)?.iter().enumerate() {
        let Value::Packed(packed) = &linear.value else { return None };
        // torch computes with the bias that is packed with the weight.
        let bias = packed.bias.clone().or_else(|| biases.get(index).cloned());
        parts.push(Rc::new(Packed::of(packed.weight.clone(), bias)));
    }
    let first = parts.first()?;
    Some(Packed { rounding, ..Packed::of(first.weight.clone(), None) }.with_parts(parts))
}
