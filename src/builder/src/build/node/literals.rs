//! The inputs that rules give to nodes, and their conversion to values: literals take the dtype of the other inputs.

use crate::build::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;
use aten2onnx_onnx::schema::{Port, PortKind, Version};

/// An input of a node as a rule gives it.
#[derive(Debug, Clone)]
pub enum In {
    /// An optional input that is absent.
    None,
    /// A value.
    Value(Value),
    /// A number, which becomes a 0-dim tensor.
    Number(Scalar),
    /// Integers, which become a one-dimensional tensor.
    Ints(Vec<SymInt>),
    /// Floats, which become a one-dimensional tensor.
    Floats(Vec<f64>),
    /// Several values for a variadic input.
    Values(Vec<Value>),
}

/// An input after lists are flattened.
enum Item {
    Absent,
    Value(Value),
    Number(Scalar),
    Ints(Vec<SymInt>),
    Floats(Vec<f64>),
}

impl Builder {
    /// Converts the inputs to values.
    pub(crate) fn literals(&mut self, op: &str, form: &'static Version, inputs: Vec<In>) -> Result<Vec<Option<Value>>> {
        let items = spread(inputs);
        let mut values = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let port = form.input_port(i);
            let value = match item {
                Item::Absent => None,
                Item::Value(value) => Some(self.plain(*value)),
                Item::Number(number) => {
                    let dtype = self.expected_dtype(form, &items, port);
                    let dtype =
                        dtype.or_else(|| self.first_dtype(form, &items, port)).or_else(|| self.own_dtype(number));
                    let dtype = dtype.ok_or_else(|| {
                        let name = port.map_or("?", |p| p.name);
                        self.fault(format!("the number for `{name}` of `{op}` has no known dtype"))
                    })?;
                    Some(self.scalar(number, dtype)?)
                }
                Item::Ints(ints) => {
                    let dtype = self.expected_dtype(form, &items, port).unwrap_or(Dtype::Int64);
                    Some(self.vector(ints, dtype)?)
                }
                Item::Floats(floats) => {
                    let dtype = self.expected_dtype(form, &items, port).unwrap_or(Dtype::Float32);
                    let numbers: Vec<Scalar> = floats.iter().copied().map(Scalar::Float).collect();
                    Some(self.numbers(&numbers, dtype)?)
                }
            };
            values.push(value);
        }
        while values.last() == Some(&None) {
            values.pop();
        }
        Ok(values)
    }

    /// The dtype of a number without other inputs. A known float has none, because any choice would be a guess.
    fn own_dtype(&self, number: &Scalar) -> Option<Dtype> {
        match number {
            Scalar::Int(_) | Scalar::Sym(_) => Some(Dtype::Int64),
            Scalar::Bool(_) => Some(Dtype::Bool),
            Scalar::Value(value) => Some(self.dtype(*value)),
            Scalar::Float(_) | Scalar::Complex(..) => None,
        }
    }

    /// The dtype of the first tensor among the inputs, if the port takes it: `Pow` has two type variables.
    fn first_dtype(&self, form: &'static Version, items: &[Item], port: Option<&'static Port>) -> Option<Dtype> {
        let set = form.types.get(usize::from(port?.ty))?;
        let first = items.iter().find_map(|item| match item {
            Item::Value(v) => Some(self.dtype(*v)),
            _ => None,
        });
        first.filter(|dtype| set.has(*dtype))
    }

    /// The dtype of the tensors that share the port's type variable, or the only one that the port takes.
    fn expected_dtype(&self, form: &'static Version, items: &[Item], port: Option<&'static Port>) -> Option<Dtype> {
        let port = port?;
        let set = form.types.get(usize::from(port.ty))?;
        if set.only().is_some() {
            return set.only();
        }
        if port.kind == PortKind::Variadic && !port.homogeneous {
            return None;
        }
        items.iter().enumerate().find_map(|(i, item)| match item {
            Item::Value(v) if form.input_port(i)?.ty == port.ty => Some(self.dtype(*v)),
            _ => None,
        })
    }
}

fn spread(inputs: Vec<In>) -> Vec<Item> {
    let mut items = Vec::with_capacity(inputs.len());
    for input in inputs {
        match input {
            In::None => items.push(Item::Absent),
            In::Value(v) => items.push(Item::Value(v)),
            In::Number(n) => items.push(Item::Number(n)),
            In::Ints(ints) => items.push(Item::Ints(ints)),
            In::Floats(floats) => items.push(Item::Floats(floats)),
            In::Values(values) => items.extend(values.into_iter().map(Item::Value)),
        }
    }
    items
}

macro_rules! from {
    ($($type:ty => |$v:ident| $input:expr),* $(,)?) => {$(
        impl From<$type> for In {
            fn from($v: $type) -> In {
                $input
            }
        }
    )*};
}
from! {
    Value => |v| In::Value(v),
    &Value => |v| In::Value(*v),
    &i64 => |v| In::Number(Scalar::Int(*v)),
    &f64 => |v| In::Number(Scalar::Float(*v)),
    &bool => |v| In::Number(Scalar::Bool(*v)),
    Vec<Value> => |v| In::Values(v),
    &[Value] => |v| In::Values(v.to_vec()),
    &Vec<Value> => |v| In::Values(v.clone()),
    i64 => |v| In::Number(Scalar::Int(v)),
    f64 => |v| In::Number(Scalar::Float(v)),
    bool => |v| In::Number(Scalar::Bool(v)),
    Scalar => |v| In::Number(v),
    &Scalar => |v| In::Number(v.clone()),
    SymInt => |v| In::Number(v.into()),
    &SymInt => |v| In::Number(v.into()),
    Vec<SymInt> => |v| In::Ints(v),
    &[SymInt] => |v| In::Ints(v.to_vec()),
    &Vec<SymInt> => |v| In::Ints(v.clone()),
    Vec<i64> => |v| In::Ints(v.into_iter().map(SymInt::from).collect()),
    &[i64] => |v| In::Ints(v.iter().copied().map(SymInt::from).collect()),
    &Vec<i64> => |v| In::Ints(v.iter().copied().map(SymInt::from).collect()),
    Vec<f64> => |v| In::Floats(v),
    &[f64] => |v| In::Floats(v.to_vec()),
    &Vec<f64> => |v| In::Floats(v.clone()),
}

macro_rules! from_optional {
    ($($type:ty),*) => {$(
        impl From<Option<$type>> for In {
            fn from(v: Option<$type>) -> In {
                v.map_or(In::None, In::from)
            }
        }
        impl From<&Option<$type>> for In {
            fn from(v: &Option<$type>) -> In {
                v.as_ref().map_or(In::None, In::from)
            }
        }
    )*};
}
from_optional!(Value, i64, f64, bool, Scalar, SymInt, Vec<SymInt>, Vec<i64>, Vec<f64>);
