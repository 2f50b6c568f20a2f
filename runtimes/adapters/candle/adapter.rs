//! Candle, which evaluates the nodes of an ONNX model one after the other.

mod serve;

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor as Value};
use candle_onnx::onnx::ModelProto;
use candle_onnx::onnx::type_proto::Value::TensorType;
use serve::{Runtime, Tensor, bytes};

/// ONNX's number of the dtype.
const BOOL: i32 = 9;

struct Candle;

impl Runtime for Candle {
    type Model = ModelProto;
    const VERSION: &'static str = env!("RUNTIME_VERSION");

    fn load(path: &str) -> Result<ModelProto, String> {
        candle_onnx::read_file(path).map_err(|error| error.to_string())
    }

    fn run(model: &ModelProto, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
        let given: Result<HashMap<_, _>, String> = inputs.iter().map(|tensor| Ok((tensor.name.clone(), value(tensor)?))).collect();
        let mut found = candle_onnx::simple_eval(model, given?).map_err(|error| error.to_string())?;
        let outputs = model.graph.as_ref().map(|graph| graph.output.as_slice()).unwrap_or_default();
        let mut tensors = Vec::new();
        for output in outputs {
            let value = found.remove(&output.name).ok_or_else(|| format!("no output `{}`", output.name))?;
            let is_bool = matches!(output.r#type.as_ref().and_then(|found| found.value.as_ref()), Some(TensorType(found)) if found.elem_type == BOOL);
            tensors.push(tensor(&value, is_bool).map_err(|error| error.to_string())?);
        }
        Ok(tensors)
    }
}

/// The value of an input. A bool is a uint8.
fn value(tensor: &Tensor) -> Result<Value, String> {
    let dtype = match tensor.dtype.as_str() {
        "float32" => DType::F32,
        "float64" => DType::F64,
        "float16" => DType::F16,
        "int64" => DType::I64,
        "int32" => DType::I32,
        "uint8" | "bool" => DType::U8,
        "uint32" => DType::U32,
        other => return Err(format!("no input of {other}")),
    };
    Value::from_raw_buffer(&tensor.data, dtype, &tensor.shape, &Device::Cpu).map_err(|error| error.to_string())
}

fn tensor(value: &Value, is_bool: bool) -> candle_core::Result<Tensor> {
    let flat = value.flatten_all()?;
    let (dtype, data) = match value.dtype() {
        DType::F32 => ("float32", bytes(flat.to_vec1::<f32>()?)),
        DType::F64 => ("float64", bytes(flat.to_vec1::<f64>()?)),
        DType::F16 => ("float16", bytes(flat.to_vec1::<half::f16>()?.into_iter().map(half::f16::to_bits))),
        DType::I64 => ("int64", bytes(flat.to_vec1::<i64>()?)),
        DType::I32 => ("int32", bytes(flat.to_vec1::<i32>()?)),
        DType::U32 => ("uint32", bytes(flat.to_vec1::<u32>()?)),
        DType::U8 if is_bool => ("bool", flat.to_vec1::<u8>()?.into_iter().map(|byte| u8::from(byte != 0)).collect()),
        DType::U8 => ("uint8", flat.to_vec1::<u8>()?),
        other => candle_core::bail!("an output of {other:?}"),
    };
    Ok(Tensor { name: String::new(), dtype: dtype.to_owned(), shape: value.dims().to_vec(), data })
}

fn main() {
    serve::serve::<Candle>();
}
