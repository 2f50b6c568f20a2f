//! Converts the graph of a model and its subgraphs: inputs, weights, nodes in order, outputs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::dims::Sizes;
use super::report::Problems;
use super::scope::{Names, Scope, Scopes};
use super::tensors::{Tensor, Tensors};
use super::types::Types;
use super::{ConvertOptions, finish, functions};
use aten2onnx_builder::{Builder, Known};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Links, Weight};
use aten2onnx_onnx::Exported;
use aten2onnx_onnx::facts::NEWEST_FORM;
use aten2onnx_onnx::graph::{Attr, Body, Type, Value};
use aten2onnx_onnx::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use aten2onnx_onnx::read::Source;

/// The maximal nesting of subgraphs and functions.
pub(super) const MAX_DEPTH: usize = 64;

/// The state of a conversion.
pub struct Conversion<'a> {
    pub(super) builder: Builder,
    pub(super) options: &'a ConvertOptions,
    pub(super) model: &'a ModelProto,
    /// The opset of the default domain in the model.
    pub(super) opset: u32,
    /// The opset of the default domain in the result.
    pub(super) target_opset: u32,
    pub(super) tensors: Tensors<'a>,
    pub(super) types: Types,
    pub(super) scopes: Scopes,
    pub(super) names: Names,
    pub(super) functions: functions::Functions<'a>,
    pub(super) problems: Problems,
    /// How often the bodies of loops were converted to find types.
    pub(super) trials: u32,
    /// All names that a node or an output uses.
    read: HashSet<&'a str>,
    /// Unused values that are kept.
    pub(super) pinned: Vec<Value>,
    /// Inputs with a weight of the same name as their default.
    pub(super) defaults: Vec<(Value, Value)>,
    /// Weights that are also inputs because of an old IR version.
    pub(super) weight_inputs: HashSet<&'a str>,
    /// The source nodes, by origin, for their texts.
    pub(super) texts: HashMap<u32, &'a NodeProto>,
}

/// Converts the graph of a model.
pub fn convert(source: &Source, options: &ConvertOptions, target_opset: u32) -> Result<Exported> {
    let (conversion, graph) = converted(source, options, target_opset)?;
    conversion.problems.report(target_opset)?;
    finish::finish(conversion, graph)
}

/// The nodes of the main graph that cannot be converted, by their numbers, with the reason of each.
pub fn refused(source: &Source, options: &ConvertOptions, target_opset: u32) -> Result<BTreeMap<usize, String>> {
    converted(source, options, target_opset).map(|(conversion, _)| conversion.problems.refused())
}

/// A conversion that went through all nodes, and the graph.
fn converted<'a>(
    source: &'a Source,
    options: &'a ConvertOptions,
    target_opset: u32,
) -> Result<(Conversion<'a>, &'a GraphProto)> {
    let model = &source.proto;
    let graph = model.graph.as_ref().ok_or_else(|| Error::input("the model has no graph"))?;
    if !model.training_info.is_empty() {
        return Err(
            Error::unsupported("models with training graphs are not supported").help("save it for inference first")
        );
    }
    let opset = default_opset(model)?;
    let mut builder = options.output.rules.builder(target_opset);
    match options.output.target {
        Some(target) => builder.set_target(target),
        None => builder.avoid_missing_kernels(),
    }
    // Weights that functions read are quantized where they are read.
    let is_quantized = options.output.quantize.is_asked();
    let inline =
        options.inline_functions || is_quantized || options.output.target.is_some_and(|t| t.lacks_functions.is_some());
    let mut conversion = Conversion {
        builder,
        options,
        model,
        opset,
        target_opset,
        tensors: Tensors::new(source, if options.follow_links { Links::Follow } else { source.links }),
        types: Types::new(Sizes::of(graph, &options.dims)?),
        scopes: Scopes::default(),
        names: Names::default(),
        functions: functions::Functions::new(model, opset, target_opset, inline)?,
        problems: Problems::default(),
        trials: 0,
        read: HashSet::new(),
        pinned: Vec::new(),
        defaults: Vec::new(),
        weight_inputs: HashSet::new(),
        texts: HashMap::new(),
    };
    conversion.find_read(graph);
    conversion.main_graph(graph)?;
    Ok((conversion, graph))
}

/// The opset of the default domain.
pub(super) fn default_opset(model: &ModelProto) -> Result<u32> {
    let imports = model.opset_import.iter().filter(|import| matches!(import.domain(), "" | "ai.onnx"));
    // A model without one has no nodes of the default domain, or is of opset 1.
    let Some(version) = imports.map(|import| import.version()).max() else { return Ok(1) };
    match u32::try_from(version) {
        Ok(version) if (1..=NEWEST_FORM).contains(&version) => Ok(version),
        Ok(version) if version > NEWEST_FORM => {
            Err(Error::unsupported(format!("the model has opset {version}, which is not supported yet"))
                .help(format!("the newest known opset is {NEWEST_FORM}")))
        }
        _ => Err(Error::input(format!("opset {version} does not exist"))),
    }
}

impl<'a> Conversion<'a> {
    /// Collects all names that are used anywhere.
    fn find_read(&mut self, graph: &'a GraphProto) {
        let mut graphs = vec![graph];
        while let Some(graph) = graphs.pop() {
            self.read.extend(graph.output.iter().map(ValueInfoProto::name));
            for node in &graph.node {
                self.read.extend(node.input.iter().map(String::as_str));
                graphs.extend(node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)));
            }
        }
    }

    fn main_graph(&mut self, graph: &'a GraphProto) -> Result<()> {
        let scope = self.scope_of(graph);
        self.scopes.push(scope);
        graph.output.iter().for_each(|output| self.names.reserve(output.name()));
        let weights: HashSet<&str> = weights(graph).map(|(name, _)| name).collect();
        let are_weights = self.model.ir_version.is_some_and(|version| version < 4);
        let mut overridable = HashMap::new();
        for input in &graph.input {
            let name = input.name();
            if are_weights && weights.contains(name) {
                self.weight_inputs.insert(name);
                continue;
            }
            let ty = input.r#type.as_ref().and_then(|ty| self.types.read(&self.builder, ty));
            let mut ty = ty.unwrap_or_else(Type::unknown);
            self.types.sizes.fill(name, &mut ty);
            let value = self.builder.input(name, ty);
            self.names.name_outermost(value, name);
            self.scopes.define(name, Some(Known { value, constant: None }))?;
            if weights.contains(name) {
                overridable.insert(name, value);
            }
        }
        self.initializers(graph, &overridable)?;
        self.nodes(graph)?;
        for output in &graph.output {
            let name = output.name();
            let known = self.scopes.find(name).map_err(|error| error.at(format!("output `{name}`")))?;
            if let Some(known) = known {
                let value = self.builder.unpacked(known.value).map_err(|error| error.at(format!("output `{name}`")))?;
                self.names.move_to(known.value, value);
                self.builder.output(name, value);
            }
        }
        Ok(())
    }

    /// The declared types of a graph's values.
    fn scope_of(&mut self, graph: &GraphProto) -> Scope {
        let mut scope = Scope::default();
        for info in graph.value_info.iter().chain(&graph.output) {
            let ty = info.r#type.as_ref().and_then(|ty| self.types.read(&self.builder, ty));
            if let Some(ty) = ty {
                scope.declared.insert(info.name().to_owned(), ty);
            }
        }
        scope.outputs = graph.output.iter().map(|output| output.name().to_owned()).collect();
        scope
    }

    fn initializers(&mut self, graph: &'a GraphProto, overridable: &HashMap<&str, Value>) -> Result<()> {
        for (name, tensor) in weights(graph) {
            let placed = |error: Error| error.at(format!("weight `{name}`"));
            let tensor = match tensor {
                Initializer::Dense(proto) => self.tensors.read(proto),
                Initializer::Sparse(proto) => self.tensors.dense(proto),
            };
            let value = self.weight(name, tensor.map_err(placed)?);
            match overridable.get(name) {
                Some(input) => {
                    self.pinned.push(value.value);
                    self.defaults.push((*input, value.value));
                }
                None => {
                    self.names.name_outermost(value.value, name);
                    self.scopes.define(name, Some(value)).map_err(placed)?;
                    self.pin_unread(name, value.value);
                }
            }
        }
        Ok(())
    }

    /// A tensor of the model as a value that keeps its name.
    pub(super) fn weight(&mut self, name: &str, tensor: Tensor) -> Known {
        match tensor {
            Tensor::Constant(constant) => {
                let value = self.builder.source_constant(name, constant);
                Known { value, constant: Some(value) }
            }
            Tensor::Weight(weight) => {
                let weight = Weight { name: name.to_owned(), ..Arc::unwrap_or_clone(weight) };
                Known { value: self.builder.weight(Arc::new(weight)), constant: None }
            }
        }
    }

    /// Keeps a value that is unused in the model.
    pub(super) fn pin_unread(&mut self, name: &str, value: Value) {
        if !self.is_read(name) {
            self.pinned.push(value);
        }
    }

    /// Whether a value is used. Always true inside functions, where uses are not known.
    pub(super) fn is_read(&self, name: &str) -> bool {
        self.scopes.function().is_some() || self.read.contains(name)
    }

    fn nodes(&mut self, graph: &'a GraphProto) -> Result<()> {
        for (number, node) in graph.node.iter().enumerate() {
            self.problems.begin(number);
            self.node(node)?;
            if node.doc_string.is_some() || !node.metadata_props.is_empty() {
                self.texts.insert(self.builder.origin_number(), node);
            }
        }
        Ok(())
    }

    /// A subgraph in an attribute. `params` are its input types according to the node.
    pub(super) fn body(&mut self, proto: &AttributeProto, params: Option<Vec<Type>>) -> Result<Attr> {
        let Some(graph) = proto.g.as_ref() else { return Err(Error::input("a graph is missing")) };
        self.graph_body(graph, params).map(Attr::Graph)
    }

    /// A subgraph with inputs of these types, if they are known.
    pub(super) fn graph_body(&mut self, graph: &GraphProto, params: Option<Vec<Type>>) -> Result<Body> {
        if self.scopes.depth() >= MAX_DEPTH {
            return Err(Error::input("graphs are nested too deeply"));
        }
        let types = self.body_types(graph, params)?;
        let inputs = self.builder.open_body(&types);
        let outputs = self.body_inside(graph, &inputs);
        self.builder.close_body(inputs, outputs)
    }

    /// The input types of a subgraph: those it declares, unless the node requires another element type.
    pub(super) fn body_types(&mut self, graph: &GraphProto, params: Option<Vec<Type>>) -> Result<Vec<Type>> {
        if let Some(params) = &params
            && params.len() != graph.input.len()
        {
            let message =
                format!("the subgraph has {} inputs, but its node passes {}", graph.input.len(), params.len());
            return Err(Error::input(message));
        }
        let mut types = Vec::with_capacity(graph.input.len());
        for (i, input) in graph.input.iter().enumerate() {
            let stated = input.r#type.as_ref().and_then(|ty| self.types.read(&self.builder, ty));
            let given = params.as_ref().and_then(|params| params.get(i)).filter(|ty| !ty.is_unknown());
            types.push(match (stated, given) {
                (Some(stated), Some(given)) if has_rank(&stated) && stated.dtype() == given.dtype() => stated,
                (_, Some(given)) => given.clone(),
                (Some(stated), None) => stated,
                (None, None) => Type::unknown(),
            });
        }
        Ok(types)
    }

    pub(super) fn body_inside(&mut self, graph: &GraphProto, inputs: &[Value]) -> Result<Vec<Value>> {
        let scope = self.scope_of(graph);
        self.scopes.push(scope);
        let outputs = self.body_contents(graph, inputs);
        self.scopes.pop();
        outputs
    }

    fn body_contents(&mut self, graph: &GraphProto, inputs: &[Value]) -> Result<Vec<Value>> {
        for (input, value) in graph.input.iter().zip(inputs) {
            self.names.assign(*value, input.name());
            self.scopes.define(input.name(), Some(Known { value: *value, constant: None }))?;
        }
        for (name, tensor) in weights(graph) {
            let placed = |error: Error| error.at(format!("weight `{name}`"));
            let tensor = match tensor {
                Initializer::Dense(proto) => self.tensors.read(proto),
                Initializer::Sparse(proto) => self.tensors.dense(proto),
            };
            let value = self.weight(name, tensor.map_err(placed)?);
            self.names.assign(value.value, name);
            self.scopes.define(name, Some(value)).map_err(placed)?;
        }
        for node in &graph.node {
            self.node(node)?;
        }
        let outputs = graph.output.iter().map(|output| {
            let found = self.scopes.find(output.name())?;
            let known = found.ok_or_else(|| Error::input(format!("`{}` is undefined", output.name())))?;
            self.builder.pack(known.value)
        });
        outputs.collect()
    }
}

/// Whether the rank of a tensor is known, or that of a sequence's elements.
fn has_rank(ty: &Type) -> bool {
    match ty {
        Type::Sequence(of) => of.rank().is_some(),
        other => other.rank().is_some(),
    }
}

/// A weight of a graph.
enum Initializer<'a> {
    Dense(&'a TensorProto),
    Sparse(&'a aten2onnx_onnx::proto::SparseTensorProto),
}

fn weights(graph: &GraphProto) -> impl Iterator<Item = (&str, Initializer<'_>)> {
    let dense = graph.initializer.iter().map(|proto| (proto.name(), Initializer::Dense(proto)));
    let sparse = graph.sparse_initializer.iter().map(|proto| {
        let name = proto.values.as_ref().map_or("", |values| values.name());
        (name, Initializer::Sparse(proto))
    });
    dense.chain(sparse)
}
