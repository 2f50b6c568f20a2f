//! The arguments of an ATen call by name, converted to what the header of a rule says.

use std::sync::Arc;

use super::{Builder, Scalar};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::program;
use crate::sym::SymInt;

/// An argument as the translation pass found it.
#[derive(Debug, Clone)]
pub enum ArgValue {
    /// `None`
    None,
    /// A tensor.
    Tensor(Value),
    /// A list of tensors, some of which may be None.
    Tensors(Vec<Option<Value>>),
    /// A number.
    Scalar(Scalar),
    /// A list of numbers.
    Scalars(Vec<Scalar>),
    /// A string.
    Str(String),
    /// A list of strings.
    Strs(Vec<String>),
    /// A dtype.
    Dtype(Dtype),
    /// What ONNX has no use for: a layout, a device. The text is for messages.
    Opaque(String),
    /// Lists of lists of ints.
    IntLists(Vec<Vec<i64>>),
    /// Lists of lists of tensors.
    NestedTensors(Vec<Vec<Value>>),
    /// A nested graph.
    Graph(Arc<program::Graph>),
    /// An operator by name.
    Operator(String),
}

impl ArgValue {
    fn is_none(&self) -> bool {
        matches!(self, ArgValue::None)
    }

    fn kind(&self) -> &'static str {
        match self {
            ArgValue::None => "None",
            ArgValue::Tensor(_) => "a tensor",
            ArgValue::Tensors(_) => "a list of tensors",
            ArgValue::Scalar(Scalar::Int(_)) => "an int",
            ArgValue::Scalar(Scalar::Float(_)) => "a float",
            ArgValue::Scalar(Scalar::Bool(_)) => "a bool",
            ArgValue::Scalar(Scalar::Complex(..)) => "a complex number",
            ArgValue::Scalar(Scalar::Sym(_)) => "a symbolic int",
            ArgValue::Scalar(Scalar::Value(_)) => "a number of the graph",
            ArgValue::Scalars(_) => "a list of numbers",
            ArgValue::Str(_) => "a string",
            ArgValue::Strs(_) => "a list of strings",
            ArgValue::Dtype(_) => "a dtype",
            ArgValue::Opaque(_) => "an opaque object",
            ArgValue::IntLists(_) => "a list of lists of ints",
            ArgValue::NestedTensors(_) => "a list of lists of tensors",
            ArgValue::Graph(_) => "a graph",
            ArgValue::Operator(_) => "an operator",
        }
    }
}

macro_rules! from {
    ($($type:ty => |$v:ident| $arg:expr),* $(,)?) => {$(
        impl From<$type> for ArgValue {
            fn from($v: $type) -> ArgValue {
                $arg
            }
        }
    )*};
}
from! {
    Value => |v| ArgValue::Tensor(v),
    Vec<Value> => |v| ArgValue::Tensors(v.into_iter().map(Some).collect()),
    Scalar => |v| ArgValue::Scalar(v),
    i64 => |v| ArgValue::Scalar(Scalar::Int(v)),
    f64 => |v| ArgValue::Scalar(Scalar::Float(v)),
    bool => |v| ArgValue::Scalar(Scalar::Bool(v)),
    SymInt => |v| ArgValue::Scalar(v.into()),
    Vec<SymInt> => |v| ArgValue::Scalars(v.into_iter().map(Scalar::from).collect()),
    Vec<i64> => |v| ArgValue::Scalars(v.into_iter().map(Scalar::Int).collect()),
    Vec<f64> => |v| ArgValue::Scalars(v.into_iter().map(Scalar::Float).collect()),
    Vec<bool> => |v| ArgValue::Scalars(v.into_iter().map(Scalar::Bool).collect()),
    &str => |v| ArgValue::Str(v.to_owned()),
    Dtype => |v| ArgValue::Dtype(v),
}

/// The arguments of a call.
///
/// Each accessor takes the default of the header; an argument without one that is missing is a fault. The `opt_` accessors are
/// for parameters that may be None, which is their default too.
#[derive(Debug, Clone, Default)]
pub struct Args {
    values: Vec<(String, ArgValue)>,
}

impl FromIterator<(String, ArgValue)> for Args {
    fn from_iter<T: IntoIterator<Item = (String, ArgValue)>>(args: T) -> Args {
        Args { values: args.into_iter().collect() }
    }
}

fn missing(name: &str) -> Error {
    Error::input(format!("the argument `{name}` is missing"))
}

fn unexpected(name: &str, expected: &str, given: &ArgValue) -> Error {
    Error::input(format!("the argument `{name}` should be {expected} and is {}", given.kind()))
}

fn must_be_known(name: &str) -> Error {
    Error::refused(format!("`{name}` must be known at export time"), None)
}

impl Args {
    /// Arguments by name.
    pub fn new(values: Vec<(String, ArgValue)>) -> Args {
        Args { values }
    }

    /// All of them, as given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ArgValue)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The argument, unless it is left out or None.
    pub fn get(&self, name: &str) -> Option<&ArgValue> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, v)| v).filter(|v| !v.is_none())
    }

    /// The argument of a parameter without a default.
    fn required(&self, name: &str) -> Result<&ArgValue> {
        self.get(name).ok_or_else(|| missing(name))
    }

    /// A tensor; a number becomes a wrapped number.
    pub fn tensor(&self, cx: &mut Builder, name: &str) -> Result<Value> {
        tensor(cx, name, self.required(name)?)
    }

    /// A tensor that may be None.
    pub fn opt_tensor(&self, cx: &mut Builder, name: &str) -> Result<Option<Value>> {
        self.get(name).map(|arg| tensor(cx, name, arg)).transpose()
    }

    /// A list of tensors.
    pub fn tensors(&self, cx: &mut Builder, name: &str) -> Result<Vec<Value>> {
        let tensors = self.opt_tensors(cx, name)?;
        let all: Option<Vec<Value>> = tensors.into_iter().collect();
        all.ok_or_else(|| Error::input(format!("an element of the argument `{name}` is None")))
    }

    /// A list of tensors that may be None.
    pub fn opt_tensors(&self, cx: &mut Builder, name: &str) -> Result<Vec<Option<Value>>> {
        match self.required(name)? {
            ArgValue::Tensors(values) => Ok(values.clone()),
            ArgValue::Tensor(value) => Ok(vec![Some(*value)]),
            ArgValue::Scalars(numbers) => numbers.iter().map(|n| cx.wrapped_number(n).map(Some)).collect(),
            other => Err(unexpected(name, "a list of tensors", other)),
        }
    }

    /// A known integer.
    pub fn int(&self, name: &str, default: Option<i64>) -> Result<i64> {
        self.opt_int(name)?.or(default).ok_or_else(|| missing(name))
    }

    /// A known integer that may be None.
    pub fn opt_int(&self, name: &str) -> Result<Option<i64>> {
        self.get(name).map(|arg| known_int(name, arg)).transpose()
    }

    /// Known integers; a lone one is repeated for a list of a given size.
    pub fn ints(&self, name: &str, size: Option<usize>, default: Option<&[i64]>) -> Result<Vec<i64>> {
        let given = self.opt_ints(name, size)?.or_else(|| default.map(<[i64]>::to_vec));
        given.ok_or_else(|| missing(name))
    }

    /// Known integers that may be None.
    pub fn opt_ints(&self, name: &str, size: Option<usize>) -> Result<Option<Vec<i64>>> {
        let Some(sizes) = self.opt_sym_ints(name, size)? else { return Ok(None) };
        let known: Option<Vec<i64>> = sizes.iter().map(SymInt::known).collect();
        known.map(Some).ok_or_else(|| must_be_known(name))
    }

    /// An integer, known or symbolic.
    pub fn sym_int(&self, name: &str, default: Option<i64>) -> Result<SymInt> {
        self.opt_sym_int(name)?.or(default.map(SymInt::from)).ok_or_else(|| missing(name))
    }

    /// An integer, known or symbolic, that may be None.
    pub fn opt_sym_int(&self, name: &str) -> Result<Option<SymInt>> {
        match self.get(name) {
            Some(ArgValue::Scalar(number)) => Ok(Some(sym_int(name, number)?)),
            Some(other) => Err(unexpected(name, "an int", other)),
            None => Ok(None),
        }
    }

    /// Integers, known or symbolic; a lone one is repeated for a list of a given size.
    pub fn sym_ints(&self, name: &str, size: Option<usize>, default: Option<&[i64]>) -> Result<Vec<SymInt>> {
        let default = || default.map(|ints| ints.iter().copied().map(SymInt::from).collect());
        self.opt_sym_ints(name, size)?.or_else(default).ok_or_else(|| missing(name))
    }

    /// Integers, known or symbolic, that may be None.
    pub fn opt_sym_ints(&self, name: &str, size: Option<usize>) -> Result<Option<Vec<SymInt>>> {
        let Some(numbers) = self.opt_list(name, size)? else { return Ok(None) };
        numbers.iter().map(|n| sym_int(name, n)).collect::<Result<_>>().map(Some)
    }

    /// A known float.
    pub fn float(&self, name: &str, default: Option<f64>) -> Result<f64> {
        self.opt_float(name)?.or(default).ok_or_else(|| missing(name))
    }

    /// A known float that may be None.
    pub fn opt_float(&self, name: &str) -> Result<Option<f64>> {
        match self.get(name) {
            Some(ArgValue::Scalar(number)) => Ok(Some(known_float(name, number)?)),
            Some(other) => Err(unexpected(name, "a float", other)),
            None => Ok(None),
        }
    }

    /// Known floats; a lone one is repeated for a list of a given size.
    pub fn floats(&self, name: &str, size: Option<usize>, default: Option<&[f64]>) -> Result<Vec<f64>> {
        let given = self.opt_floats(name, size)?.or_else(|| default.map(<[f64]>::to_vec));
        given.ok_or_else(|| missing(name))
    }

    /// Known floats that may be None.
    pub fn opt_floats(&self, name: &str, size: Option<usize>) -> Result<Option<Vec<f64>>> {
        let Some(numbers) = self.opt_list(name, size)? else { return Ok(None) };
        numbers.iter().map(|n| known_float(name, n)).collect::<Result<_>>().map(Some)
    }

    /// A known boolean.
    pub fn bool(&self, name: &str, default: Option<bool>) -> Result<bool> {
        self.opt_bool(name)?.or(default).ok_or_else(|| missing(name))
    }

    /// A known boolean that may be None.
    pub fn opt_bool(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name) {
            Some(ArgValue::Scalar(number)) => Ok(Some(known_bool(name, number)?)),
            Some(other) => Err(unexpected(name, "a bool", other)),
            None => Ok(None),
        }
    }

    /// Known booleans; a lone one is repeated for a list of a given size.
    pub fn bools(&self, name: &str, size: Option<usize>, default: Option<&[bool]>) -> Result<Vec<bool>> {
        let given = match self.opt_list(name, size)? {
            Some(numbers) => Some(numbers.iter().map(|n| known_bool(name, n)).collect::<Result<_>>()?),
            None => default.map(<[bool]>::to_vec),
        };
        given.ok_or_else(|| missing(name))
    }

    /// A string.
    pub fn str(&self, name: &str, default: Option<&str>) -> Result<String> {
        self.opt_str(name)?.or_else(|| default.map(str::to_owned)).ok_or_else(|| missing(name))
    }

    /// A string that may be None.
    pub fn opt_str(&self, name: &str) -> Result<Option<String>> {
        match self.get(name) {
            Some(ArgValue::Str(text)) => Ok(Some(text.clone())),
            Some(other) => Err(unexpected(name, "a string", other)),
            None => Ok(None),
        }
    }

    /// A number, known or in the graph.
    pub fn scalar(&self, name: &str, default: Option<Scalar>) -> Result<Scalar> {
        self.opt_scalar(name)?.or(default).ok_or_else(|| missing(name))
    }

    /// A number, known or in the graph, that may be None.
    pub fn opt_scalar(&self, name: &str) -> Result<Option<Scalar>> {
        match self.get(name) {
            Some(ArgValue::Scalar(number)) => Ok(Some(number.clone())),
            Some(ArgValue::Tensor(value)) => Ok(Some(Scalar::Value(*value))),
            Some(other) => Err(unexpected(name, "a number", other)),
            None => Ok(None),
        }
    }

    /// Numbers.
    pub fn scalars(&self, name: &str) -> Result<Vec<Scalar>> {
        self.opt_list(name, None)?.ok_or_else(|| missing(name))
    }

    /// A dtype.
    pub fn dtype(&self, name: &str) -> Result<Dtype> {
        self.opt_dtype(name)?.ok_or_else(|| missing(name))
    }

    /// A dtype that may be None.
    pub fn opt_dtype(&self, name: &str) -> Result<Option<Dtype>> {
        match self.get(name) {
            Some(ArgValue::Dtype(dtype)) => Ok(Some(*dtype)),
            Some(other) => Err(unexpected(name, "a dtype", other)),
            None => Ok(None),
        }
    }

    fn opt_list(&self, name: &str, size: Option<usize>) -> Result<Option<Vec<Scalar>>> {
        match (self.get(name), size) {
            (None, _) => Ok(None),
            // PyTorch takes a list of one in the place of a longer one, too.
            (Some(ArgValue::Scalars(numbers)), Some(size)) if numbers.len() == 1 && size > 1 => {
                Ok(numbers.first().map(|n| vec![n.clone(); size]))
            }
            (Some(ArgValue::Scalars(numbers)), _) => Ok(Some(numbers.clone())),
            (Some(ArgValue::Scalar(number)), size) => Ok(Some(vec![number.clone(); size.unwrap_or(1)])),
            // An empty list has no elements to tell its kind.
            (Some(ArgValue::Tensors(values)), _) if values.is_empty() => Ok(Some(Vec::new())),
            (Some(other), _) => Err(unexpected(name, "a list of numbers", other)),
        }
    }
}

fn tensor(cx: &mut Builder, name: &str, arg: &ArgValue) -> Result<Value> {
    match arg {
        ArgValue::Tensor(value) => Ok(*value),
        ArgValue::Scalar(number) => cx.wrapped_number(number),
        other => Err(unexpected(name, "a tensor", other)),
    }
}

fn known_int(name: &str, arg: &ArgValue) -> Result<i64> {
    match arg {
        ArgValue::Scalar(number) => sym_int(name, number)?.known().ok_or_else(|| must_be_known(name)),
        other => Err(unexpected(name, "an int", other)),
    }
}

fn sym_int(name: &str, number: &Scalar) -> Result<SymInt> {
    match number {
        Scalar::Sym(n) => Ok(n.clone()),
        Scalar::Value(_) => Err(must_be_known(name)),
        known => {
            let n = known.as_int().map(SymInt::from);
            n.ok_or_else(|| unexpected(name, "an int", &ArgValue::Scalar(known.clone())))
        }
    }
}

fn known_float(name: &str, number: &Scalar) -> Result<f64> {
    match number {
        Scalar::Complex(_, im) if *im != 0.0 => Err(unexpected(name, "a float", &ArgValue::Scalar(number.clone()))),
        known => known.as_float().ok_or_else(|| must_be_known(name)),
    }
}

fn known_bool(name: &str, number: &Scalar) -> Result<bool> {
    number.as_bool().ok_or_else(|| must_be_known(name))
}
