//! A part of a graph as a model of its own.

use rustc_hash::FxHashSet;

use super::index::{Index, bodies, graph_of};
use super::types::Types;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, TensorAnnotation, ValueInfoProto};
use aten2onnx_onnx::schema;

/// Some nodes of a graph, with the values that they take and give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The nodes, in the order of the model.
    pub nodes: Vec<usize>,
    /// The inputs in order.
    pub inputs: Vec<String>,
    /// The outputs in order.
    pub outputs: Vec<String>,
}

/// A part as a model: with the weights, functions and declarations that its nodes need.
///
/// # Errors
/// An input or output whose type is not known.
pub fn model_of(model: &Model, index: &Index<'_>, types: &Types<'_>, part: &Part) -> Result<Model> {
    let graph = graph_of(&model.proto)?;
    let node: Vec<NodeProto> = part.nodes.iter().filter_map(|number| graph.node.get(*number)).cloned().collect();
    let mut known: FxHashSet<&str> = part.nodes.iter().flat_map(|node| index.computes(*node)).collect();
    known.extend(part.nodes.iter().flat_map(|node| index.reads(*node)));
    known.extend(part.outputs.iter().map(String::as_str));
    let annotations = annotations(graph, &known);
    known.extend(annotations.iter().flat_map(|note| &note.quant_parameter_tensor_names).map(|entry| entry.value()));
    let inputs: FxHashSet<&str> = part.inputs.iter().map(String::as_str).collect();
    let is_kept = |name: &str| known.contains(name) && !inputs.contains(name);
    let given = graph.input.iter().filter(|input| index.initializers.contains(input.name()) && is_kept(input.name()));
    let mut input = part.inputs.iter().map(|name| declared(graph, types, name)).collect::<Result<Vec<_>>>()?;
    input.extend(given.cloned());
    let output: Vec<ValueInfoProto> =
        part.outputs.iter().map(|name| declared(graph, types, name)).collect::<Result<_>>()?;
    let ends: FxHashSet<&str> = inputs.iter().copied().chain(part.outputs.iter().map(String::as_str)).collect();
    let value_info = graph.value_info.iter().filter(|info| is_kept(info.name()) && !ends.contains(info.name()));
    let sparse = graph.sparse_initializer.iter();
    let part_graph = GraphProto {
        name: graph.name.clone(),
        doc_string: graph.doc_string.clone(),
        initializer: graph.initializer.iter().filter(|tensor| is_kept(tensor.name())).cloned().collect(),
        sparse_initializer: sparse.filter(|t| t.values.as_ref().is_some_and(|t| is_kept(t.name()))).cloned().collect(),
        value_info: value_info.cloned().collect(),
        quantization_annotation: annotations.into_iter().cloned().collect(),
        metadata_props: graph.metadata_props.clone(),
        node,
        input,
        output,
    };
    let functions = called(&model.proto.functions, &part_graph.node);
    let weights = model.weights.iter().filter(|weight| is_kept(&weight.name)).cloned().collect();
    Ok(Model { proto: ModelProto { graph: Some(part_graph), functions, ..head(&model.proto) }, weights })
}

/// What a part has of the model besides its graph and functions.
fn head(model: &ModelProto) -> ModelProto {
    ModelProto {
        ir_version: model.ir_version,
        opset_import: model.opset_import.clone(),
        producer_name: model.producer_name.clone(),
        producer_version: model.producer_version.clone(),
        domain: model.domain.clone(),
        model_version: model.model_version,
        doc_string: model.doc_string.clone(),
        metadata_props: model.metadata_props.clone(),
        configuration: model.configuration.clone(),
        ..ModelProto::default()
    }
}

/// An input or output: with its documentation, if the model has it as one.
fn declared(graph: &GraphProto, types: &Types<'_>, name: &str) -> Result<ValueInfoProto> {
    let known = graph.input.iter().chain(&graph.output).chain(&graph.value_info).find(|value| value.name() == name);
    let declaration = types.declaration(name)?;
    Ok(match known {
        Some(known) => ValueInfoProto { r#type: declaration.r#type, ..known.clone() },
        None => declaration,
    })
}

fn annotations<'a>(graph: &'a GraphProto, known: &FxHashSet<&str>) -> Vec<&'a TensorAnnotation> {
    graph.quantization_annotation.iter().filter(|note| known.contains(note.tensor_name())).collect()
}

/// The functions that nodes call, also by way of other functions.
pub fn called(functions: &[FunctionProto], nodes: &[NodeProto]) -> Vec<FunctionProto> {
    let mut wanted: FxHashSet<(&str, &str, &str)> = FxHashSet::default();
    let mut lists = vec![nodes];
    while let Some(nodes) = lists.pop() {
        for node in nodes {
            lists.extend(bodies(node).map(|body| body.node.as_slice()));
            let id = (node.domain(), node.op_type(), node.overload());
            let called = functions.iter().find(|of| (of.domain(), of.name(), of.overload()) == id);
            if let Some(function) = called.filter(|_| wanted.insert(id)) {
                lists.push(&function.node);
            }
        }
    }
    let is_wanted = |of: &&FunctionProto| wanted.contains(&(of.domain(), of.name(), of.overload()));
    functions.iter().filter(is_wanted).cloned().collect()
}

/// The order of a part's inputs: those that are asked for, then others in the order in which nodes read them.
pub fn inputs_of(index: &Index<'_>, nodes: &[usize], asked: &[&str]) -> Vec<String> {
    let computed: FxHashSet<&str> = nodes.iter().flat_map(|node| index.computes(*node)).collect();
    let cuts: FxHashSet<&str> = asked.iter().copied().collect();
    let is_taken = |name: &&str| cuts.contains(name) || !(computed.contains(name) || index.initializers.contains(name));
    let read: Vec<&str> =
        nodes.iter().flat_map(|node| index.reads(*node)).copied().filter(|name| is_taken(name)).collect();
    let wanted: FxHashSet<&str> = read.iter().copied().collect();
    let mut known = FxHashSet::default();
    let order = asked.iter().copied().filter(|name| wanted.contains(name)).chain(read);
    order.filter(|name| known.insert(*name)).map(str::to_owned).collect()
}

/// The nodes that compute something without any input of the model and give the same in each call: a part has its own copy of them.
pub fn constants(index: &Index<'_>, order: &[usize]) -> FxHashSet<usize> {
    let mut found = FxHashSet::default();
    for number in order {
        let Some(node) = index.nodes.get(*number) else { continue };
        let is_constant = |name: &&str| match index.producer(name) {
            Some(producer) => found.contains(&producer),
            None => index.initializers.contains(name),
        };
        if !may_vary(node) && index.reads(*number).iter().all(is_constant) {
            found.insert(*number);
        }
    }
    found
}

/// Whether a node, or one in its bodies, may give something else in each call: it has a seed, or is not known.
pub fn may_vary(node: &NodeProto) -> bool {
    let seeded = |op: &schema::Op| op.versions.iter().any(|version| version.attribute("seed").is_some());
    let known = schema::find(node.op_type()).filter(|_| matches!(node.domain(), "" | "ai.onnx"));
    known.is_none_or(seeded) || bodies(node).any(|body| body.node.iter().any(may_vary))
}

/// The nodes that values depend on, back to the cuts.
pub fn needed(index: &Index<'_>, ends: &[&str], cuts: &[&str]) -> FxHashSet<usize> {
    let cuts: FxHashSet<&str> = cuts.iter().copied().collect();
    let mut found = FxHashSet::default();
    let mut open: Vec<usize> = ends.iter().filter_map(|end| index.producer(end)).collect();
    while let Some(node) = open.pop() {
        if found.insert(node) {
            open.extend(
                index.reads(node).iter().filter(|name| !cuts.contains(*name)).filter_map(|n| index.producer(n)),
            );
        }
    }
    found
}

/// Adds the nodes that compute constants which the part reads.
pub fn add_constants(index: &Index<'_>, nodes: &mut FxHashSet<usize>, constants: &FxHashSet<usize>, cuts: &[&str]) {
    let cuts: FxHashSet<&str> = cuts.iter().copied().collect();
    let mut open: Vec<usize> = nodes.iter().copied().collect();
    while let Some(node) = open.pop() {
        let read = index.reads(node).iter().filter(|name| !cuts.contains(*name));
        for producer in read.filter_map(|name| index.producer(name)) {
            if constants.contains(&producer) && nodes.insert(producer) {
                open.push(producer);
            }
        }
    }
}
