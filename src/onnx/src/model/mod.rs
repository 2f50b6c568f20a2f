//! Converts the graph to ONNX messages. Weights are kept in a separate list.

pub mod ir;
mod names;
mod provenance;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use prost::Message;
use prost::bytes::Bytes;
use rustc_hash::FxHashSet;

use crate::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto,
    TensorShapeProto, TypeProto, ValueInfoProto, attribute_proto::AttributeType, tensor_shape_proto, type_proto,
};
pub use ir::Ir;
use provenance::describe;
pub use provenance::{METADATA_IR, Provenance, without_folders};

use crate::graph::{Attr, Body, Constant, Data, Graph, Node, Source, Type, Value};
use crate::schema;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;

/// Larger constants are written like weights.
const INLINE: usize = 1024;

/// A model: the message without large initializers, and these.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// The message.
    pub proto: ModelProto,
    /// The weights in the order of writing.
    pub weights: Vec<Initializer>,
}

/// An initializer whose bytes are not in the message.
#[derive(Debug, Clone)]
pub struct Initializer {
    /// The name of the value.
    pub name: String,
    /// The element type in the model.
    pub dtype: Dtype,
    /// The bytes.
    pub weight: Arc<Weight>,
}

/// Options that do not change what a model computes.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// The IR version; None for the lowest that is sufficient.
    pub ir: Option<u32>,
    /// How much nodes record about their origin.
    pub provenance: Provenance,
    /// Names of symbolic dimensions in the model.
    pub dims: HashMap<String, SymInt>,
    /// Names of inputs and outputs in the model.
    pub names: HashMap<Value, String>,
    /// Whether attributes with their default are written too.
    pub explicit_attributes: bool,
    /// The documentation of inputs.
    pub docs: HashMap<Value, String>,
    /// Entries of the model's metadata.
    pub metadata: Vec<(String, String)>,
}

/// Builds the messages of a graph.
pub fn build(graph: &Graph, options: &ModelOptions) -> Result<Model> {
    let names = names::of_values(graph, options)?;
    let mut writer = Writer { graph, options, names, weights: Vec::new(), metadata: false, count: Cell::new(0) };
    // Metadata must not raise the version: it is only used if the version is high enough anyway.
    let mut model = writer.model()?;
    ir::set(&mut model, options.ir)?;
    let version = model.proto.ir_version.unwrap_or_default();
    let is_noted = graph.provenance.iter().any(|origin| !origin.metadata.is_empty());
    let wanted = options.provenance == Provenance::Full || is_noted;
    if wanted && version >= i64::from(METADATA_IR) {
        writer.metadata = true;
        model = writer.model()?;
        model.proto.ir_version = Some(version);
    }
    Ok(model)
}

struct Writer<'a> {
    graph: &'a Graph,
    options: &'a ModelOptions,
    /// Names by [`Value::index`].
    names: Vec<String>,
    weights: Vec<Initializer>,
    metadata: bool,
    /// The number of nodes so far, for short names.
    count: Cell<u32>,
}

impl Writer<'_> {
    fn model(&mut self) -> Result<Model> {
        self.weights.clear();
        self.count.set(0);
        let mut proto = self.body(&self.graph.body, "main")?;
        for value in &self.graph.initializers {
            proto.initializer.extend(self.initializer(*value)?);
        }
        let domains = self.graph.domains().into_iter();
        let import = |domain: &str| OperatorSetIdProto {
            domain: Some(domain.to_owned()),
            version: Some(self.graph.version_of(domain).into()),
        };
        let proto = ModelProto {
            opset_import: domains.map(import).collect(),
            producer_name: Some("aten2onnx".to_owned()),
            producer_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            graph: Some(proto),
            metadata_props: self.options.metadata.iter().map(entry).collect(),
            ..ModelProto::default()
        };
        Ok(Model { proto, weights: std::mem::take(&mut self.weights) })
    }

    /// An initializer that is part of the message, or None if it is added to the weights.
    fn initializer(&mut self, value: Value) -> Result<Option<TensorProto>> {
        let name = self.name(value)?.to_owned();
        let (dtype, weight) = match &self.graph.info(value).source {
            Source::Constant(constant) if constant.bytes().len() <= INLINE => return tensor(constant, &name).map(Some),
            Source::Constant(constant) => (constant.dtype, Arc::new(as_weight(constant, &name)?)),
            Source::Weight(weight) => (weight.dtype, Arc::clone(weight)),
            Source::Input | Source::Node => {
                return Err(Error::internal(format!("the initializer `{name}` has no contents")));
            }
        };
        number(dtype).map_err(|error| error.at(format!("weight `{name}`")))?;
        self.weights.push(Initializer { name, dtype, weight });
        Ok(None)
    }

    fn body(&self, body: &Body, name: &str) -> Result<GraphProto> {
        let known: FxHashSet<Value> = body.inputs.iter().chain(&body.outputs).copied().collect();
        let inner = body.nodes.iter().flat_map(|node| node.outputs.iter().flatten().copied());
        let inner: Vec<Value> = inner.filter(|value| !known.contains(value)).collect();
        Ok(GraphProto {
            node: body.nodes.iter().map(|node| self.node(node)).collect::<Result<_>>()?,
            name: Some(name.to_owned()),
            input: body.inputs.iter().map(|value| self.value_info(*value)).collect::<Result<_>>()?,
            output: body.outputs.iter().map(|value| self.value_info(*value)).collect::<Result<_>>()?,
            value_info: inner
                .into_iter()
                .filter(|value| has_rank(self.graph.ty(*value)))
                .map(|value| self.value_info(value))
                .collect::<Result<_>>()?,
            ..GraphProto::default()
        })
    }

    fn node(&self, node: &Node) -> Result<NodeProto> {
        let (domain, op_type) = node.domain_and_type();
        let mut proto = NodeProto {
            input: self.value_names(&node.inputs)?,
            output: self.value_names(&node.outputs)?,
            name: Some(self.node_name(node, op_type)),
            op_type: Some(op_type.to_owned()),
            domain: Some(domain.to_owned()).filter(|domain| !domain.is_empty()),
            attribute: self.attributes(node)?,
            ..NodeProto::default()
        };
        if let Some(origin) = self.graph.provenance.get(node.origin as usize) {
            let full = self.options.provenance == Provenance::Full;
            if full || !origin.metadata.is_empty() {
                describe(&mut proto, origin, full, self.metadata);
            }
        }
        Ok(proto)
    }

    /// The attributes of a node; also those with their default, if the runtime does not know it.
    fn attributes(&self, node: &Node) -> Result<Vec<AttributeProto>> {
        let mut written: Vec<AttributeProto> =
            node.attrs.iter().map(|(name, attr)| self.attribute(name, attr)).collect::<Result<_>>()?;
        let version = schema::find(node.op).and_then(|op| op.at(self.graph.opset));
        let Some(version) = version.filter(|_| self.options.explicit_attributes) else { return Ok(written) };
        for attribute in version.attributes.iter().filter(|attribute| node.attr(attribute.name).is_none()) {
            let default = attribute.default.map(|default| default.to_attr());
            if let Some(default) = default.or_else(|| along_each_axis(node, attribute.name)) {
                written.push(self.attribute(attribute.name, &default)?);
            }
        }
        Ok(written)
    }

    fn node_name(&self, node: &Node, op_type: &str) -> String {
        if self.options.provenance != Provenance::None {
            return node.name.clone();
        }
        let count = self.count.replace(self.count.get().wrapping_add(1));
        format!("{op_type}_{count}")
    }

    /// The names in order, empty for absent values, without trailing absent ones.
    fn value_names(&self, values: &[Option<Value>]) -> Result<Vec<String>> {
        let len = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let name = |value: &Option<Value>| value.map_or(Ok(String::new()), |value| Ok(self.name(value)?.to_owned()));
        values.iter().take(len).map(name).collect()
    }

    fn name(&self, value: Value) -> Result<&str> {
        let missing = || Error::internal(format!("value {} is not in the graph", value.index()));
        self.names.get(value.index()).map(String::as_str).filter(|name| !name.is_empty()).ok_or_else(missing)
    }

    fn attribute(&self, name: &str, attr: &Attr) -> Result<AttributeProto> {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        let mut proto = AttributeProto { name: Some(name.to_owned()), ..AttributeProto::default() };
        let ty = match attr {
            Attr::Float(v) => {
                proto.f = Some(*v as f32);
                AttributeType::Float
            }
            Attr::Int(v) => {
                proto.i = Some(*v);
                AttributeType::Int
            }
            Attr::Str(v) => {
                proto.s = Some(bytes(v));
                AttributeType::String
            }
            Attr::Floats(v) => {
                proto.floats = v.iter().map(|v| *v as f32).collect();
                AttributeType::Floats
            }
            Attr::Ints(v) => {
                proto.ints = v.clone();
                AttributeType::Ints
            }
            Attr::Strs(v) => {
                proto.strings = v.iter().map(|v| bytes(v)).collect();
                AttributeType::Strings
            }
            Attr::Tensor(v) => {
                let none = || Error::internal(format!("the attribute `{name}` is not a constant"));
                proto.t = Some(tensor(self.graph.constant(*v).ok_or_else(none)?, "")?);
                AttributeType::Tensor
            }
            Attr::Graph(v) => {
                proto.g = Some(self.body(v, name)?);
                AttributeType::Graph
            }
            Attr::Graphs(v) => {
                proto.graphs = v.iter().map(|body| self.body(body, name)).collect::<Result<_>>()?;
                AttributeType::Graphs
            }
            Attr::Message(bytes) => {
                let damaged = |_| Error::internal(format!("the attribute `{name}` is damaged"));
                return AttributeProto::decode(bytes.as_ref()).map_err(damaged);
            }
        };
        proto.r#type = Some(ty.into());
        Ok(proto)
    }

    fn value_info(&self, value: Value) -> Result<ValueInfoProto> {
        let name = self.name(value)?.to_owned();
        let known = Some(self.graph.ty(value)).filter(|ty| !ty.is_unknown());
        let ty = known.map(|ty| self.ty(ty)).transpose().map_err(|error| error.at(format!("value `{name}`")))?;
        let doc_string = self.options.docs.get(&value).cloned();
        Ok(ValueInfoProto { name: Some(name), r#type: ty, doc_string, ..ValueInfoProto::default() })
    }

    fn ty(&self, ty: &Type) -> Result<TypeProto> {
        let boxed = |of: &Type| self.ty(of).map(|ty| Some(Box::new(ty)));
        let value = match ty {
            Type::Tensor { dtype, shape } => type_proto::Value::TensorType(type_proto::Tensor {
                elem_type: Some(number(*dtype)?),
                shape: shape.as_ref().map(|sizes| self.shape(sizes)),
            }),
            Type::Sequence(of) => {
                type_proto::Value::SequenceType(Box::new(type_proto::Sequence { elem_type: boxed(of)? }))
            }
            Type::Optional(of) => {
                type_proto::Value::OptionalType(Box::new(type_proto::Optional { elem_type: boxed(of)? }))
            }
        };
        Ok(TypeProto { value: Some(value), ..TypeProto::default() })
    }

    fn shape(&self, sizes: &[SymInt]) -> TensorShapeProto {
        let dimension = |size: &SymInt| tensor_shape_proto::Dimension { value: self.dimension(size), denotation: None };
        TensorShapeProto { dim: sizes.iter().map(dimension).collect() }
    }

    /// A number, a name or an expression of names; None for an anonymous size.
    fn dimension(&self, size: &SymInt) -> Option<tensor_shape_proto::dimension::Value> {
        use tensor_shape_proto::dimension::Value::{DimParam, DimValue};
        if let Some(known) = size.known() {
            return Some(DimValue(known)).filter(|_| known >= 0);
        }
        let mut named = true;
        size.visit_symbols(&mut |symbol| named &= !symbol.starts_with('?'));
        if !named {
            return None;
        }
        let renamed = size.substitute(&self.options.dims);
        Some(renamed.known().map_or_else(|| DimParam(renamed.to_string()), DimValue))
    }
}

fn entry((key, value): &(String, String)) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.clone()), value: Some(value.clone()) }
}

/// A default that depends on the kernel, so that schemas have it in their text only.
fn along_each_axis(node: &Node, name: &str) -> Option<Attr> {
    let kernel = node.ints("kernel_shape").filter(|_| matches!(name, "strides" | "dilations"))?;
    Some(Attr::Ints(vec![1; kernel.len()]))
}

fn has_rank(ty: &Type) -> bool {
    match ty {
        Type::Tensor { shape, .. } => shape.is_some(),
        Type::Sequence(of) | Type::Optional(of) => has_rank(of),
    }
}

/// Converts a constant to a message.
fn tensor(constant: &Constant, name: &str) -> Result<TensorProto> {
    if !constant.is_consistent() {
        return Err(Error::internal(format!("the bytes of the constant `{name}` do not fit its type")));
    }
    let mut proto = TensorProto {
        dims: constant.sizes.clone(),
        data_type: Some(number(constant.dtype)?),
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        ..TensorProto::default()
    };
    match &constant.data {
        Data::Bytes(bytes) => proto.raw_data = Some(Bytes::from_owner(Arc::clone(bytes))),
        Data::Strings(strings) => {
            proto.string_data = strings.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
        }
    }
    Ok(proto)
}

fn as_weight(constant: &Constant, name: &str) -> Result<Weight> {
    constant.to_weight(name).ok_or_else(|| Error::internal(format!("the constant `{name}` of strings has bytes")))
}

/// The number of an element type in ONNX.
pub fn number(dtype: Dtype) -> Result<i32> {
    match dtype.onnx() {
        number if number > 0 => Ok(number),
        _ => Err(Error::unsupported(format!("ONNX has no element type {dtype}"))),
    }
}
