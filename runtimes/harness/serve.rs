//! The process of a runtime in Rust: what `serve.py` is for Python. An adapter implements `Runtime`. Tensors are raw bytes with the
//! dtype by NumPy's name.

use std::fs;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use serde_json::{Value, json};

const ALIGNMENT: usize = 64;

pub struct Tensor {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<usize>,
    pub data: Vec<u8>,
}

pub trait Runtime {
    type Model;
    const VERSION: &'static str;
    fn load(path: &str) -> Result<Self::Model, String>;
    fn run(model: &Self::Model, inputs: &[Tensor]) -> Result<Vec<Tensor>, String>;
}

/// Numbers as bytes. An adapter may need only one direction.
#[allow(dead_code)]
pub trait Number: Copy + Sized {
    fn from_bytes(bytes: &[u8]) -> Self;
    fn to_bytes(self) -> Vec<u8>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
            fn to_bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}

numbers!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

#[allow(dead_code)]
pub fn numbers<T: Number>(data: &[u8]) -> Vec<T> {
    data.chunks_exact(size_of::<T>()).map(T::from_bytes).collect()
}

pub fn bytes<T: Number>(numbers: impl IntoIterator<Item = T>) -> Vec<u8> {
    numbers.into_iter().flat_map(T::to_bytes).collect()
}

/// Takes one model after the other from standard input.
pub fn serve<R: Runtime>() {
    say(&json!({"ready": R::VERSION}));
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let answered = catch_unwind(AssertUnwindSafe(|| answer::<R>(&line)));
        let answered = answered.unwrap_or_else(|panic| Err(format!("panic: {}", message_of(&*panic))));
        if let Err(error) = answered {
            say(&json!({"error": error}));
        }
    }
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn say(message: &Value) {
    println!("{message}");
    io::stdout().flush().expect("the harness listens");
}

fn answer<R: Runtime>(line: &str) -> Result<(), String> {
    let job: Value = serde_json::from_str(line).map_err(text)?;
    let start = Instant::now();
    let model = R::load(string(&job["model"]))?;
    say(&json!({"loaded": start.elapsed().as_secs_f64()}));
    let inputs = read(string(&job["tensors"]), &job["inputs"])?;
    let (mut outputs, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..job["times"].as_u64().unwrap_or(1) {
        let start = Instant::now();
        outputs = R::run(&model, &inputs)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let described = write(string(&job["outputs"]), &outputs)?;
    say(&json!({"outputs": described, "seconds": seconds}));
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn size(value: &Value) -> usize {
    value.as_u64().unwrap_or_default() as usize
}

fn read(path: &str, described: &Value) -> Result<Vec<Tensor>, String> {
    let file = fs::read(path).map_err(text)?;
    let tensors = described.as_array().into_iter().flatten();
    Ok(tensors
        .map(|tensor| Tensor {
            name: string(&tensor["name"]).to_owned(),
            dtype: string(&tensor["dtype"]).to_owned(),
            shape: tensor["shape"].as_array().into_iter().flatten().map(size).collect(),
            data: file[size(&tensor["offset"])..][..size(&tensor["bytes"])].to_vec(),
        })
        .collect())
}

fn write(path: &str, outputs: &[Tensor]) -> Result<Vec<Value>, String> {
    let mut file = Vec::new();
    let mut described = Vec::new();
    for (index, tensor) in outputs.iter().enumerate() {
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        described.push(json!({
            "name": index.to_string(), "dtype": tensor.dtype, "shape": tensor.shape, "offset": file.len(), "bytes": tensor.data.len(),
        }));
        file.extend_from_slice(&tensor.data);
    }
    fs::write(path, file).map_err(text)?;
    Ok(described)
}
