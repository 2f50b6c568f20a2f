//! Whether a model only moves data: every element of its results is an element of an input, or a constant.

use std::collections::HashSet;

use aten2onnx_onnx::proto::{GraphProto, ModelProto, NodeProto};
use prost::Message;

/// Operators whose results hold elements of these inputs only; the others are positions, sizes and masks.
const MOVERS: [(&str, &[usize]); 26] = [
    ("Concat", &[]),
    ("Compress", &[0]),
    ("DepthToSpace", &[0]),
    ("Expand", &[0]),
    ("Flatten", &[0]),
    ("Gather", &[0]),
    ("GatherElements", &[0]),
    ("GatherND", &[0]),
    ("Identity", &[0]),
    ("Pad", &[0, 2]),
    ("Reshape", &[0]),
    ("ReverseSequence", &[0]),
    ("ScatterElements", &[0, 2]),
    ("ScatterND", &[0, 2]),
    ("SequenceConstruct", &[]),
    ("Slice", &[0]),
    ("SpaceToDepth", &[0]),
    ("Split", &[0]),
    ("Squeeze", &[0]),
    ("Tile", &[0]),
    ("Transpose", &[0]),
    ("Trilu", &[0]),
    ("Unsqueeze", &[0]),
    ("Where", &[1, 2]),
    ("ConcatFromSequence", &[0]),
    ("SplitToSequence", &[0]),
];

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
    let Some((_, places)) = MOVERS.iter().find(|(op, _)| *op == node.op_type()) else { return false };
    let adds = |attribute: &aten2onnx_onnx::proto::AttributeProto| {
        attribute.name() == "reduction" && attribute.s() != b"none" && !attribute.s().is_empty()
    };
    if node.attribute.iter().any(adds) {
        return false;
    }
    let is_data = |name: &&String| name.is_empty() || moved.contains(name.as_str()) || constant.contains(name.as_str());
    match places.is_empty() {
        true => node.input.iter().all(|name| is_data(&name)),
        false => places.iter().filter_map(|place| node.input.get(*place)).all(|name| is_data(&name)),
    }
}
