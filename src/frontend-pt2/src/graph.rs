//! Converts a graph of the JSON to a [`Graph`] of the program: nodes, arguments, tables of values, nested graphs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::returns;
use super::schema::{self, Argument, OptionalTensorArgument, SymBoolArgument, SymFloatArgument, SymIntArgument};
use super::symexpr::Expressions;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::arguments;
use aten2onnx_program::{
    Arg, FloatArg, Graph, Input, InputKind, IntArg, ModuleCall, Node, NodeOutput, Output, OutputKind, SymNumber,
    TensorMeta,
};

/// Reads graphs and keeps the state that they share.
#[derive(Debug, Default)]
pub struct GraphReader {
    expressions: Expressions,
    /// The values of symbols in the example.
    pub hints: FxHashMap<String, i64>,
    /// The calls of modules that nodes are in.
    pub calls: FxHashMap<String, Arc<[ModuleCall]>>,
    /// The same by the text of the stack.
    stacks: FxHashMap<Box<str>, Arc<[ModuleCall]>>,
}

impl GraphReader {
    /// Reads a graph without its inputs and outputs, which the signature describes at the top level.
    pub fn body(&mut self, nodes: Vec<schema::Node<'_>>, tables: Tables<'_>) -> Result<Graph> {
        let mut graph = Graph::default();
        self.tables(tables, &mut graph)?;
        graph.nodes = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.into_iter().enumerate() {
            let target = node.target.to_string();
            let name = node.name.as_deref().map(str::to_owned);
            let read = self.node(node, index).map_err(|error| {
                let name = name.map(|name| format!(" `{name}`")).unwrap_or_default();
                error.at(format!("nodes[{index}]{name} ({target})"))
            });
            graph.nodes.push(read?);
        }
        records(&graph)?;
        Ok(graph)
    }

    /// A nested graph, whose inputs are bound by position.
    fn nested(&mut self, graph: schema::Graph<'_>) -> Result<Graph> {
        returns::of_graph(&graph)?;
        let (inputs, nodes, outputs, tables) = split(graph);
        let mut read = self.body(nodes, tables)?;
        for (index, input) in inputs.into_iter().enumerate() {
            let input = self.input(input, index).map_err(|error| error.at(format!("inputs[{index}]")))?;
            read.inputs.push(input);
        }
        for (index, output) in outputs.into_iter().enumerate() {
            let value = self.argument(output).map_err(|error| error.at(format!("outputs[{index}]")))?;
            read.outputs.push(Output { value, kind: OutputKind::User });
        }
        Ok(read)
    }

    /// An input that is not a weight.
    pub fn input(&mut self, argument: Argument<'_>, index: usize) -> Result<Input> {
        let (name, kind) = match argument {
            Argument::AsTensor(tensor) => (tensor.name.into_string(), InputKind::Tensor),
            Argument::AsSymInt(SymIntArgument::AsName(name)) => (name.into_string(), InputKind::SymInt),
            Argument::AsSymFloat(SymFloatArgument::AsName(name)) => (name.into_string(), InputKind::SymFloat),
            Argument::AsSymBool(SymBoolArgument::AsName(name)) => (name.into_string(), InputKind::SymBool),
            Argument::AsOptionalTensor(OptionalTensorArgument::AsTensor(tensor)) => {
                (tensor.name.into_string(), InputKind::Tensor)
            }
            literal => (format!("constant_input_{index}"), InputKind::Constant(self.argument(literal)?)),
        };
        Ok(Input { name, kind })
    }

    fn node(&mut self, node: schema::Node<'_>, index: usize) -> Result<Node> {
        returns::of_node(&node)?;
        let mut args = Vec::with_capacity(node.inputs.len());
        for (position, input) in node.inputs.into_iter().enumerate() {
            let place = |error: Error| error.at(format!("inputs[{position}]"));
            let name = input.name.into_string();
            let arg = self.argument(input.arg).map_err(|error| match name.as_str() {
                "" => place(error),
                name => place(error.at(format!("`{name}`"))),
            })?;
            args.push((name, arg));
        }
        let mut outputs = Vec::with_capacity(node.outputs.len());
        for (position, output) in returns::separate(&node.target, node.outputs).into_iter().enumerate() {
            outputs.push(node_output(output).map_err(|error| error.at(format!("outputs[{position}]")))?);
        }
        let name = match node.name {
            Some(name) => name.into_string(),
            None => node_name(&outputs, index),
        };
        self.note_calls(&name, &node.metadata.nn_module_stack);
        let target = without_token(target(&node.target), &mut args, &mut outputs);
        Ok(Node {
            name,
            target,
            args,
            outputs,
            module: node.metadata.nn_module_stack.path,
            module_type: node.metadata.nn_module_stack.kind,
            source_line: node.metadata.stack_trace.0,
        })
    }

    /// Notes the calls of modules that a node is in. Most nodes share them with others.
    fn note_calls(&mut self, node: &str, stack: &schema::ModuleStack) {
        if stack.path.is_none() {
            return;
        }
        let calls = match self.stacks.get(&stack.text) {
            Some(calls) => Arc::clone(calls),
            None => {
                let calls: Arc<[ModuleCall]> = stack.calls().into();
                self.stacks.insert(stack.text.clone(), Arc::clone(&calls));
                calls
            }
        };
        // Nodes of nested graphs, which are read first, may have the same names.
        self.calls.insert(node.to_owned(), calls);
    }

    /// An argument of a node, or an output of a graph.
    pub fn argument(&mut self, argument: Argument<'_>) -> Result<Arg> {
        Ok(match argument {
            Argument::AsNone(_) => Arg::None,
            Argument::AsTensor(tensor) => Arg::Tensor(tensor.name.into_string()),
            Argument::AsTensors(tensors) => {
                Arg::Tensors(tensors.into_iter().map(|tensor| Some(tensor.name.into_string())).collect())
            }
            Argument::AsOptionalTensors(tensors) => Arg::Tensors(tensors.into_iter().map(optional_tensor).collect()),
            Argument::AsOptionalTensor(tensor) => optional_tensor(tensor).map_or(Arg::None, Arg::Tensor),
            Argument::AsNestedTensors(lists) => {
                let names = |list: Vec<schema::TensorArgument<'_>>| {
                    list.into_iter().map(|tensor| tensor.name.into_string()).collect()
                };
                Arg::NestedTensors(lists.into_iter().map(names).collect())
            }
            Argument::AsInt(number) => Arg::Int(number),
            Argument::AsInts(numbers) => Arg::Ints(numbers.into_iter().map(IntArg::Known).collect()),
            Argument::AsIntLists(lists) => Arg::IntLists(lists),
            Argument::AsFloat(number) => Arg::Float(number.0),
            Argument::AsFloats(numbers) => Arg::Floats(numbers.into_iter().map(|number| number.0).collect()),
            Argument::AsComplex(number) => Arg::Complex(number.real.0, number.imag.0),
            Argument::AsBool(flag) => Arg::Bool(flag),
            Argument::AsBools(flags) => Arg::Bools(flags),
            Argument::AsString(text) => Arg::Str(text.into_string()),
            Argument::AsStrings(texts) => Arg::Strs(texts.into_iter().map(schema::Text::into_string).collect()),
            Argument::AsSymInt(SymIntArgument::AsName(name)) => Arg::Sym(name.into_string()),
            Argument::AsSymInt(SymIntArgument::AsInt(number)) => Arg::Int(number),
            Argument::AsSymInts(numbers) => Arg::Ints(numbers.into_iter().map(int_arg).collect()),
            Argument::AsSymFloat(SymFloatArgument::AsName(name)) => Arg::Sym(name.into_string()),
            Argument::AsSymFloat(SymFloatArgument::AsFloat(number)) => Arg::Float(number.0),
            Argument::AsSymFloats(numbers) => Arg::SymFloats(numbers.into_iter().map(float_arg).collect()),
            Argument::AsSymBool(SymBoolArgument::AsName(name)) => Arg::Sym(name.into_string()),
            Argument::AsSymBool(SymBoolArgument::AsBool(flag)) => Arg::Bool(flag),
            Argument::AsSymBools(flags) => sym_bools(flags)?,
            Argument::AsScalarType(number) => Arg::Dtype(dtype(number)?),
            Argument::AsMemoryFormat(number) => Arg::Opaque(memory_format(number)),
            Argument::AsLayout(number) => Arg::Opaque(layout(number)),
            Argument::AsDevice(device) => Arg::Opaque(match device.index {
                Some(index) => format!("{}:{index}", &*device.kind),
                None => device.kind.into_string(),
            }),
            Argument::AsOperator(name) => Arg::Operator(target(&name)),
            Argument::AsGraph(nested) => {
                let name = nested.name.into_string();
                Arg::Graph(Arc::new(self.nested(nested.graph).map_err(|error| error.at(format!("graph `{name}`")))?))
            }
            Argument::AsCustomObj(object) => {
                let message =
                    format!("`{}` is an object of the unsupported class {}", &*object.name, &*object.class_fqn);
                return Err(Error::unsupported(message));
            }
            Argument::AsStringToArgument(_) => {
                return Err(Error::unsupported("dictionaries as arguments are not supported"));
            }
            Argument::AsFloatLists(_) => {
                return Err(Error::unsupported("lists of lists of floats as arguments are not supported"));
            }
        })
    }

    fn tables(&mut self, tables: Tables<'_>, graph: &mut Graph) -> Result<()> {
        let mut tensors = FxHashMap::with_capacity_and_hasher(tables.tensors.0.len(), rustc_hash::FxBuildHasher);
        for (name, meta) in tables.tensors.0 {
            let meta = self.tensor_meta(meta).map_err(|error| error.at(format!("tensor_values[{:?}]", &*name)))?;
            tensors.insert(name.into_string(), meta);
        }
        graph.tensors = tensors;
        for (name, value) in tables.sym_ints.0 {
            let value = self.sym_int(&value).map_err(|error| error.at(format!("sym_int_values[{:?}]", &*name)))?;
            graph.sym_ints.insert(name.into_string(), value);
        }
        for (name, value) in tables.sym_floats.0 {
            let value = match value {
                schema::SymFloat::AsFloat(number) => SymNumber::Float(number.0),
                schema::SymFloat::AsExpr(_) => SymNumber::Unknown,
            };
            graph.sym_floats.insert(name.into_string(), value);
        }
        for (name, value) in tables.sym_bools.0 {
            let value = match value {
                schema::SymBool::AsBool(flag) => SymNumber::Bool(flag),
                schema::SymBool::AsExpr(_) => SymNumber::Unknown,
            };
            graph.sym_bools.insert(name.into_string(), value);
        }
        Ok(())
    }

    fn tensor_meta(&mut self, meta: schema::TensorMeta<'_>) -> Result<TensorMeta> {
        if meta.layout != schema::STRIDED {
            let message = format!("a tensor has the layout {}; ONNX only has dense tensors", layout(meta.layout));
            return Err(Error::unsupported(message));
        }
        let dtype = dtype(meta.dtype)?;
        let mut sizes = Vec::with_capacity(meta.sizes.len());
        for size in &meta.sizes {
            let size = self.sym_int(size)?;
            if size.known().is_some_and(|size| size < 0) {
                return Err(Error::input(format!("the size {size} is negative")));
            }
            sizes.push(size);
        }
        let strides = meta.strides.iter().map(|stride| self.sym_int(stride)).collect::<Result<Vec<SymInt>>>()?;
        if !strides.is_empty() && strides.len() != sizes.len() {
            return Err(Error::input(format!("{} sizes but {} strides", sizes.len(), strides.len())));
        }
        Ok(TensorMeta { dtype, sizes, strides, storage_offset: self.sym_int(&meta.storage_offset)? })
    }

    fn sym_int(&mut self, value: &schema::SymInt<'_>) -> Result<SymInt> {
        match value {
            schema::SymInt::AsInt(number) => Ok(SymInt::from(*number)),
            schema::SymInt::AsExpr(expression) => {
                let size = self.expressions.read(&expression.expr_str)?;
                if let (Some(symbol), Some(schema::Hint::AsInt(hint))) = (size.as_symbol(), &expression.hint) {
                    self.hints.insert(symbol.to_owned(), *hint);
                }
                Ok(size)
            }
        }
    }
}

/// The value tables of a graph.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Tables<'a> {
    pub tensors: schema::Pairs<'a, schema::TensorMeta<'a>>,
    pub sym_ints: schema::Pairs<'a, schema::SymInt<'a>>,
    pub sym_floats: schema::Pairs<'a, schema::SymFloat>,
    pub sym_bools: schema::Pairs<'a, schema::SymBool>,
}

/// Splits a graph into inputs, nodes, outputs and tables.
pub fn split<'a>(
    graph: schema::Graph<'a>,
) -> (Vec<Argument<'a>>, Vec<schema::Node<'a>>, Vec<Argument<'a>>, Tables<'a>) {
    let tables = Tables {
        tensors: graph.tensor_values,
        sym_ints: graph.sym_int_values,
        sym_floats: graph.sym_float_values,
        sym_bools: graph.sym_bool_values,
    };
    (graph.inputs, graph.nodes, graph.outputs, tables)
}

/// Checks that every number which a node computes has a record, as PyTorch demands: its dtype follows from the table that it is in.
fn records(graph: &Graph) -> Result<()> {
    for node in &graph.nodes {
        for output in &node.outputs {
            let NodeOutput::Sym(name) = output else { continue };
            let is_float_or_bool = graph.sym_floats.contains_key(name) || graph.sym_bools.contains_key(name);
            if !is_float_or_bool && !graph.sym_ints.contains_key(name) {
                let error = Error::input(format!("the graph has no record of the number `{name}`"));
                return Err(error
                    .help("the file is damaged: save the program again")
                    .at(format!("node `{}`", node.name)));
            }
        }
    }
    Ok(())
}

/// Unwraps `with_effects(token, operator, ..)`, which returns a token and the results of the operator: tokens keep side
/// effects in order, as the order of nodes does here.
fn without_token(target: String, args: &mut Vec<(String, Arg)>, outputs: &mut Vec<NodeOutput>) -> String {
    if target != "higher_order::with_effects" || outputs.is_empty() {
        return target;
    }
    let [(_, Arg::Tensor(_)), (_, Arg::Operator(operator)), ..] = args.as_slice() else { return target };
    let operator = operator.clone();
    args.drain(..2);
    outputs.remove(0);
    // Arguments by position have no names there.
    let names = arguments::parameters(&operator).unwrap_or_default();
    for ((given, _), name) in args.iter_mut().zip(names).filter(|((given, _), _)| given.is_empty()) {
        name.clone_into(given);
    }
    operator
}

fn node_output(argument: Argument<'_>) -> Result<NodeOutput> {
    Ok(match argument {
        Argument::AsTensor(tensor) => NodeOutput::Tensor(tensor.name.into_string()),
        Argument::AsOptionalTensor(tensor) => optional_tensor(tensor).map_or(NodeOutput::None, NodeOutput::Tensor),
        Argument::AsTensors(tensors) => {
            NodeOutput::Tensors(tensors.into_iter().map(|tensor| tensor.name.into_string()).collect())
        }
        Argument::AsSymInt(SymIntArgument::AsName(name))
        | Argument::AsSymFloat(SymFloatArgument::AsName(name))
        | Argument::AsSymBool(SymBoolArgument::AsName(name)) => NodeOutput::Sym(name.into_string()),
        // Constants have no name, so they cannot be used.
        Argument::AsNone(_)
        | Argument::AsInt(_)
        | Argument::AsFloat(_)
        | Argument::AsBool(_)
        | Argument::AsString(_)
        | Argument::AsSymInt(_)
        | Argument::AsSymFloat(_)
        | Argument::AsSymBool(_) => NodeOutput::None,
        _ => return Err(Error::unsupported("a result must be a tensor, a list of tensors or a number")),
    })
}

/// torch 2.8 and older did not write names of nodes.
fn node_name(outputs: &[NodeOutput], index: usize) -> String {
    match outputs.first() {
        Some(NodeOutput::Tensor(name) | NodeOutput::Sym(name)) => name.clone(),
        Some(NodeOutput::Tensors(names)) if !names.is_empty() => names.first().cloned().unwrap_or_default(),
        _ => format!("node_{index}"),
    }
}

/// `torch.ops.aten.add.Tensor` becomes `aten::add.Tensor`; the overload `default` is omitted.
pub fn target(name: &str) -> String {
    if let Some(operator) = name.strip_prefix("torch.ops.") {
        let operator = operator.strip_suffix(".default").unwrap_or(operator);
        return operator.replacen('.', "::", 1);
    }
    match name.rsplit_once('.') {
        Some((module, function)) => format!("{module}::{function}"),
        None => name.to_owned(),
    }
}

fn optional_tensor(tensor: OptionalTensorArgument<'_>) -> Option<String> {
    match tensor {
        OptionalTensorArgument::AsTensor(tensor) => Some(tensor.name.into_string()),
        OptionalTensorArgument::AsNone(_) => None,
    }
}

fn int_arg(number: SymIntArgument<'_>) -> IntArg {
    match number {
        SymIntArgument::AsName(name) => IntArg::Named(name.into_string()),
        SymIntArgument::AsInt(number) => IntArg::Known(number),
    }
}

fn float_arg(number: SymFloatArgument<'_>) -> FloatArg {
    match number {
        SymFloatArgument::AsName(name) => FloatArg::Named(name.into_string()),
        SymFloatArgument::AsFloat(number) => FloatArg::Known(number.0),
    }
}

fn sym_bools(flags: Vec<SymBoolArgument<'_>>) -> Result<Arg> {
    let known = flags.into_iter().map(|flag| match flag {
        SymBoolArgument::AsBool(flag) => Ok(flag),
        SymBoolArgument::AsName(name) => Err(Error::unsupported(format!(
            "lists of booleans with computed values such as `{}` are not supported",
            &*name
        ))),
    });
    Ok(Arg::Bools(known.collect::<Result<_>>()?))
}

/// The element type with this number in the schema.
pub fn dtype(number: i64) -> Result<Dtype> {
    Dtype::from_pt2(number).ok_or_else(|| Error::unsupported(format!("unknown element type {number}")))
}

fn memory_format(number: i64) -> String {
    let name = match number {
        1 => "contiguous_format",
        2 => "channels_last",
        3 => "channels_last_3d",
        4 => "preserve_format",
        _ => return format!("memory_format_{number}"),
    };
    name.to_owned()
}

/// The name in torch of the layout with this number in the schema.
pub fn layout(number: i64) -> String {
    let name = match number {
        1 => "sparse_coo",
        2 => "sparse_csr",
        3 => "sparse_csc",
        4 => "sparse_bsr",
        5 => "sparse_bsc",
        6 => "_mkldnn",
        7 => "strided",
        _ => return format!("layout_{number}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_named_as_torch_names_operators() {
        for (written, read) in [
            ("torch.ops.aten.add.Tensor", "aten::add.Tensor"),
            ("torch.ops.aten.relu.default", "aten::relu"),
            ("torch.ops.torchvision.nms.default", "torchvision::nms"),
            ("torch.ops.higher_order.cond", "higher_order::cond"),
            ("_operator.mul", "_operator::mul"),
            ("math.trunc", "math::trunc"),
            ("torch.sym_max", "torch::sym_max"),
            ("torch._functorch.predispatch._add_batch_dim", "torch._functorch.predispatch::_add_batch_dim"),
            ("#my:op", "#my:op"),
        ] {
            assert_eq!(target(written), read);
        }
    }
}
