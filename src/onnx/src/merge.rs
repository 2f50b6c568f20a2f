//! Two models as the branches of one `If`: what takes an input decides which of them runs.
//!
//! Weights are outside of the branches, equal ones once. Inputs of the same name are one input, of the sizes that both models state.

mod metadata;

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{Initializer, Model};
use crate::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto,
    attribute_proto::AttributeType, tensor_proto, tensor_shape_proto, type_proto,
};
use crate::write::Equal;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::Payload;

/// A model and its name.
pub type Named<'a> = (&'a str, &'a Model);

/// Merges two models. `flag` is the name of the input, a bool: the second model runs if it is true.
///
/// # Errors
/// Models of different opsets, results with other names or dtypes, or inputs of one name with other dtypes or ranks.
pub fn merge(first: Named<'_>, second: Named<'_>, flag: &str) -> Result<Model> {
    let graphs = [first, second].map(|(name, model)| (name, model.proto.graph.clone().unwrap_or_default()));
    let [(_, a), (_, b)] = &graphs;
    if first.1.proto.opset_import != second.1.proto.opset_import {
        return Err(Error::unsupported("models of different opsets cannot be merged"));
    }
    let outputs = outputs(&first, a, &second, b)?;
    let mut inputs = inputs(&first, a, &second, b)?;
    if inputs.iter().any(|input| input.name() == flag) {
        return Err(Error::unsupported(format!("the models have an input `{flag}` already"))
            .help("choose another name for the input that decides"));
    }
    inputs.push(flag_input(flag));
    let mut taken: FxHashSet<String> = inputs.iter().chain(&outputs).map(|value| value.name().to_owned()).collect();
    let mut weights = Weights::default();
    let hoisted = weights.hoist([first, second], &graphs, &mut taken)?;
    let [(first_name, a), (second_name, b)] = graphs;
    let [kept_a, kept_b] = hoisted;
    let branches = [(first_name, a, kept_a, "else_branch"), (second_name, b, kept_b, "then_branch")];
    let attribute = branches
        .into_iter()
        .map(|(name, graph, kept, role)| AttributeProto {
            name: Some(role.to_owned()),
            r#type: Some(AttributeType::Graph.into()),
            g: Some(branch(name, graph, kept, &outputs, &taken)),
            ..AttributeProto::default()
        })
        .collect();
    let node = NodeProto {
        input: vec![flag.to_owned()],
        output: outputs.iter().map(|value| value.name().to_owned()).collect(),
        name: Some(flag.to_owned()),
        op_type: Some("If".to_owned()),
        attribute,
        ..NodeProto::default()
    };
    let graph = GraphProto {
        node: vec![node],
        name: Some("merged".to_owned()),
        initializer: weights.inside,
        input: inputs,
        output: outputs,
        ..GraphProto::default()
    };
    let own = &first.1.proto;
    let ir_version = own.ir_version.max(second.1.proto.ir_version);
    let (functions, metadata_props) = (functions(first.1, second.1)?, metadata::entries([first, second]));
    let proto = ModelProto { ir_version, graph: Some(graph), functions, metadata_props, ..head(own) };
    Ok(Model { proto, weights: weights.outside })
}

/// What the merged model has of the first one.
fn head(model: &ModelProto) -> ModelProto {
    ModelProto {
        opset_import: model.opset_import.clone(),
        producer_name: model.producer_name.clone(),
        producer_version: model.producer_version.clone(),
        doc_string: model.doc_string.clone(),
        ..ModelProto::default()
    }
}

/// The functions of both models; those of one name have to be the same.
fn functions(first: &Model, second: &Model) -> Result<Vec<crate::proto::FunctionProto>> {
    let mut all = first.proto.functions.clone();
    for function in &second.proto.functions {
        let key = |other: &crate::proto::FunctionProto| (other.domain().to_owned(), other.name().to_owned());
        match all.iter().find(|other| key(other) == key(function)) {
            None => all.push(function.clone()),
            Some(same) if same == function => {}
            Some(_) => {
                let name = function.name();
                return Err(Error::unsupported(format!("both models have a function `{name}`, which differ"))
                    .help("merge the models without `--functions`"));
            }
        }
    }
    Ok(all)
}

/// The initializers of both models, outside of the branches.
#[derive(Default)]
struct Weights {
    inside: Vec<TensorProto>,
    outside: Vec<Initializer>,
}

impl Weights {
    /// Moves the weights out; for each model, the new name of each of its initializers.
    fn hoist(
        &mut self,
        models: [Named<'_>; 2],
        graphs: &[(&str, GraphProto); 2],
        taken: &mut FxHashSet<String>,
    ) -> Result<[FxHashMap<String, String>; 2]> {
        let mut names = [FxHashMap::default(), FxHashMap::default()];
        let flat: Vec<(usize, &str, &Initializer)> = models
            .iter()
            .enumerate()
            .flat_map(|(side, (name, model))| model.weights.iter().map(move |weight| (side, *name, weight)))
            .collect();
        let payloads = flat.iter().map(|(.., weight)| Payload::new(&weight.weight)).collect::<Result<Vec<_>>>()?;
        let payloads: Vec<&Payload<'_>> = payloads.iter().collect();
        let mut equal = Equal::default();
        // Equal bytes of another dtype or shape are another value.
        let mut known: FxHashMap<(usize, i32, Vec<i64>), String> = FxHashMap::default();
        for (index, (side, model, weight)) in flat.iter().enumerate() {
            let (class, _) = equal.class(index, &payloads)?;
            let key = (class, weight.dtype.onnx(), weight.weight.sizes.clone());
            let name = known.entry(key).or_insert_with(|| {
                let name = free(model, &weight.name, taken);
                let (dtype, weight) = (weight.dtype, Arc::clone(&weight.weight));
                self.outside.push(Initializer { name: name.clone(), dtype, weight });
                name
            });
            names[*side].insert(weight.name.clone(), name.clone());
        }
        let mut known: FxHashMap<Vec<u8>, String> = FxHashMap::default();
        for (side, (model, graph)) in graphs.iter().enumerate() {
            for tensor in &graph.initializer {
                let content = TensorProto { name: None, ..tensor.clone() }.encode_to_vec();
                let name = known.entry(content).or_insert_with(|| {
                    let name = free(model, tensor.name(), taken);
                    self.inside.push(TensorProto { name: Some(name.clone()), ..tensor.clone() });
                    name
                });
                names[side].insert(tensor.name().to_owned(), name.clone());
            }
        }
        Ok(names)
    }
}

/// An unused name for a value of a model: its own, or with the name of the model.
fn free(model: &str, name: &str, taken: &mut FxHashSet<String>) -> String {
    let mut wanted = name.to_owned();
    while !taken.insert(wanted.clone()) {
        wanted = format!("{model}/{wanted}");
    }
    wanted
}

/// The graph of a model as a branch: its values get names of their own, its inputs are those outside.
fn branch(
    name: &str,
    graph: GraphProto,
    mut kept: FxHashMap<String, String>,
    outputs: &[ValueInfoProto],
    taken: &FxHashSet<String>,
) -> GraphProto {
    kept.extend(graph.input.iter().map(|input| (input.name().to_owned(), input.name().to_owned())));
    let mut prefix = format!("{name}/");
    while taken.iter().any(|name| name.starts_with(&prefix)) {
        prefix.push('/');
    }
    let mut node = graph.node;
    node.iter_mut().for_each(|node| rename_node(node, &prefix, &kept));
    let result = |value: &ValueInfoProto| ValueInfoProto {
        name: Some(renamed(value.name(), &prefix, &kept)),
        r#type: value.r#type.as_ref().map(without_sizes),
        ..ValueInfoProto::default()
    };
    let output = outputs.iter().map(result).collect();
    GraphProto { node, name: Some(name.to_owned()), output, ..GraphProto::default() }
}

fn renamed(name: &str, prefix: &str, kept: &FxHashMap<String, String>) -> String {
    match kept.get(name) {
        _ if name.is_empty() => String::new(),
        Some(name) => name.clone(),
        None => format!("{prefix}{name}"),
    }
}

fn rename_node(node: &mut NodeProto, prefix: &str, kept: &FxHashMap<String, String>) {
    if node.name.is_some() {
        node.name = Some(format!("{prefix}{}", node.name()));
    }
    for name in node.input.iter_mut().chain(&mut node.output) {
        *name = renamed(name, prefix, kept);
    }
    for graph in node.attribute.iter_mut().flat_map(|attribute| attribute.g.iter_mut().chain(&mut attribute.graphs)) {
        rename_graph(graph, prefix, kept);
    }
}

/// Renames a subgraph, whose values have names that are unique in the whole model.
fn rename_graph(graph: &mut GraphProto, prefix: &str, kept: &FxHashMap<String, String>) {
    graph.node.iter_mut().for_each(|node| rename_node(node, prefix, kept));
    for value in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
        value.name = Some(renamed(value.name(), prefix, kept));
    }
    for tensor in &mut graph.initializer {
        tensor.name = Some(renamed(tensor.name(), prefix, kept));
    }
}

/// The results: those of the first model, which the second has to have as well.
fn outputs(first: &Named<'_>, a: &GraphProto, second: &Named<'_>, b: &GraphProto) -> Result<Vec<ValueInfoProto>> {
    let names = |graph: &GraphProto| graph.output.iter().map(|value| value.name().to_owned()).collect::<Vec<_>>();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    if sorted(names(a)) != sorted(names(b)) {
        let (own, others) = (names(a).join("`, `"), names(b).join("`, `"));
        let message = format!("`{}` returns `{own}`, but `{}` returns `{others}`", first.0, second.0);
        return Err(Error::unsupported(message).help("name the results of both alike: `--output-name logits`"));
    }
    let other: BTreeMap<&str, &ValueInfoProto> = b.output.iter().map(|value| (value.name(), value)).collect();
    let both = |value: &ValueInfoProto| match other.get(value.name()) {
        Some(other) => joined("result", [first.0, second.0], value, other),
        None => Ok(value.clone()),
    };
    a.output.iter().map(both).collect()
}

/// The inputs of both, those of the first model first.
fn inputs(first: &Named<'_>, a: &GraphProto, second: &Named<'_>, b: &GraphProto) -> Result<Vec<ValueInfoProto>> {
    let is_weight = |model: &Model, graph: &GraphProto, name: &str| {
        graph.initializer.iter().any(|tensor| tensor.name() == name) || model.weights.iter().any(|w| w.name == name)
    };
    let own = |model: &Model, graph: &GraphProto| -> Vec<ValueInfoProto> {
        graph.input.iter().filter(|value| !is_weight(model, graph, value.name())).cloned().collect()
    };
    let mut all: Vec<ValueInfoProto> = own(first.1, a);
    for value in own(second.1, b) {
        match all.iter_mut().find(|known| known.name() == value.name()) {
            Some(known) => *known = joined("input", [first.0, second.0], known, &value)?,
            None => all.push(value),
        }
    }
    Ok(all)
}

/// A value of both models: sizes that differ are not stated.
fn joined(what: &str, names: [&str; 2], own: &ValueInfoProto, other: &ValueInfoProto) -> Result<ValueInfoProto> {
    let differ = |why: &str| Err(Error::unsupported(format!("the {what} `{}` has {why} in both models", own.name())));
    match (tensor_of(own), tensor_of(other)) {
        (Some(a), Some(b)) => {
            if a.elem_type != b.elem_type {
                return differ("different dtypes");
            }
            let shape = match (&a.shape, &b.shape) {
                (Some(x), Some(y)) if x.dim.len() == y.dim.len() => {
                    let dims = x.dim.iter().zip(&y.dim);
                    let dim =
                        dims.map(|(x, y)| if x == y { x.clone() } else { tensor_shape_proto::Dimension::default() });
                    Some(TensorShapeProto { dim: dim.collect() })
                }
                (Some(_), Some(_)) if what == "input" => return differ("different ranks"),
                _ => None,
            };
            let value = type_proto::Value::TensorType(type_proto::Tensor { elem_type: a.elem_type, shape });
            let ty = TypeProto { value: Some(value), ..TypeProto::default() };
            let doc_string = metadata::doc(names, own, other);
            Ok(ValueInfoProto { name: own.name.clone(), r#type: Some(ty), doc_string, ..ValueInfoProto::default() })
        }
        _ if own.r#type == other.r#type => Ok(own.clone()),
        _ => differ("different types"),
    }
}

fn tensor_of(value: &ValueInfoProto) -> Option<&type_proto::Tensor> {
    match value.r#type.as_ref()?.value.as_ref()? {
        type_proto::Value::TensorType(tensor) => Some(tensor),
        _ => None,
    }
}

/// The branches have different sizes, so none are stated.
fn without_sizes(ty: &TypeProto) -> TypeProto {
    match &ty.value {
        Some(type_proto::Value::TensorType(tensor)) => {
            let value = type_proto::Value::TensorType(type_proto::Tensor { shape: None, ..tensor.clone() });
            TypeProto { value: Some(value), ..ty.clone() }
        }
        _ => ty.clone(),
    }
}

fn flag_input(name: &str) -> ValueInfoProto {
    let one = tensor_shape_proto::dimension::Value::DimValue(1);
    let shape = TensorShapeProto { dim: vec![tensor_shape_proto::Dimension { value: Some(one), denotation: None }] };
    let elem_type = Some(tensor_proto::DataType::Bool.into());
    let tensor = type_proto::Tensor { elem_type, shape: Some(shape) };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: Some(name.to_owned()), r#type: Some(ty), ..ValueInfoProto::default() }
}
