//! What nodes are given: values by name, literals, lists, and nested graphs.

use aten2onnx::frontend::pt2::schema::{
    Argument, ComplexValue, Device, GraphArgument, SymBoolArgument, SymFloatArgument, SymIntArgument, TensorArgument,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::IgnoredAny;

use super::graph::{Reader, Scope, ValueKind};
use super::lists::{self, Item};
use super::targets::{self, Element, Parameter};
use super::values::{float, short};
use super::{Read, Stop, text};

/// Lists within lists are nested less deeply.
const DEPTH: u32 = 4;

impl<'py> Reader<'_, 'py> {
    /// An argument for a parameter, or for none that is known.
    pub fn argument(
        &mut self,
        scope: &Scope<'py>,
        value: &Bound<'py, PyAny>,
        parameter: Option<&Parameter<'py>>,
    ) -> Read<Argument<'static>> {
        if self.types.is_node(value) {
            return self.node_argument(scope, value);
        }
        if !is_list(value) {
            return self.literal(value);
        }
        let items = self.items(scope, value, DEPTH)?;
        if items.is_empty() { self.empty(parameter) } else { lists::argument(&items) }
    }

    /// An argument of `torch.onnx.ops.symbolic`. PyTorch's serializer only takes lists of lists if they contain tuples of known
    /// ints, and the outputs have the shapes.
    pub fn of_symbolic(
        &mut self,
        scope: &Scope<'py>,
        parameter: &Parameter<'py>,
        value: &Bound<'py, PyAny>,
    ) -> Read<Option<Argument<'static>>> {
        match parameter.text.as_str() {
            "shapes" => Ok(None),
            "attr_pos" => {
                let places: Vec<Vec<i64>> = value.extract()?;
                Ok((!places.is_empty()).then_some(Argument::AsIntLists(places)))
            }
            _ => self.argument(scope, value, Some(parameter)).map(Some),
        }
    }

    fn node_argument(&mut self, scope: &Scope<'py>, node: &Bound<'py, PyAny>) -> Read<Argument<'static>> {
        let Some(value) = scope.known(node) else { return self.nested(scope, node) };
        let name = value.name.clone().into();
        Ok(match value.kind {
            ValueKind::Tensor => Argument::AsTensor(TensorArgument { name }),
            ValueKind::Int => Argument::AsSymInt(SymIntArgument::AsName(name)),
            ValueKind::Float => Argument::AsSymFloat(SymFloatArgument::AsName(name)),
            ValueKind::Bool => Argument::AsSymBool(SymBoolArgument::AsName(name)),
        })
    }

    /// The graph that a node of the op `get_attr` stands for.
    fn nested(&mut self, scope: &Scope<'py>, node: &Bound<'py, PyAny>) -> Read<Argument<'static>> {
        if text(&node.getattr(intern!(node.py(), "op"))?)? != "get_attr" {
            return Err(Stop::unknown(format_args!("the argument {node}, which no node computes")));
        }
        let (name, module) = scope.attribute(node)?;
        if !module.is_instance(&self.types.graph_module)? {
            return Err(Stop::unknown(format_args!("the attribute {name} of the class {}", module.get_type())));
        }
        let graph = self.graph(&module)?;
        Ok(Argument::AsGraph(Box::new(GraphArgument { name: name.into(), graph })))
    }

    /// A value that is no node and no list.
    pub fn literal(&mut self, value: &Bound<'py, PyAny>) -> Read<Argument<'static>> {
        if value.is_none() {
            return Ok(Argument::AsNone(IgnoredAny));
        }
        let class = value.get_type();
        let types = self.types;
        Ok(if value.is_exact_instance_of::<PyBool>() {
            Argument::AsBool(value.is_truthy()?)
        } else if value.is_exact_instance_of::<PyInt>() {
            Argument::AsInt(value.extract()?)
        } else if value.is_exact_instance_of::<PyFloat>() {
            Argument::AsFloat(float(value)?)
        } else if value.is_exact_instance_of::<PyString>() {
            Argument::AsString(text(value)?.into())
        } else if value.is_exact_instance_of::<PyComplex>() {
            let part = |name| float(&value.getattr(name)?);
            Argument::AsComplex(ComplexValue { real: part("real")?, imag: part("imag")? })
        } else if class.is(&types.dtype) {
            Argument::AsScalarType(self.values.dtype(value)?)
        } else if class.is(&types.device) {
            let index = value.getattr("index")?.extract()?;
            Argument::AsDevice(Device { kind: text(&value.getattr("type")?)?.into(), index })
        } else if class.is(&types.memory_format) {
            Argument::AsMemoryFormat(number(&MEMORY_FORMATS, value)?)
        } else if class.is(&types.layout) {
            Argument::AsLayout(number(&LAYOUTS, value)?)
        } else if value.is_instance(&types.operator)? || value.is_instance(&types.higher_order)? {
            Argument::AsOperator(targets::name(value)?.into())
        } else {
            return Err(Stop::unknown(format_args!("an argument of the class {class}")));
        })
    }

    fn empty(&self, parameter: Option<&Parameter<'py>>) -> Read<Argument<'static>> {
        // What a higher-order operator is given are tensors.
        let element = parameter.map_or(Ok(Element::Tensor), |parameter| parameter.element(self.types))?;
        Ok(match element {
            Element::Bool => Argument::AsBools(Vec::new()),
            Element::Int => Argument::AsInts(Vec::new()),
            Element::Float => Argument::AsFloats(Vec::new()),
            Element::Str => Argument::AsStrings(Vec::new()),
            Element::Tensor => Argument::AsTensors(Vec::new()),
        })
    }

    /// The elements of a list or tuple.
    fn items(&self, scope: &Scope<'py>, value: &Bound<'py, PyAny>, depth: u32) -> Read<Vec<Item>> {
        if let Ok(list) = value.cast::<PyList>() {
            return list.iter().map(|value| self.item(scope, &value, depth)).collect();
        }
        value.cast::<PyTuple>()?.iter().map(|value| self.item(scope, &value, depth)).collect()
    }

    fn item(&self, scope: &Scope<'py>, value: &Bound<'py, PyAny>, depth: u32) -> Read<Item> {
        if self.types.is_node(value) {
            let known = scope.known(value);
            let known = known.ok_or_else(|| Stop::unknown(format_args!("a list with {value}")))?;
            return Ok(Item::Value(known.name.clone(), known.kind));
        }
        Ok(if value.is_none() {
            Item::None
        } else if value.is_exact_instance_of::<PyBool>() {
            Item::Bool(value.is_truthy()?)
        } else if value.is_exact_instance_of::<PyInt>() {
            Item::Int(value.extract()?)
        } else if value.is_exact_instance_of::<PyFloat>() {
            Item::Float(value.extract()?)
        } else if value.is_exact_instance_of::<PyString>() {
            Item::Str(text(value)?)
        } else if is_list(value) && depth > 0 {
            let items = self.items(scope, value, depth - 1)?;
            if value.is_instance_of::<PyTuple>() { Item::Tuple(items) } else { Item::List(items) }
        } else {
            return Err(Stop::unknown(format_args!("a list with an element of the class {}", value.get_type())));
        })
    }
}

fn is_list(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}

/// Numbers of the schema by PyTorch's names.
type Numbers = [(&'static str, i64)];

const MEMORY_FORMATS: [(&str, i64); 4] =
    [("contiguous_format", 1), ("channels_last", 2), ("channels_last_3d", 3), ("preserve_format", 4)];

const LAYOUTS: [(&str, i64); 7] = [
    ("sparse_coo", 1),
    ("sparse_csr", 2),
    ("sparse_csc", 3),
    ("sparse_bsr", 4),
    ("sparse_bsc", 5),
    ("_mkldnn", 6),
    ("strided", 7),
];

fn number(known: &Numbers, value: &Bound<'_, PyAny>) -> Read<i64> {
    let name = short(value)?;
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, number)| *number).ok_or_else(|| Stop::unknown(name))
}
