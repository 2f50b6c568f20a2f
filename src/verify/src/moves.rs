//! Whether a model only moves data: every element of its results is an element of an input, or a constant.

use std::collections::HashSet;

use aten2onnx_onnx::proto::{GraphProto, ModelProto, NodeProto};
use aten2onnx_onnx::schema;
use prost::Message;

/// The operators of a model's nodes.
pub(super) fn operators(bytes: &[u8]) -> Vec<String> {
    let Ok(model) = ModelProto::decode(bytes) else { return Vec::new() };
    model.graph.iter().flat_map(|graph| &graph.node).map(|node| node.op_type().to_owned()).collect()
}

/// Whether all results of a model are moved elements of inputs, at least one of them of an input.
pub(super) fn only_moves(bytes: &[u8]) -> bool {
    let Ok(model) = ModelProto::decode(bytes) else { return false };
    model.graph.as_ref().is_some_and(graph_moves)
}

fn graph_moves(graph: &GraphProto) -> bool {
    let inputs: HashSet<&str> = graph.input.iter().map(|input| input.name()).collect();
    let mut moved: HashSet<&str> = inputs.clone();
    let mut constant: HashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name()).collect();
    for node in &graph.node {
        let known = |name: &String| constant.contains(name.as_str());
        if node.input.iter().all(known) && node.attribute.iter().all(|attribute| attribute.g.is_none()) {
            constant.extend(node.output.iter().map(String::as_str));
        } else if moves(node, &moved, &constant) {
            moved.extend(node.output.iter().map(String::as_str));
        }
    }
    let names: Vec<&str> = graph.output.iter().map(|output| output.name()).collect();
    names.iter().all(|name| moved.contains(name) || constant.contains(name))
        && names.iter().any(|name| moved.contains(name))
}

fn moves(node: &NodeProto, moved: &HashSet<&str>, constant: &HashSet<&str>) -> bool {
    let Some(op) = schema::find(node.op_type()).filter(|op| !op.facts.moves.is_empty()) else { return false };
    let adds = |attribute: &aten2onnx_onnx::proto::AttributeProto| {
        attribute.name() == "reduction" && attribute.s() != b"none" && !attribute.s().is_empty()
    };
    if node.attribute.iter().any(adds) {
        return false;
    }
    // The others are positions, sizes and masks.
    let is_read = |i: usize| op.facts.moves.has(op.port_of(i));
    let is_data = |name: &str| name.is_empty() || moved.contains(name) || constant.contains(name);
    node.input.iter().enumerate().filter(|(i, _)| is_read(*i)).all(|(_, name)| is_data(name))
}
