//! The nodes of a graph, and of the graphs that higher-order operators call.

use std::collections::HashMap;

use aten2onnx::frontend::pt2::schema::{
    Argument, Graph, ModuleStack, NamedArgument, Node, NodeMetadata, Pairs, SourceLine, SymBoolArgument,
    SymFloatArgument, SymIntArgument, TensorArgument,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::IgnoredAny;

use super::targets::{Kind, Schema, Targets};
use super::types::Types;
use super::values::Values;
use super::{Read, Stop, entry, text};

/// After so many nodes, look for Ctrl-C.
const LOOK: usize = 1000;

/// Reads graphs; what one looks up, the others know.
pub struct Reader<'t, 'py> {
    pub types: &'t Types<'py>,
    pub targets: Targets<'t, 'py>,
    pub values: Values<'t, 'py>,
}

/// A graph that is being read.
pub struct Scope<'py> {
    module: Bound<'py, PyAny>,
    /// What its nodes compute, by their address.
    known: HashMap<usize, Value>,
    graph: Graph<'static>,
}

/// What a node computes.
pub struct Value {
    pub name: String,
    pub kind: ValueKind,
}

/// The kinds of values that arguments tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Tensor,
    Int,
    Float,
    Bool,
}

impl<'t, 'py> Reader<'t, 'py> {
    pub fn new(py: Python<'py>, types: &'t Types<'py>) -> Reader<'t, 'py> {
        Reader { types, targets: Targets::new(types), values: Values::new(py, types) }
    }

    /// Reads the graph of a `GraphModule`.
    pub fn graph(&mut self, module: &Bound<'py, PyAny>) -> Read<Graph<'static>> {
        let mut scope = Scope::new(module);
        let nodes = module.getattr(intern!(module.py(), "graph"))?.getattr(intern!(module.py(), "nodes"))?;
        for (index, node) in nodes.try_iter()?.enumerate() {
            let node = node?;
            if !self.types.is_node(&node) {
                return Err(Stop::unknown(format_args!("a node of the class {}", node.get_type())));
            }
            self.node(&mut scope, &node)?;
            if index % LOOK == 0 {
                module.py().check_signals()?;
            }
        }
        Ok(scope.graph)
    }

    fn node(&mut self, scope: &mut Scope<'py>, node: &Bound<'py, PyAny>) -> Read<()> {
        let py = node.py();
        let op = node.getattr(intern!(py, "op"))?.cast_into::<PyString>()?;
        match &*op.to_cow()? {
            "placeholder" => self.placeholder(scope, node),
            "call_function" => self.call(scope, node),
            // Its users describe what it is.
            "get_attr" => Ok(()),
            "output" => self.output(scope, node),
            other => Err(Stop::unknown(format_args!("a node with the op {other}"))),
        }
    }

    fn placeholder(&mut self, scope: &mut Scope<'py>, node: &Bound<'py, PyAny>) -> Read<()> {
        let value = meta(node)?.get_item(intern!(node.py(), "val"))?;
        let value = value.ok_or_else(|| Stop::unknown("an input without a value"))?;
        let is_value = self.types.is_tensor(&value)? || value.get_type().is(&self.types.sym_int);
        let input = match is_value {
            true => self.result(scope, Some(node), name(node)?, &value)?,
            false => self.literal(&value)?,
        };
        scope.graph.inputs.push(input);
        Ok(())
    }

    fn output(&mut self, scope: &mut Scope<'py>, node: &Bound<'py, PyAny>) -> Read<()> {
        let returned = args(node)?.get_item(0)?;
        if self.types.is_node(&returned) {
            let output = self.argument(scope, &returned, None)?;
            scope.graph.outputs.push(output);
            return Ok(());
        }
        for value in sequence(&returned)? {
            let output = self.argument(scope, &value, None)?;
            scope.graph.outputs.push(output);
        }
        Ok(())
    }

    fn call(&mut self, scope: &mut Scope<'py>, node: &Bound<'py, PyAny>) -> Read<()> {
        let py = node.py();
        let target = self.targets.of(&node.getattr(intern!(py, "target"))?)?;
        if matches!(target.kind, Kind::Getitem) {
            return Ok(());
        }
        let meta = meta(node)?;
        let value = meta.get_item(intern!(py, "val"))?.filter(|value| !value.is_none());
        let is_number = value.as_ref().is_some_and(|value| self.is_symbolic(value));
        let (inputs, outputs) = match &target.kind {
            Kind::Number(parameters) => {
                let inputs = self.positional(scope, node, parameters.iter())?;
                (inputs, vec![self.only_result(scope, node, value.as_ref())?])
            }
            Kind::Operator(schema) if is_number => {
                let inputs = self.positional(scope, node, schema.arguments.iter().map(|parameter| &parameter.text))?;
                (inputs, vec![self.only_result(scope, node, value.as_ref())?])
            }
            Kind::Operator(schema) => {
                (self.by_schema(scope, node, schema)?, self.results(scope, node, schema, value.as_ref())?)
            }
            Kind::Plain if is_number => return Err(Stop::unknown(format_args!("a number of {}", target.name))),
            Kind::Plain => (self.unnamed(scope, node)?, self.plain_results(scope, node, value.as_ref())?),
            Kind::Getitem => return Ok(()),
        };
        let metadata = metadata(&meta)?;
        let name = Some(name(node)?.into());
        let target = target.name.clone().into();
        let is_hop_single_tensor_return = None;
        scope.graph.nodes.push(Node { target, inputs, outputs, metadata, name, is_hop_single_tensor_return });
        Ok(())
    }

    fn is_symbolic(&self, value: &Bound<'py, PyAny>) -> bool {
        let class = value.get_type();
        class.is(&self.types.sym_int) || class.is(&self.types.sym_bool) || class.is(&self.types.sym_float)
    }

    /// The arguments of a function on numbers.
    fn positional<'a>(
        &mut self,
        scope: &Scope<'py>,
        node: &Bound<'py, PyAny>,
        names: impl Iterator<Item = &'a String>,
    ) -> Read<Vec<NamedArgument<'static>>> {
        if !kwargs(node)?.is_empty() {
            return Err(Stop::unknown("a function on numbers with keyword arguments"));
        }
        let given = args(node)?;
        names.zip(given.iter()).map(|(name, value)| Ok(named(name, self.argument(scope, &value, None)?))).collect()
    }

    /// The given arguments of an operator.
    fn by_schema(
        &mut self,
        scope: &Scope<'py>,
        node: &Bound<'py, PyAny>,
        schema: &Schema<'py>,
    ) -> Read<Vec<NamedArgument<'static>>> {
        let (args, kwargs) = (args(node)?, kwargs(node)?);
        let mut given = Vec::with_capacity(args.len() + kwargs.len());
        for (index, parameter) in schema.arguments.iter().enumerate() {
            let value = match kwargs.is_empty() {
                true => None,
                false => kwargs.get_item(&parameter.name)?,
            };
            let value = match value {
                None if !parameter.keyword_only && index < args.len() => args.get_item(index)?,
                None => continue,
                Some(value) => value,
            };
            let argument = match schema.symbolic {
                false => self.argument(scope, &value, Some(parameter))?,
                true => match self.of_symbolic(scope, parameter, &value)? {
                    None => continue,
                    Some(argument) => argument,
                },
            };
            given.push(named(&parameter.text, argument));
        }
        self.surplus(scope, schema, &args, &kwargs, &mut given)?;
        Ok(given)
    }

    /// The arguments that the schema lacks, which the library refuses by their names. Those by position have none.
    fn surplus(
        &mut self,
        scope: &Scope<'py>,
        schema: &Schema<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
        given: &mut Vec<NamedArgument<'static>>,
    ) -> Read<()> {
        let positional = schema.arguments.iter().filter(|parameter| !parameter.keyword_only).count();
        for value in args.iter().skip(positional) {
            given.push(named("", self.argument(scope, &value, None)?));
        }
        if kwargs.is_empty() {
            return Ok(());
        }
        for (name, value) in kwargs.iter() {
            let name = text(&name)?;
            if !schema.arguments.iter().any(|parameter| parameter.text == name) {
                given.push(named(&name, self.argument(scope, &value, None)?));
            }
        }
        Ok(())
    }

    /// The arguments of a higher-order operator.
    fn unnamed(&mut self, scope: &Scope<'py>, node: &Bound<'py, PyAny>) -> Read<Vec<NamedArgument<'static>>> {
        let mut given = Vec::new();
        for value in args(node)?.iter() {
            given.push(named("", self.argument(scope, &value, None)?));
        }
        for (name, value) in kwargs(node)?.iter() {
            given.push(named(&text(&name)?, self.argument(scope, &value, None)?));
        }
        Ok(given)
    }

    fn only_result(
        &mut self,
        scope: &mut Scope<'py>,
        node: &Bound<'py, PyAny>,
        value: Option<&Bound<'py, PyAny>>,
    ) -> Read<Argument<'static>> {
        match value {
            None => Ok(Argument::AsNone(IgnoredAny)),
            Some(value) => self.result(scope, Some(node), name(node)?, value),
        }
    }

    /// The results of an operator. Elements of a result have the names of the nodes that take them.
    fn results(
        &mut self,
        scope: &mut Scope<'py>,
        node: &Bound<'py, PyAny>,
        schema: &Schema<'py>,
        value: Option<&Bound<'py, PyAny>>,
    ) -> Read<Vec<Argument<'static>>> {
        match (schema.returns, value) {
            (0, _) => Ok(Vec::new()),
            (1, value) if !schema.returns_list => Ok(vec![self.only_result(scope, node, value)?]),
            (_, None) => Err(Stop::unknown("an operator without results")),
            (1, Some(value)) => {
                let users = Elements::of(self.types, std::slice::from_ref(node))?;
                Ok(vec![self.tensors(scope, &users, &sequence(value)?, &name(node)?)?])
            }
            (count, Some(value)) => {
                let values = sequence(value)?;
                let values = values.get(..count).unwrap_or(&values);
                self.elements(scope, node, values)
            }
        }
    }

    /// The results of a higher-order operator.
    fn plain_results(
        &mut self,
        scope: &mut Scope<'py>,
        node: &Bound<'py, PyAny>,
        value: Option<&Bound<'py, PyAny>>,
    ) -> Read<Vec<Argument<'static>>> {
        match value.map(|value| value.cast::<PyTuple>()) {
            Some(Ok(values)) => self.elements(scope, node, &values.iter().collect::<Vec<_>>()),
            _ => Ok(vec![self.only_result(scope, node, value)?]),
        }
    }

    fn elements(
        &mut self,
        scope: &mut Scope<'py>,
        node: &Bound<'py, PyAny>,
        values: &[Bound<'py, PyAny>],
    ) -> Read<Vec<Argument<'static>>> {
        let users = Elements::of(self.types, std::slice::from_ref(node))?;
        let mut outputs = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let taken = users.takers(index);
            let output = match value.cast::<PyList>() {
                Ok(list) => {
                    let users = Elements::of(self.types, taken)?;
                    let unused = format!("{}_unused_{index}", name(node)?);
                    self.list(scope, &users, &list.iter().collect::<Vec<_>>(), |at| format!("{unused}_{at}"))?
                }
                Err(_) if value.is_none() => Argument::AsNone(IgnoredAny),
                Err(_) => self.element(scope, taken, value, || Ok(format!("{}_unused_{index}", name(node)?)))?,
            };
            outputs.push(output);
        }
        Ok(outputs)
    }

    fn tensors(
        &mut self,
        scope: &mut Scope<'py>,
        users: &Elements<'py>,
        values: &[Bound<'py, PyAny>],
        producer: &str,
    ) -> Read<Argument<'static>> {
        self.list(scope, users, values, |at| format!("{producer}_unused_{at}"))
    }

    /// A list of tensors.
    fn list(
        &mut self,
        scope: &mut Scope<'py>,
        users: &Elements<'py>,
        values: &[Bound<'py, PyAny>],
        unused: impl Fn(usize) -> String,
    ) -> Read<Argument<'static>> {
        let mut tensors = Vec::with_capacity(values.len());
        for (at, value) in values.iter().enumerate() {
            match self.element(scope, users.takers(at), value, || Ok(unused(at)))? {
                Argument::AsTensor(tensor) => tensors.push(tensor),
                _ => return Err(Stop::unknown("a list with results that are no tensors")),
            }
        }
        Ok(Argument::AsTensors(tensors))
    }

    /// An element of a result, which has the name of the first node that takes it.
    fn element(
        &mut self,
        scope: &mut Scope<'py>,
        takers: &[Bound<'py, PyAny>],
        value: &Bound<'py, PyAny>,
        unused: impl Fn() -> Read<String>,
    ) -> Read<Argument<'static>> {
        let Some((first, others)) = takers.split_first() else {
            return self.result(scope, None, unused()?, value);
        };
        let name = name(first)?;
        let result = self.result(scope, Some(first), name.clone(), value)?;
        let kind = scope.known(first).map_or(ValueKind::Tensor, |value| value.kind);
        for other in others {
            scope.learn(other, Value { name: name.clone(), kind });
        }
        Ok(result)
    }

    /// Notes a value with its name, and what it is.
    fn result(
        &mut self,
        scope: &mut Scope<'py>,
        node: Option<&Bound<'py, PyAny>>,
        name: String,
        value: &Bound<'py, PyAny>,
    ) -> Read<Argument<'static>> {
        let types = self.types;
        let class = value.get_type();
        let graph = &mut scope.graph;
        let (argument, kind) = if types.is_tensor(value)? {
            graph.tensor_values.0.push((name.clone().into(), self.values.tensor(value)?));
            (Argument::AsTensor(TensorArgument { name: name.clone().into() }), ValueKind::Tensor)
        } else if class.is(&types.sym_bool) || value.is_instance_of::<PyBool>() {
            graph.sym_bool_values.0.push((name.clone().into(), self.values.sym_bool(value)?));
            (Argument::AsSymBool(SymBoolArgument::AsName(name.clone().into())), ValueKind::Bool)
        } else if class.is(&types.sym_int) || value.is_instance_of::<PyInt>() {
            graph.sym_int_values.0.push((name.clone().into(), self.values.sym_int(value)?));
            (Argument::AsSymInt(SymIntArgument::AsName(name.clone().into())), ValueKind::Int)
        } else if class.is(&types.sym_float) || value.is_instance_of::<PyFloat>() {
            graph.sym_float_values.0.push((name.clone().into(), self.values.sym_float(value)?));
            (Argument::AsSymFloat(SymFloatArgument::AsName(name.clone().into())), ValueKind::Float)
        } else if value.is_none() {
            return Ok(Argument::AsNone(IgnoredAny));
        } else {
            return Err(Stop::unknown(format_args!("a result of the class {class}")));
        };
        if let Some(node) = node {
            scope.learn(node, Value { name, kind });
        }
        Ok(argument)
    }
}

impl<'py> Scope<'py> {
    fn new(module: &Bound<'py, PyAny>) -> Scope<'py> {
        let graph = Graph {
            inputs: Vec::new(),
            outputs: Vec::new(),
            nodes: Vec::new(),
            tensor_values: Pairs::default(),
            sym_int_values: Pairs::default(),
            sym_bool_values: Pairs::default(),
            sym_float_values: Pairs::default(),
            is_single_tensor_return: false,
        };
        Scope { module: module.clone(), known: HashMap::new(), graph }
    }

    /// What a node computes, if it is described.
    pub fn known(&self, node: &Bound<'py, PyAny>) -> Option<&Value> {
        self.known.get(&(node.as_ptr() as usize))
    }

    /// An attribute of the module, such as a nested graph.
    pub fn attribute(&self, node: &Bound<'py, PyAny>) -> Read<(String, Bound<'py, PyAny>)> {
        let name = node.getattr(intern!(node.py(), "target"))?.cast_into::<PyString>()?;
        let found = self.module.getattr(&name)?;
        Ok((text(&name)?, found))
    }

    fn learn(&mut self, node: &Bound<'py, PyAny>, value: Value) {
        self.known.insert(node.as_ptr() as usize, value);
    }
}

/// The nodes that take elements of a result, by index.
struct Elements<'py>(HashMap<usize, Vec<Bound<'py, PyAny>>>);

impl<'py> Elements<'py> {
    /// Those of all these nodes, which compute the same.
    fn of(types: &Types<'py>, nodes: &[Bound<'py, PyAny>]) -> Read<Elements<'py>> {
        let mut elements: HashMap<usize, Vec<Bound<'py, PyAny>>> = HashMap::new();
        for node in nodes {
            let py = node.py();
            let users = node.getattr(intern!(py, "users"))?.cast_into::<PyDict>()?;
            for user in users.keys() {
                if !user.getattr(intern!(py, "target"))?.is(&types.getitem) {
                    return Err(Stop::unknown(format_args!("{} uses a list as a whole", name(&user)?)));
                }
                let index = args(&user)?.get_item(1)?.extract();
                let index: usize = index.map_err(|_| Stop::unknown("an element that no index names"))?;
                elements.entry(index).or_default().push(user);
            }
        }
        Ok(Elements(elements))
    }

    fn takers(&self, index: usize) -> &[Bound<'py, PyAny>] {
        self.0.get(&index).map_or(&[], Vec::as_slice)
    }
}

fn named(name: &str, arg: Argument<'static>) -> NamedArgument<'static> {
    NamedArgument { name: name.to_owned().into(), arg }
}

/// The name of a node.
pub fn name(node: &Bound<'_, PyAny>) -> Read<String> {
    text(&node.getattr(intern!(node.py(), "name"))?)
}

fn args<'py>(node: &Bound<'py, PyAny>) -> Read<Bound<'py, PyTuple>> {
    Ok(node.getattr(intern!(node.py(), "args"))?.cast_into::<PyTuple>()?)
}

fn kwargs<'py>(node: &Bound<'py, PyAny>) -> Read<Bound<'py, PyDict>> {
    Ok(node.getattr(intern!(node.py(), "kwargs"))?.cast_into::<PyDict>()?)
}

fn meta<'py>(node: &Bound<'py, PyAny>) -> Read<Bound<'py, PyDict>> {
    Ok(node.getattr(intern!(node.py(), "meta"))?.cast_into::<PyDict>()?)
}

/// The elements of a list or tuple.
fn sequence<'py>(value: &Bound<'py, PyAny>) -> Read<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    Ok(value.cast::<PyList>()?.iter().collect())
}

/// Where a node comes from.
fn metadata(meta: &Bound<'_, PyDict>) -> Read<NodeMetadata> {
    let py = meta.py();
    let mut read = NodeMetadata::default();
    if let Some(trace) = entry(meta, intern!(py, "stack_trace"))?.filter(|trace| !trace.is_none()) {
        read.stack_trace = SourceLine::of(&trace.cast::<PyString>()?.to_cow()?);
    }
    let stack = entry(meta, intern!(py, "nn_module_stack"))?;
    let Some(stack) = stack.filter(|stack| !stack.is_none()) else { return Ok(read) };
    let mut entries = Vec::new();
    for (key, module) in stack.cast::<PyDict>()?.iter() {
        let (path, class): (String, String) = module.extract()?;
        entries.push(format!("{},{path},{class}", text(&key)?));
    }
    read.nn_module_stack = ModuleStack::of(&entries.join(";"));
    Ok(read)
}
