//! The arguments of an ATen call by name, converted to the types in the header of a rule.

use crate::build::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// An argument as the translation pass evaluated it.
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
    /// A value that ONNX does not use: a layout, a device. The text is for messages.
    Opaque(String),
    /// Lists of lists of ints.
    IntLists(Vec<Vec<i64>>),
    /// Lists of lists of tensors.
    NestedTensors(Vec<Vec<Value>>),
    /// A nested graph of the program, which rules cannot use.
    Graph,
    /// An operator by name.
    Operator(String),
}

impl ArgValue {
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
            ArgValue::Graph => "a graph",
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
/// Each accessor returns one type of the header; an argument of another type is an error. The `opt_` accessors are for
/// parameters that may be None. Defaults are left to the rule: see [`Args::has`].
#[derive(Debug, Clone, Default)]
pub struct Args {
    values: Vec<(String, ArgValue)>,
}

impl FromIterator<(String, ArgValue)> for Args {
    fn from_iter<T: IntoIterator<Item = (String, ArgValue)>>(args: T) -> Args {
        Args { values: args.into_iter().collect() }
    }
}

impl Args {
    /// Arguments by name.
    pub fn new(values: Vec<(String, ArgValue)>) -> Args {
        Args { values }
    }

    /// All arguments in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ArgValue)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The argument, unless it is omitted or None.
    pub fn get(&self, name: &str) -> Option<&ArgValue> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, v)| v).filter(|v| !matches!(v, ArgValue::None))
    }

    /// Whether the argument is given, even as None.
    pub fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(n, _)| n == name)
    }

    /// Whether any argument is a complex number.
    pub fn has_complex(&self, cx: &Builder) -> bool {
        let number = |n: &Scalar| match n {
            Scalar::Complex(..) => true,
            Scalar::Value(value) => cx.is_complex(*value),
            _ => false,
        };
        self.values.iter().any(|(_, arg)| match arg {
            ArgValue::Tensor(value) => cx.is_complex(*value),
            ArgValue::Tensors(values) => values.iter().flatten().any(|v| cx.is_complex(*v)),
            ArgValue::NestedTensors(lists) => lists.iter().flatten().any(|v| cx.is_complex(*v)),
            ArgValue::Scalar(n) => number(n),
            ArgValue::Scalars(ns) => ns.iter().any(number),
            _ => false,
        })
    }

    /// A tensor; a number becomes a wrapped number.
    pub fn tensor(&self, cx: &mut Builder, name: &str) -> Result<Value> {
        self.opt_tensor(cx, name)?.ok_or_else(|| missing(name))
    }

    /// A tensor that may be None.
    pub fn opt_tensor(&self, cx: &mut Builder, name: &str) -> Result<Option<Value>> {
        match self.get(name) {
            None => Ok(None),
            Some(ArgValue::Tensor(value)) => Ok(Some(*value)),
            Some(ArgValue::Scalar(number)) => cx.wrapped_number(number).map(Some),
            Some(other) => Err(unexpected(name, "a tensor", other)),
        }
    }

    /// A list of tensors.
    pub fn tensors(&self, cx: &mut Builder, name: &str) -> Result<Vec<Value>> {
        let tensors: Option<Vec<Value>> = self.optional_tensors(cx, name)?.into_iter().collect();
        tensors.ok_or_else(|| Error::input(format!("an element of the argument `{name}` is None")))
    }

    /// A list of tensors, each of which may be None.
    pub fn optional_tensors(&self, cx: &mut Builder, name: &str) -> Result<Vec<Option<Value>>> {
        match self.get(name) {
            None => Err(missing(name)),
            Some(ArgValue::Tensors(values)) => Ok(values.clone()),
            Some(ArgValue::Tensor(value)) => Ok(vec![Some(*value)]),
            Some(ArgValue::Scalars(numbers)) => numbers.iter().map(|n| cx.wrapped_number(n).map(Some)).collect(),
            Some(other) => Err(unexpected(name, "a list of tensors", other)),
        }
    }

    /// A known integer.
    pub fn int(&self, cx: &mut Builder, name: &str) -> Result<i64> {
        self.opt_int(cx, name)?.ok_or_else(|| missing(name))
    }

    /// A known integer that may be None.
    pub fn opt_int(&self, cx: &mut Builder, name: &str) -> Result<Option<i64>> {
        let given = self.opt_sym_int(cx, name)?;
        given.map(|n| n.known().ok_or_else(|| must_be_known(name))).transpose()
    }

    /// Known integers; a single one is repeated for a list of a fixed size.
    pub fn ints(&self, cx: &mut Builder, name: &str, size: Option<usize>) -> Result<Vec<i64>> {
        self.opt_ints(cx, name, size)?.ok_or_else(|| missing(name))
    }

    /// Known integers that may be None.
    pub fn opt_ints(&self, cx: &mut Builder, name: &str, size: Option<usize>) -> Result<Option<Vec<i64>>> {
        let Some(sizes) = self.opt_sym_ints(cx, name, size)? else { return Ok(None) };
        let known: Option<Vec<i64>> = sizes.iter().map(SymInt::known).collect();
        known.map(Some).ok_or_else(|| must_be_known(name))
    }

    /// An integer, known or symbolic.
    pub fn sym_int(&self, cx: &mut Builder, name: &str) -> Result<SymInt> {
        self.opt_sym_int(cx, name)?.ok_or_else(|| missing(name))
    }

    /// An integer, known or symbolic, that may be None.
    pub fn opt_sym_int(&self, cx: &mut Builder, name: &str) -> Result<Option<SymInt>> {
        self.single_number(name, "an int")?.map(|number| sym_int(cx, name, &number)).transpose()
    }

    /// Integers, known or symbolic; a single one is repeated for a list of a fixed size.
    pub fn sym_ints(&self, cx: &mut Builder, name: &str, size: Option<usize>) -> Result<Vec<SymInt>> {
        self.opt_sym_ints(cx, name, size)?.ok_or_else(|| missing(name))
    }

    /// Integers, known or symbolic, that may be None.
    pub fn opt_sym_ints(&self, cx: &mut Builder, name: &str, size: Option<usize>) -> Result<Option<Vec<SymInt>>> {
        let Some(numbers) = self.list(name, size)? else { return Ok(None) };
        numbers.iter().map(|n| sym_int(cx, name, n)).collect::<Result<_>>().map(Some)
    }

    /// Lists of known integers; empty if the argument is omitted.
    pub fn int_lists(&self, name: &str) -> Result<Vec<Vec<i64>>> {
        match self.get(name) {
            Some(ArgValue::IntLists(lists)) => Ok(lists.clone()),
            Some(other) => Err(unexpected(name, "a list of lists of ints", other)),
            None => Ok(Vec::new()),
        }
    }

    /// A known float.
    pub fn float(&self, cx: &mut Builder, name: &str) -> Result<f64> {
        self.opt_float(cx, name)?.ok_or_else(|| missing(name))
    }

    /// A known float that may be None.
    pub fn opt_float(&self, cx: &mut Builder, name: &str) -> Result<Option<f64>> {
        self.single_number(name, "a float")?.map(|number| float(cx, name, &number)).transpose()
    }

    /// Known floats; a single one is repeated for a list of a fixed size.
    pub fn floats(&self, cx: &mut Builder, name: &str, size: Option<usize>) -> Result<Vec<f64>> {
        self.opt_floats(cx, name, size)?.ok_or_else(|| missing(name))
    }

    /// Known floats that may be None.
    pub fn opt_floats(&self, cx: &mut Builder, name: &str, size: Option<usize>) -> Result<Option<Vec<f64>>> {
        let Some(numbers) = self.list(name, size)? else { return Ok(None) };
        numbers.iter().map(|n| float(cx, name, n)).collect::<Result<_>>().map(Some)
    }

    /// A known boolean.
    pub fn bool(&self, cx: &mut Builder, name: &str) -> Result<bool> {
        self.opt_bool(cx, name)?.ok_or_else(|| missing(name))
    }

    /// A known boolean that may be None.
    pub fn opt_bool(&self, cx: &mut Builder, name: &str) -> Result<Option<bool>> {
        self.single_number(name, "a bool")?.map(|number| bool(cx, name, &number)).transpose()
    }

    /// Known booleans; a single one is repeated for a list of a fixed size.
    pub fn bools(&self, cx: &mut Builder, name: &str, size: Option<usize>) -> Result<Vec<bool>> {
        let numbers = self.list(name, size)?.ok_or_else(|| missing(name))?;
        numbers.iter().map(|n| bool(cx, name, n)).collect()
    }

    /// A string.
    pub fn str(&self, cx: &mut Builder, name: &str) -> Result<String> {
        self.opt_str(cx, name)?.ok_or_else(|| missing(name))
    }

    /// A string that may be None.
    pub fn opt_str(&self, _cx: &mut Builder, name: &str) -> Result<Option<String>> {
        match self.get(name) {
            Some(ArgValue::Str(text)) => Ok(Some(text.clone())),
            Some(other) => Err(unexpected(name, "a string", other)),
            None => Ok(None),
        }
    }

    /// Strings.
    pub fn strs(&self, cx: &mut Builder, name: &str) -> Result<Vec<String>> {
        self.opt_strs(cx, name)?.ok_or_else(|| missing(name))
    }

    /// Strings that may be None.
    pub fn opt_strs(&self, _cx: &mut Builder, name: &str) -> Result<Option<Vec<String>>> {
        match self.get(name) {
            Some(ArgValue::Strs(texts)) => Ok(Some(texts.clone())),
            Some(ArgValue::Tensors(values)) if values.is_empty() => Ok(Some(Vec::new())),
            Some(other) => Err(unexpected(name, "a list of strings", other)),
            None => Ok(None),
        }
    }

    /// A number, known or in the graph.
    pub fn scalar(&self, cx: &mut Builder, name: &str) -> Result<Scalar> {
        self.opt_scalar(cx, name)?.ok_or_else(|| missing(name))
    }

    /// A number, known or in the graph, that may be None.
    pub fn opt_scalar(&self, cx: &mut Builder, name: &str) -> Result<Option<Scalar>> {
        match self.single_number(name, "a number")? {
            Some(Scalar::Value(value)) => cx.number(value).map(Some),
            number => Ok(number),
        }
    }

    /// Numbers.
    pub fn scalars(&self, _cx: &mut Builder, name: &str) -> Result<Vec<Scalar>> {
        self.list(name, None)?.ok_or_else(|| missing(name))
    }

    /// A dtype.
    pub fn dtype(&self, cx: &mut Builder, name: &str) -> Result<Dtype> {
        self.opt_dtype(cx, name)?.ok_or_else(|| missing(name))
    }

    /// A dtype that may be None.
    pub fn opt_dtype(&self, _cx: &mut Builder, name: &str) -> Result<Option<Dtype>> {
        match self.get(name) {
            Some(ArgValue::Dtype(dtype)) => Ok(Some(*dtype)),
            Some(other) => Err(unexpected(name, "a dtype", other)),
            None => Ok(None),
        }
    }

    /// A number; a one-element tensor counts as one.
    fn single_number(&self, name: &str, expected: &str) -> Result<Option<Scalar>> {
        match self.get(name) {
            Some(ArgValue::Scalar(number)) => Ok(Some(number.clone())),
            Some(ArgValue::Tensor(value)) => Ok(Some(Scalar::Value(*value))),
            Some(other) => Err(unexpected(name, expected, other)),
            None => Ok(None),
        }
    }

    fn list(&self, name: &str, size: Option<usize>) -> Result<Option<Vec<Scalar>>> {
        match (self.get(name), size) {
            (None, _) => Ok(None),
            // PyTorch also accepts a list of one element in place of a longer one.
            (Some(ArgValue::Scalars(numbers)), Some(size)) if numbers.len() == 1 && size > 1 => {
                Ok(numbers.first().map(|n| vec![n.clone(); size]))
            }
            (Some(ArgValue::Scalars(numbers)), _) => Ok(Some(numbers.clone())),
            (Some(ArgValue::Scalar(number)), size) => Ok(Some(vec![number.clone(); size.unwrap_or(1)])),
            // An empty list does not show its element type.
            (Some(ArgValue::Tensors(values)), _) if values.is_empty() => Ok(Some(Vec::new())),
            (Some(other), _) => Err(unexpected(name, "a list of numbers", other)),
        }
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

/// Replaces a constant tensor by its number.
fn known(cx: &Builder, number: &Scalar) -> Scalar {
    match number {
        Scalar::Value(value) => cx.constant_scalar(*value).unwrap_or_else(|| number.clone()),
        other => other.clone(),
    }
}

fn sym_int(cx: &mut Builder, name: &str, number: &Scalar) -> Result<SymInt> {
    match known(cx, number) {
        Scalar::Sym(n) => Ok(n),
        Scalar::Value(value) => cx.sym(value),
        number => {
            let n = number.as_int().map(SymInt::from);
            n.ok_or_else(|| unexpected(name, "an int", &ArgValue::Scalar(number)))
        }
    }
}

fn float(cx: &Builder, name: &str, number: &Scalar) -> Result<f64> {
    match known(cx, number) {
        Scalar::Complex(re, im) if im != 0.0 => {
            Err(unexpected(name, "a float", &ArgValue::Scalar(Scalar::Complex(re, im))))
        }
        number => number.as_float().ok_or_else(|| must_be_known(name)),
    }
}

fn bool(cx: &Builder, name: &str, number: &Scalar) -> Result<bool> {
    known(cx, number).as_bool().ok_or_else(|| must_be_known(name))
}
