//! Gives values other names: in the graph, and in bodies that read them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::index::bodies;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{GraphProto, NodeProto};

/// New names by old ones.
pub type Names = FxHashMap<String, String>;

/// Gives values of the main graph other names, all at once.
pub fn rename(model: &mut Model, names: &Names) {
    if let Some(graph) = &mut model.proto.graph {
        declarations(graph, names);
        graph.node.iter_mut().for_each(|node| rename_node(node, names));
    }
    for weight in &mut model.weights {
        replace(&mut weight.name, names);
    }
}

/// Gives values other names, also those that bodies define.
pub fn rename_all(model: &mut Model, names: &Names) {
    if names.is_empty() {
        return;
    }
    model.proto.graph.iter_mut().for_each(|graph| rename_graph(graph, names));
    for weight in &mut model.weights {
        replace(&mut weight.name, names);
    }
}

fn rename_graph(graph: &mut GraphProto, names: &Names) {
    declarations(graph, names);
    for node in &mut graph.node {
        node.input.iter_mut().chain(&mut node.output).for_each(|name| replace(name, names));
        let attributes = node.attribute.iter_mut();
        attributes.flat_map(|a| a.g.iter_mut().chain(&mut a.graphs)).for_each(|body| rename_graph(body, names));
    }
}

/// Gives what a graph declares other names.
fn declarations(graph: &mut GraphProto, names: &Names) {
    let values = graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info);
    values.filter_map(|value| value.name.as_mut()).for_each(|name| replace(name, names));
    let sparse = graph.sparse_initializer.iter_mut().filter_map(|tensor| tensor.values.as_mut());
    let tensors = graph.initializer.iter_mut().chain(sparse);
    tensors.filter_map(|tensor| tensor.name.as_mut()).for_each(|name| replace(name, names));
    for note in &mut graph.quantization_annotation {
        note.tensor_name.iter_mut().for_each(|name| replace(name, names));
        let parameters = note.quant_parameter_tensor_names.iter_mut();
        parameters.filter_map(|entry| entry.value.as_mut()).for_each(|name| replace(name, names));
    }
}

/// Gives what a node reads and computes other names, also in its bodies.
pub fn rename_node(node: &mut NodeProto, names: &Names) {
    node.output.iter_mut().for_each(|name| replace(name, names));
    rename_reads(node, names);
}

/// Gives what a node reads other names, also in its bodies.
pub fn rename_reads(node: &mut NodeProto, names: &Names) {
    node.input.iter_mut().for_each(|name| replace(name, names));
    let attributes = node.attribute.iter_mut();
    attributes.flat_map(|a| a.g.iter_mut().chain(&mut a.graphs)).for_each(|body| rename_body(body, names));
}

fn rename_body(body: &mut GraphProto, names: &Names) {
    let mut own = Vec::new();
    defined(body, &mut own);
    let is_hidden = |name: &String| own.iter().any(|own| own == name);
    if names.keys().any(is_hidden) {
        let seen = names.iter().filter(|(old, _)| !is_hidden(old));
        let seen: Names = seen.map(|(old, new)| (old.clone(), new.clone())).collect();
        return rename_inside(body, &seen);
    }
    rename_inside(body, names);
}

fn rename_inside(body: &mut GraphProto, names: &Names) {
    body.output.iter_mut().filter_map(|value| value.name.as_mut()).for_each(|name| replace(name, names));
    body.node.iter_mut().for_each(|node| rename_reads(node, names));
}

/// The values that a body defines, without those of bodies inside.
fn defined(body: &GraphProto, names: &mut Vec<String>) {
    let sparse = body.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
    names.extend(body.input.iter().map(|value| value.name().to_owned()));
    names.extend(body.initializer.iter().chain(sparse).map(|tensor| tensor.name().to_owned()));
    names.extend(body.node.iter().flat_map(|node| &node.output).cloned());
}

fn replace(name: &mut String, names: &Names) {
    if let Some(new) = names.get(name.as_str()) {
        name.clone_from(new);
    }
}

/// All names of values in a model, also those in bodies.
pub fn taken(model: &Model) -> FxHashSet<String> {
    let mut names: Vec<String> = model.weights.iter().map(|weight| weight.name.clone()).collect();
    let mut graphs: Vec<&GraphProto> = model.proto.graph.iter().collect();
    while let Some(graph) = graphs.pop() {
        defined(graph, &mut names);
        graphs.extend(graph.node.iter().flat_map(bodies));
    }
    names.into_iter().filter(|name| !name.is_empty()).collect()
}

/// A name that no value has: the wanted one, or with underscores after it.
pub fn free(wanted: &str, taken: &mut FxHashSet<String>) -> String {
    let mut name = wanted.to_owned();
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// Checks that no two values of the model get the same name.
///
/// # Errors
/// They do.
pub fn check_unique(model: &Model, names: &Names) -> Result<()> {
    let mut kept = taken(model);
    for old in names.keys() {
        kept.remove(old);
    }
    let mut new: Vec<&String> = names.values().collect();
    new.sort();
    let clash = new.into_iter().find(|name| !kept.insert((*name).clone()));
    match clash {
        Some(name) => Err(Error::unsupported(format!("two values would have the name `{name}`"))
            .help("names of values are unique in a model: choose another one, or rename the other value, too")),
        None => Ok(()),
    }
}
