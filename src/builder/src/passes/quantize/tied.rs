//! Stores what is equal among quantized weights once: an embedding and a head of the same elements read one value, through a `Reshape` if each has sizes of
//! its own.

use rustc_hash::FxHashMap;

use aten2onnx_core::weights::{Payload, Storage, Weight};
use aten2onnx_onnx::graph::{Node, Source, Value};

use crate::build::Builder;
use crate::passes::dead::live_nodes;

/// Joins equal weights.
pub(super) fn tie(builder: &mut Builder) {
    let mut nodes = live_nodes(builder);
    let mut kept: Vec<Value> = Vec::new();
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    for value in read(&nodes) {
        let Some(weight) = quantized(builder, value) else { continue };
        let same =
            kept.iter().copied().find(|other| quantized(builder, *other).is_some_and(|other| is_same(weight, other)));
        let Some(other) = same else {
            kept.push(value);
            continue;
        };
        let sizes = weight.sizes.clone();
        let one = if quantized(builder, other).is_some_and(|other| other.sizes == sizes) {
            Some(other)
        } else {
            let shape = builder.ints(&sizes);
            builder.node_of_runtime("Reshape", vec![other.into(), shape.into()], vec![])
        };
        replaced.extend(one.map(|one| (value, one)));
    }
    nodes.iter_mut().for_each(|node| replace(node, &replaced));
    builder.nodes_mut().extend(nodes);
}

/// The values that nodes read, each once.
fn read(nodes: &[Node]) -> Vec<Value> {
    fn visit(nodes: &[Node], all: &mut Vec<Value>) {
        for node in nodes {
            all.extend(node.inputs.iter().flatten());
            node.bodies().for_each(|body| visit(&body.nodes, all));
        }
    }
    let mut all = Vec::new();
    visit(nodes, &mut all);
    let mut seen = rustc_hash::FxHashSet::default();
    all.retain(|value| seen.insert(*value));
    all
}

/// A weight that is computed from floats, or from what is.
fn quantized(builder: &Builder, value: Value) -> Option<&Weight> {
    let Source::Weight(weight) = builder.source(value) else { return None };
    let is_quantized = match &weight.storage {
        Storage::Quantized(_) => true,
        Storage::Digits(digits) => matches!(digits.source().storage, Storage::Quantized(_)),
        _ => false,
    };
    is_quantized.then_some(weight)
}

fn is_same(one: &Weight, other: &Weight) -> bool {
    if one.dtype != other.dtype {
        return false;
    }
    match (Payload::new(one), Payload::new(other)) {
        (Ok(one), Ok(other)) => one.len() == other.len() && one.same_place(&other),
        _ => false,
    }
}

fn replace(node: &mut Node, replaced: &FxHashMap<Value, Value>) {
    for value in node.inputs.iter_mut().flatten() {
        *value = replaced.get(value).copied().unwrap_or(*value);
    }
    for body in node.attrs.iter_mut().flat_map(|(_, attr)| attr.bodies_mut()) {
        body.nodes.iter_mut().for_each(|node| replace(node, replaced));
    }
}
