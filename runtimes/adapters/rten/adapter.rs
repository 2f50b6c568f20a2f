//! RTen. It computes in float32, int32, int8 and uint8, and takes these in place of wider dtypes.

mod serve;

use rten::{Model, ModelOptions, RunOptions, ThreadPool, Value};
use rten_onnx::onnx::{DataType, ModelProto};
use rten_tensor::Tensor as RtenTensor;
use rten_tensor::prelude::*;
use serve::{Number, Runtime, Tensor, bytes, numbers};
use std::sync::Arc;

struct Rten;

struct Loaded {
    model: Model,
    pool: Arc<ThreadPool>,
    /// The dtypes that the model declares for its outputs.
    outputs: Vec<Option<DataType>>,
}

impl Runtime for Rten {
    type Model = Loaded;
    const VERSION: &'static str = env!("RUNTIME_VERSION");

    fn load(path: &str) -> Result<Loaded, String> {
        let model = ModelOptions::with_all_ops().load_file(path).map_err(|error| error.to_string())?;
        Ok(Loaded { model, pool: Arc::new(ThreadPool::with_num_threads(1)), outputs: declared(path)? })
    }

    fn run(loaded: &Loaded, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
        let mut given = Vec::new();
        for tensor in inputs {
            let id = loaded.model.find_node(&tensor.name).ok_or_else(|| format!("no input `{}`", tensor.name))?;
            given.push((id, value(tensor)?.into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(loaded.pool.clone()));
        let found = loaded.model.run(given, loaded.model.output_ids(), Some(options)).map_err(|error| error.to_string())?;
        found.into_iter().zip(&loaded.outputs).map(|(value, declared)| tensor(value, *declared)).collect()
    }
}

fn declared(path: &str) -> Result<Vec<Option<DataType>>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let model = ModelProto::parse_file(file).map_err(|error| error.to_string())?;
    let outputs = model.graph.map(|graph| graph.output).unwrap_or_default();
    Ok(outputs.into_iter().map(|value| value.r#type?.tensor_type?.elem_type).collect())
}

/// The value of an input, in the dtype with which RTen computes.
fn value(tensor: &Tensor) -> Result<Value, String> {
    let data = &tensor.data;
    Ok(match tensor.dtype.as_str() {
        "float32" => of(&tensor.shape, numbers::<f32>(data)),
        "float64" => of(&tensor.shape, numbers::<f64>(data).into_iter().map(|number| number as f32).collect()),
        "int32" => of(&tensor.shape, numbers::<i32>(data)),
        "int64" => of(&tensor.shape, numbers::<i64>(data).into_iter().map(saturated).collect()),
        "bool" => of(&tensor.shape, data.iter().map(|byte| i32::from(*byte)).collect()),
        "int8" => of(&tensor.shape, numbers::<i8>(data)),
        "uint8" => of(&tensor.shape, data.clone()),
        other => return Err(format!("no input of {other}")),
    })
}

/// As RTen does with initializers.
fn saturated(number: i64) -> i32 {
    number.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

fn of<T>(shape: &[usize], numbers: Vec<T>) -> Value
where
    Value: From<RtenTensor<T>>,
{
    RtenTensor::from_data(shape, numbers).into()
}

/// An output. A bool is what the model declares as such: RTen has an int32 instead.
fn tensor(value: Value, declared: Option<DataType>) -> Result<Tensor, String> {
    let is_bool = declared == Some(DataType::BOOL);
    Ok(match value {
        Value::FloatTensor(found) => raw("float32", &found),
        Value::Int32Tensor(found) if is_bool => Tensor { data: found.iter().map(|number| u8::from(*number != 0)).collect(), ..raw("bool", &found) },
        Value::Int32Tensor(found) => raw("int32", &found),
        Value::Int8Tensor(found) => raw("int8", &found),
        Value::UInt8Tensor(found) => raw("uint8", &found),
        other => return Err(format!("an output of {:?}", other.dtype())),
    })
}

fn raw<T: Number>(dtype: &str, found: &RtenTensor<T>) -> Tensor {
    Tensor { name: String::new(), dtype: dtype.to_owned(), shape: found.shape().to_vec(), data: bytes(found.iter().copied()) }
}

fn main() {
    serve::serve::<Rten>();
}
