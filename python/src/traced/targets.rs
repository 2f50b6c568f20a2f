//! What nodes call: operators with their schemas, higher-order operators, and functions of Python.

use std::collections::HashMap;
use std::rc::Rc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::types::Types;
use super::{Read, Stop, text};

/// Operators whose arguments the serializer changes.
const SPECIAL: [&str; 2] =
    ["torch.ops.higher_order.aoti_call_delegate", "torch.ops.higher_order.triton_kernel_wrapper_functional"];

/// What a node calls.
pub struct Target<'py> {
    /// As the serializer writes it: `torch.ops.aten.add.Tensor`.
    pub name: String,
    pub kind: Kind<'py>,
}

/// How its arguments and results are described.
pub enum Kind<'py> {
    /// An element of a result, which the node of the result describes.
    Getitem,
    /// A function of Python on numbers, with the names of its parameters.
    Number(Vec<String>),
    Operator(Schema<'py>),
    /// Arguments without names: a higher-order operator, or another function.
    Plain,
}

/// The schema of an operator.
pub struct Schema<'py> {
    pub arguments: Vec<Parameter<'py>>,
    pub returns: usize,
    /// The only result is a list of tensors.
    pub returns_list: bool,
    /// It is an operator of `torch.onnx.ops.symbolic`.
    pub symbolic: bool,
}

/// An argument of a schema.
pub struct Parameter<'py> {
    pub name: Bound<'py, PyString>,
    pub text: String,
    pub keyword_only: bool,
    schema: Bound<'py, PyAny>,
}

/// What an empty list would contain.
pub enum Element {
    Bool,
    Int,
    Float,
    Str,
    Tensor,
}

/// Targets that were seen.
pub struct Targets<'t, 'py> {
    types: &'t Types<'py>,
    /// By address; the objects are kept alive.
    known: HashMap<usize, (Bound<'py, PyAny>, Rc<Target<'py>>)>,
}

impl<'t, 'py> Targets<'t, 'py> {
    pub fn new(types: &'t Types<'py>) -> Targets<'t, 'py> {
        Targets { types, known: HashMap::new() }
    }

    pub fn of(&mut self, function: &Bound<'py, PyAny>) -> Read<Rc<Target<'py>>> {
        let address = function.as_ptr() as usize;
        if let Some((_, target)) = self.known.get(&address) {
            return Ok(Rc::clone(target));
        }
        let name = name(function)?;
        let kind = self.kind(function, &name)?;
        let target = Rc::new(Target { name, kind });
        self.known.insert(address, (function.clone(), Rc::clone(&target)));
        Ok(target)
    }

    fn kind(&self, function: &Bound<'py, PyAny>, name: &str) -> Read<Kind<'py>> {
        let types = self.types;
        if function.is(&types.getitem) {
            return Ok(Kind::Getitem);
        }
        if types.sym_ops.contains(function)? {
            let parameters = types.signature.call1((function,))?.getattr("parameters")?;
            let names: Read<Vec<String>> = parameters.try_iter()?.map(|name| text(&name?)).collect();
            return Ok(Kind::Number(names?));
        }
        if function.is_instance(&types.operator)? {
            return Ok(Kind::Operator(self.schema(function)?));
        }
        if SPECIAL.contains(&name) || types.extensions.contains(function.get_type())? || !function.is_callable() {
            return Err(Stop::unknown(format_args!("a call of {name}")));
        }
        Ok(Kind::Plain)
    }

    fn schema(&self, operator: &Bound<'py, PyAny>) -> Read<Schema<'py>> {
        let schema = operator.getattr("_schema")?;
        let arguments = schema.getattr("arguments")?.cast_into::<PyList>()?;
        let arguments: Read<Vec<Parameter<'py>>> = arguments.iter().map(parameter).collect();
        let returns = schema.getattr("returns")?.cast_into::<PyList>()?;
        let returns_list = match returns.len() {
            1 => {
                let real = returns.get_item(0)?.getattr("real_type")?;
                real.is_instance(&self.types.list)? && kind_of(&real.call_method0("getElementType")?)? == "TensorType"
            }
            _ => false,
        };
        let symbolic = text(&operator.getattr("namespace")?)? == "onnx_symbolic";
        Ok(Schema { arguments: arguments?, returns: returns.len(), returns_list, symbolic })
    }
}

impl<'py> Parameter<'py> {
    /// What an empty list for this parameter would contain.
    pub fn element(&self, types: &Types<'py>) -> Read<Element> {
        let mut list = self.schema.getattr(intern!(self.schema.py(), "type"))?;
        if list.is_instance(&types.optional)? {
            list = list.call_method0("getElementType")?;
        }
        if !list.is_instance(&types.list)? {
            return Err(Stop::unknown(format_args!("an empty list for {}", self.text)));
        }
        let mut element = list.call_method0("getElementType")?;
        if element.is_instance(&types.optional)? {
            element = element.call_method0("getElementType")?;
        }
        Ok(match kind_of(&element)?.as_str() {
            "BoolType" => Element::Bool,
            "IntType" => Element::Int,
            "FloatType" => Element::Float,
            "StringType" => Element::Str,
            "TensorType" => Element::Tensor,
            other => return Err(Stop::unknown(format_args!("an empty list of {other}"))),
        })
    }
}

fn parameter<'py>(schema: Bound<'py, PyAny>) -> Read<Parameter<'py>> {
    let name = schema.getattr("name")?.cast_into::<PyString>()?;
    let keyword_only = schema.getattr("kwarg_only")?.extract()?;
    Ok(Parameter { text: name.to_cow()?.into_owned(), name, keyword_only, schema })
}

/// The name of a value's class.
fn kind_of(value: &Bound<'_, PyAny>) -> Read<String> {
    Ok(value.get_type().name()?.to_cow()?.into_owned())
}

/// The name of a function as the serializer writes it.
pub fn name(function: &Bound<'_, PyAny>) -> Read<String> {
    let module = text(&function.getattr("__module__")?)?;
    let name = text(&function.getattr("__name__")?)?;
    Ok(match module.starts_with("torch._ops") {
        true => format!("{}.{name}", module.replace("torch._ops", "torch.ops")),
        false => format!("{module}.{name}"),
    })
}
