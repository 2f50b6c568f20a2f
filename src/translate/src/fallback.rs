//! Keeps operators without a rule as custom nodes, for runtimes that have a kernel: `--fallback aten`.
//!
//! The node is `org.pytorch.aten::NAME`. Its attributes `operator` and `overload_name` identify the operator; tensors
//! are inputs, in the order of `input_names`; numbers, strings and dtypes are attributes under their own names. The
//! output types are those that torch.export recorded.

use super::Translation;
use aten2onnx_builder::{ArgValue, Builder, In, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Type, Value, intern};
use aten2onnx_program::{Graph, Node, NodeOutput};

/// The domain of these nodes.
pub const DOMAIN: &str = "org.pytorch.aten";

/// The version of the domain.
const VERSION: u32 = 1;

/// The inputs and attributes of a node.
#[derive(Default)]
struct Given {
    inputs: Vec<In>,
    names: Vec<String>,
    attrs: Vec<(&'static str, Attr)>,
}

impl Translation<'_> {
    /// Keeps a node whose operator has no rule.
    pub(super) fn keep(&mut self, node: &Node, graph: &Graph) -> Result<()> {
        self.builder.set_origin(super::origin(node));
        let args = self.arguments(node)?;
        if args.has_complex(self.builder) {
            let text = format!("`{}` takes complex numbers, which ONNX nodes do not support", node.target);
            return Err(Error::unsupported(text));
        }
        let mut given = Given::default();
        for (name, value) in args.iter() {
            given.argument(self.builder, name, value).map_err(|error| error.at(format!("argument `{name}`")))?;
        }
        let (operator, overload) = node.target.split_once('.').unwrap_or((&node.target, ""));
        given.attrs.push(("operator", Attr::Str(operator.to_owned())));
        given.attrs.push(("overload_name", Attr::Str(overload.to_owned())));
        given.attrs.push(("input_names", Attr::Strs(given.names)));
        let types = self.stated(node, graph)?;
        let values = self.builder.foreign(op_type(&node.target), VERSION, given.inputs, given.attrs, types)?;
        self.bind_values(node, values, graph)
    }

    /// Binds the results of an ONNX node to the names in the program, in order.
    pub(super) fn bind_values(&mut self, node: &Node, values: Vec<Value>, graph: &Graph) -> Result<()> {
        let mut values = values.into_iter();
        for output in &node.outputs {
            match output {
                NodeOutput::Tensor(name) => self.bind_next(node, name, values.next(), graph)?,
                NodeOutput::Tensors(names) => {
                    for name in names {
                        self.bind_next(node, name, values.next(), graph)?;
                    }
                }
                NodeOutput::Sym(_) | NodeOutput::None => {}
            }
        }
        Ok(())
    }

    /// The recorded dtype and shape of each output.
    pub(super) fn stated(&mut self, node: &Node, graph: &Graph) -> Result<Vec<(Dtype, Vec<SymInt>)>> {
        let mut types = Vec::new();
        for output in &node.outputs {
            let names = match output {
                NodeOutput::Tensor(name) => std::slice::from_ref(name),
                NodeOutput::Tensors(names) => names.as_slice(),
                NodeOutput::None => continue,
                NodeOutput::Sym(name) => {
                    let text = format!("`{}` returns the number `{name}`, which a node cannot", node.target);
                    return Err(Error::unsupported(text));
                }
            };
            for name in names {
                let meta = graph.tensors.get(name);
                let meta = meta.ok_or_else(|| Error::input(format!("the tensor `{name}` has no recorded type")))?;
                match self.recorded(meta) {
                    Type::Tensor { dtype, shape: Some(shape) } if !meta.dtype.is_complex() => {
                        types.push((dtype, shape))
                    }
                    _ => return Err(Error::unsupported(format!("`{}` returns complex numbers", node.target))),
                }
            }
        }
        Ok(types)
    }

    fn bind_next(&mut self, node: &Node, name: &str, value: Option<Value>, graph: &Graph) -> Result<()> {
        match value {
            Some(value) => self.bind_tensor(node, name, value, graph),
            None => Err(Error::internal(format!("no value is left for `{name}`"))),
        }
    }
}

/// `org.pytorch.aten::add_Tensor`, `org.pytorch.aten::mylib_my_op`
fn op_type(target: &str) -> &'static str {
    let name = target.strip_prefix("aten::").unwrap_or(target);
    intern(&format!("{DOMAIN}::{}", name.replace("::", "_").replace('.', "_")))
}

impl Given {
    fn argument(&mut self, cx: &mut Builder, name: &str, value: &ArgValue) -> Result<()> {
        let attr = match value {
            ArgValue::None | ArgValue::Opaque(_) => return Ok(()),
            ArgValue::Tensor(value) => return self.input(name, In::Value(*value)),
            ArgValue::Tensors(values) => {
                for (i, value) in values.iter().enumerate() {
                    self.input(&format!("{name}.{i}"), value.map_or(In::None, In::Value))?;
                }
                return Ok(());
            }
            ArgValue::Scalar(number) => match number {
                Scalar::Value(value) => return self.input(name, In::Value(*value)),
                Scalar::Sym(n) if n.known().is_none() => return self.input(name, In::Value(cx.sym_value(n)?)),
                number => attribute(number)?,
            },
            ArgValue::Scalars(numbers) => match list(numbers)? {
                List::Attr(attr) => attr,
                List::Sizes(sizes) => return self.input(name, In::Ints(sizes)),
            },
            ArgValue::Str(text) => Attr::Str(text.clone()),
            ArgValue::Strs(texts) => Attr::Strs(texts.clone()),
            ArgValue::Dtype(dtype) => Attr::Int(dtype.onnx().into()),
            ArgValue::IntLists(_) | ArgValue::NestedTensors(_) | ArgValue::Graph | ArgValue::Operator(_) => {
                return Err(Error::unsupported("a list of lists, a graph or an operator cannot be kept in a node"));
            }
        };
        self.attrs.push((intern(name), attr));
        Ok(())
    }

    fn input(&mut self, name: &str, input: In) -> Result<()> {
        self.names.push(name.to_owned());
        self.inputs.push(input);
        Ok(())
    }
}

fn attribute(number: &Scalar) -> Result<Attr> {
    match number {
        Scalar::Float(x) => Ok(Attr::Float(*x)),
        Scalar::Complex(..) => Err(Error::unsupported("a complex number cannot be kept in a node")),
        number => {
            let n = number.as_int().ok_or_else(|| Error::internal("expected an int"))?;
            Ok(Attr::Int(n))
        }
    }
}

enum List {
    Attr(Attr),
    Sizes(Vec<SymInt>),
}

fn list(numbers: &[Scalar]) -> Result<List> {
    if numbers.iter().any(|number| matches!(number, Scalar::Float(_))) {
        let floats: Option<Vec<f64>> = numbers.iter().map(Scalar::as_float).collect();
        let floats = floats
            .ok_or_else(|| Error::unsupported("a list of floats computed by the model cannot be kept in a node"))?;
        return Ok(List::Attr(Attr::Floats(floats)));
    }
    if let Some(ints) = numbers.iter().map(Scalar::as_int).collect::<Option<Vec<i64>>>() {
        return Ok(List::Attr(Attr::Ints(ints)));
    }
    let size = |number: &Scalar| match number {
        Scalar::Sym(n) => Some(n.clone()),
        other => other.as_int().map(SymInt::from),
    };
    let sizes = numbers.iter().map(size).collect::<Option<Vec<SymInt>>>();
    sizes
        .map(List::Sizes)
        .ok_or_else(|| Error::unsupported("a list of numbers computed by the model cannot be kept in a node"))
}
