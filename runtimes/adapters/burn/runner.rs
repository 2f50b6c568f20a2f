//! The program of models: runs the code that burn-onnx wrote. `main.rs`, which the adapter writes, names the models.

use std::sync::OnceLock;

use burn::tensor::{Bool, BoolStore, DType, Device, Int, Tensor as Value, TensorData};
use half::f16;

use crate::serve::{self, Number, Runtime, Tensor};

/// A model with its weights.
pub type Loaded = Box<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>, String>>;

/// The file of each model, and the function that loads its weights.
type Models = &'static [(&'static str, fn() -> Loaded)];

static MODELS: OnceLock<Models> = OnceLock::new();

struct Burn;

impl Runtime for Burn {
    type Model = Loaded;
    const VERSION: &'static str = "";

    fn load(path: &str) -> Result<Loaded, String> {
        let models = MODELS.get().copied().unwrap_or_default();
        let (_, load) = models.iter().find(|(file, _)| *file == path).ok_or("the program has no such model")?;
        Ok(load())
    }

    fn run(model: &Loaded, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
        model(inputs)
    }
}

pub fn main(models: Models) {
    MODELS.get_or_init(|| models);
    serve::serve::<Burn>();
}

/// What the function of a model takes: a tensor, a number in place of a scalar, or numbers in place of a shape.
pub trait Input: Sized {
    fn of(tensor: &Tensor, device: &Device) -> Result<Self, String>;
}

/// What it returns.
pub trait Output {
    fn tensor(self) -> Result<Tensor, String>;
}

/// One output or several.
pub trait Outputs {
    fn tensors(self) -> Result<Vec<Tensor>, String>;
}

/// A function of a model with so many inputs.
pub trait Forward<Model, Types> {
    fn forward(&self, model: &Model, inputs: &[Tensor], device: &Device) -> Result<Vec<Tensor>, String>;
}

pub fn call<Model, Types>(function: impl Forward<Model, Types>, model: &Model, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    function.forward(model, inputs, &Device::default())
}

macro_rules! single {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Outputs for $type {
            fn tensors(self) -> Result<Vec<Tensor>, String> {
                Ok(vec![self.tensor()?])
            }
        }
    };
}

macro_rules! of_tensors {
    ($($type:ty),*) => {$(
        impl<const D: usize> Input for $type {
            fn of(tensor: &Tensor, device: &Device) -> Result<Self, String> {
                let data = TensorData::from_bytes_vec(tensor.data.clone(), tensor.shape.clone(), dtype(&tensor.dtype)?);
                let dtype = data.dtype();
                Ok(Self::from_data(data, (device, dtype)))
            }
        }
        impl<const D: usize> Output for $type {
            fn tensor(self) -> Result<Tensor, String> {
                let data = self.into_data();
                let (shape, name) = (data.shape().iter().copied().collect(), name(data.dtype())?);
                let data = match data.dtype() {
                    DType::Bool(_) => data.iter::<bool>().map(u8::from).collect(),
                    _ => data.as_bytes().to_vec(),
                };
                Ok(Tensor { name: String::new(), dtype: name.to_owned(), shape, data })
            }
        }
        single!([const D: usize] $type);
    )*};
}

of_tensors!(Value<D>, Value<D, Int>, Value<D, Bool>);

macro_rules! of_numbers {
    ($($type:ident),*) => {$(
        impl Input for $type {
            fn of(tensor: &Tensor, _: &Device) -> Result<Self, String> {
                Ok(<$type>::from_le_bytes(tensor.data.as_slice().try_into().map_err(|_| format!("`{}` is no {}", tensor.name, stringify!($type)))?))
            }
        }
        impl Output for $type {
            fn tensor(self) -> Result<Tensor, String> {
                Ok(Tensor { name: String::new(), dtype: dtype_of(stringify!($type)).to_owned(), shape: Vec::new(), data: self.to_le_bytes().to_vec() })
            }
        }
        single!([] $type);
    )*};
}

of_numbers!(f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

impl Input for bool {
    fn of(tensor: &Tensor, _: &Device) -> Result<Self, String> {
        Ok(tensor.data.first() == Some(&1))
    }
}

impl Output for bool {
    fn tensor(self) -> Result<Tensor, String> {
        Ok(Tensor { name: String::new(), dtype: "bool".to_owned(), shape: Vec::new(), data: vec![u8::from(self)] })
    }
}

single!([] bool);

impl<const N: usize> Input for [i64; N] {
    fn of(tensor: &Tensor, _: &Device) -> Result<Self, String> {
        serve::numbers::<i64>(&tensor.data).try_into().map_err(|_| format!("`{}` has not {N} numbers", tensor.name))
    }
}

impl<const N: usize> Output for [i64; N] {
    fn tensor(self) -> Result<Tensor, String> {
        Ok(Tensor { name: String::new(), dtype: "int64".to_owned(), shape: vec![N], data: serve::bytes(self) })
    }
}

single!([const N: usize] [i64; N]);

macro_rules! of_several {
    () => {};
    ($first:ident $($type:ident)*) => {
        impl<$first: Output, $($type: Output),*> Outputs for ($first, $($type,)*) {
            fn tensors(self) -> Result<Vec<Tensor>, String> {
                let ($first, $($type,)*) = self;
                Ok(vec![$first.tensor()?, $($type.tensor()?),*])
            }
        }
        impl<Function, Model, Found: Outputs, $first: Input, $($type: Input),*> Forward<Model, (Found, $first, $($type),*)> for Function
        where
            Function: Fn(&Model, $first, $($type),*) -> Found,
        {
            fn forward(&self, model: &Model, inputs: &[Tensor], device: &Device) -> Result<Vec<Tensor>, String> {
                let mut left = inputs.iter();
                let mut next = || left.next().ok_or_else(|| format!("only {} inputs", inputs.len()));
                self(model, $first::of(next()?, device)?, $($type::of(next()?, device)?),*).tensors()
            }
        }
        of_several!($($type)*);
    };
}

of_several!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 B0 B1 B2 B3 B4 B5 B6 B7 B8 B9 C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 D0 D1 D2 D3 D4 D5 D6 D7 D8 D9 E0 E1 E2 E3 E4 E5 E6 E7);

impl<Function, Model, Found: Outputs> Forward<Model, (Found,)> for Function
where
    Function: Fn(&Model) -> Found,
{
    fn forward(&self, model: &Model, _: &[Tensor], _: &Device) -> Result<Vec<Tensor>, String> {
        self(model).tensors()
    }
}

const DTYPES: [(&str, &str, DType); 12] = [
    ("float16", "f16", DType::F16),
    ("bfloat16", "bf16", DType::BF16),
    ("float32", "f32", DType::F32),
    ("float64", "f64", DType::F64),
    ("int8", "i8", DType::I8),
    ("int16", "i16", DType::I16),
    ("int32", "i32", DType::I32),
    ("int64", "i64", DType::I64),
    ("uint8", "u8", DType::U8),
    ("uint16", "u16", DType::U16),
    ("uint32", "u32", DType::U32),
    ("uint64", "u64", DType::U64),
];

fn dtype(name: &str) -> Result<DType, String> {
    let found = DTYPES.iter().find(|(known, ..)| *known == name).map(|(.., dtype)| *dtype);
    found.or((name == "bool").then_some(DType::Bool(BoolStore::Native))).ok_or_else(|| format!("no input of {name}"))
}

fn name(dtype: DType) -> Result<&'static str, String> {
    let found = DTYPES.iter().find(|(.., known)| *known == dtype).map(|(name, ..)| *name);
    found.or(matches!(dtype, DType::Bool(_)).then_some("bool")).ok_or_else(|| format!("an output of {dtype:?}"))
}

fn dtype_of(number: &str) -> &'static str {
    DTYPES.iter().find(|(_, known, _)| *known == number).map_or("", |(name, ..)| *name)
}
