//! Weights that become inputs, and inputs that become weights.

use super::super::places::no_such;
use super::super::types::tensor_type;
use super::super::types::weight_type;
use aten2onnx_builder::{encode_float, encode_int};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{TensorProto, ValueInfoProto, tensor_shape_proto::dimension::Value as Dim, type_proto};

/// The most elements of a weight that are written from one number.
const MOST: i64 = 1 << 24;

/// Makes weights inputs, in the order in which they are given.
pub fn to_inputs(model: &mut Model, weights: &[String], keep_defaults: bool) -> Result<()> {
    for name in weights {
        let Some(graph) = &mut model.proto.graph else { continue };
        let inside = graph.initializer.iter().find(|tensor| tensor.name() == name);
        let outside = model.weights.iter().find(|weight| weight.name == *name);
        let ty = match (inside, outside) {
            (Some(tensor), _) => tensor_type(tensor.data_type(), &tensor.dims),
            (None, Some(weight)) => weight_type(weight)?,
            (None, None) => {
                let known = graph.initializer.iter().map(|tensor| tensor.name());
                return Err(no_such(
                    "weight",
                    name,
                    known.chain(model.weights.iter().map(|w| w.name.as_str())).take(20),
                ));
            }
        };
        if graph.output.iter().any(|output| output.name() == name) {
            return Err(Error::unsupported(format!("the weight `{name}` is an output of the model"))
                .help("drop that output first: `--drop-output`"));
        }
        if !graph.input.iter().any(|input| input.name() == name) {
            graph.input.push(ValueInfoProto {
                name: Some(name.clone()),
                r#type: Some(ty),
                ..ValueInfoProto::default()
            });
        }
        if !keep_defaults {
            graph.initializer.retain(|tensor| tensor.name() != name);
            model.weights.retain(|weight| weight.name != *name);
        }
    }
    Ok(())
}

/// Makes inputs weights: of the given elements, or of their defaults.
pub fn to_weights(model: &mut Model, inputs: &[(String, Option<Vec<f64>>)]) -> Result<()> {
    for (name, elements) in inputs {
        let Some(graph) = &mut model.proto.graph else { continue };
        let Some(at) = graph.input.iter().position(|input| input.name() == name) else {
            return Err(no_such("input", name, graph.input.iter().map(|input| input.name())));
        };
        let has_default = graph.initializer.iter().any(|tensor| tensor.name() == name)
            || model.weights.iter().any(|weight| weight.name == *name);
        let placed = |error: Error| error.at(format!("input `{name}`"));
        match elements {
            Some(elements) => {
                let made =
                    graph.input.get(at).map_or_else(|| Ok(TensorProto::default()), |input| tensor_of(input, elements));
                graph.initializer.retain(|tensor| tensor.name() != name);
                model.weights.retain(|weight| weight.name != *name);
                graph.initializer.push(made.map_err(placed)?);
            }
            None if !has_default => {
                return Err(placed(Error::unsupported("it has no default"))
                    .help(format!("give its elements: `--to-weight {name}=1` or `--to-weight {name}=1,2,3`")));
            }
            None => {}
        }
        graph.input.remove(at);
    }
    Ok(())
}

/// A weight of the type of an input: of as many numbers, or of one number everywhere.
fn tensor_of(input: &ValueInfoProto, elements: &[f64]) -> Result<TensorProto> {
    let ty = input.r#type.as_ref().and_then(|ty| ty.value.as_ref());
    let Some(type_proto::Value::TensorType(tensor)) = ty else {
        return Err(Error::unsupported("it is not a tensor").help("only tensors can be weights"));
    };
    let dims = tensor.shape.iter().flat_map(|shape| &shape.dim);
    let dims: Option<Vec<i64>> = dims
        .map(|dim| match dim.value {
            Some(Dim::DimValue(size)) if size >= 0 => Some(size),
            _ => None,
        })
        .collect();
    let dims = dims.filter(|_| tensor.shape.is_some()).ok_or_else(|| {
        Error::unsupported("its sizes are not all known").help("make them numbers first: `--dim batch=1`")
    })?;
    let count = dims.iter().try_fold(1i64, |count, size| count.checked_mul(*size)).filter(|count| *count <= MOST);
    let count = count
        .ok_or_else(|| Error::unsupported("it has too many elements").help(format!("at most {MOST} are written")))?;
    let repeated = match elements {
        [one] => vec![*one; count as usize],
        many => many.to_vec(),
    };
    if repeated.len() as i64 != count {
        return Err(Error::unsupported(format!("it has {count} elements, but {} are given", repeated.len()))
            .help("give all of them, or one for all"));
    }
    let dtype = Dtype::from_onnx(tensor.elem_type()).unwrap_or(Dtype::Undefined);
    let bytes = repeated.iter().map(|number| bytes_of(dtype, *number)).collect::<Result<Vec<_>>>()?.concat();
    Ok(TensorProto {
        name: input.name.clone(),
        dims,
        data_type: tensor.elem_type,
        raw_data: Some(bytes.into()),
        ..TensorProto::default()
    })
}

/// A number as an element; integers have to be exact.
fn bytes_of(dtype: Dtype, number: f64) -> Result<Vec<u8>> {
    let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
    let bytes = match dtype {
        Dtype::Bool => (number == 0.0 || number == 1.0).then(|| vec![number as u8]),
        dtype if dtype.is_int() && dtype.bits() >= 8 => is_whole.then(|| encode_int(number as i64, dtype)).flatten(),
        dtype if dtype.is_float() && dtype.bits() >= 8 => encode_float(number, dtype),
        _ => {
            return Err(Error::unsupported(format!("elements of {dtype} cannot be given"))
                .help("give the input another dtype in a run before: `--input-type`"));
        }
    };
    bytes.ok_or_else(|| {
        Error::unsupported(format!("{number} is no {dtype}")).help("give numbers that the dtype of the input has")
    })
}
