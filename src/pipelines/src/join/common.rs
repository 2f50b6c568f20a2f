//! What several models have of the same name and content is kept once: weights, and nodes that compute constants of them, as the parts of a
//! split model have.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::index::reads_of;
use super::super::made::FIRST_WITH_WEIGHTS;
use super::super::part::may_vary;
use super::Joined;
use aten2onnx_core::error::Result;
use aten2onnx_core::weights::{Payload, Weight};
use aten2onnx_onnx::proto::{NodeProto, TensorProto};

/// The constants of the models before, by their names.
#[derive(Default)]
pub struct Common {
    weights: FxHashMap<String, Arc<Weight>>,
    tensors: FxHashMap<String, TensorProto>,
    /// By the first output.
    nodes: FxHashMap<String, NodeProto>,
}

impl Common {
    /// Removes from a model what models before it have, too. Its nodes read that of the others then.
    ///
    /// # Errors
    /// Weights that cannot be read.
    pub fn remove(&self, part: &mut Joined) -> Result<()> {
        let mut known: FxHashSet<String> = FxHashSet::default();
        for weight in &part.model.weights {
            if let Some(other) = self.weights.get(&weight.name)
                && same(&weight.weight, other)?
            {
                known.insert(weight.name.clone());
            }
        }
        let is_old = part.model.proto.ir_version() < i64::from(FIRST_WITH_WEIGHTS);
        let Some(graph) = &mut part.model.proto.graph else { return Ok(()) };
        let outputs: FxHashSet<&str> = graph.output.iter().map(|output| output.name()).collect();
        let is_known = |tensor: &&TensorProto| self.tensors.get(tensor.name()) == Some(*tensor);
        known.extend(graph.initializer.iter().filter(is_known).map(|tensor| tensor.name().to_owned()));
        // Weights of old models are inputs, too; others that are inputs have a value of their own in each call.
        let inputs: FxHashSet<&str> = graph.input.iter().map(|input| input.name()).collect();
        known.retain(|name| !outputs.contains(name.as_str()) && (is_old || !inputs.contains(name.as_str())));
        let mut computed: FxHashSet<String> = FxHashSet::default();
        for node in &graph.node {
            let is_same = node.output.first().is_some_and(|name| self.nodes.get(name) == Some(node));
            let is_output = node.output.iter().any(|name| outputs.contains(name.as_str()));
            if is_same && !is_output && reads_of(node).iter().all(|name| known.contains(*name)) {
                known.extend(node.output.iter().cloned());
                computed.extend(node.output.first().cloned());
            }
        }
        graph.node.retain(|node| !node.output.first().is_some_and(|name| computed.contains(name)));
        graph.initializer.retain(|tensor| !known.contains(tensor.name()));
        graph.input.retain(|input| !known.contains(input.name()));
        graph.value_info.retain(|info| !known.contains(info.name()));
        part.model.weights.retain(|weight| !known.contains(&weight.name));
        Ok(())
    }

    /// Adds the constants of a model, by the names that they have now.
    pub fn add(&mut self, part: &Joined) {
        let Some(graph) = &part.model.proto.graph else { return };
        for weight in &part.model.weights {
            self.weights.entry(weight.name.clone()).or_insert_with(|| Arc::clone(&weight.weight));
        }
        for tensor in &graph.initializer {
            self.tensors.entry(tensor.name().to_owned()).or_insert_with(|| tensor.clone());
        }
        let mut outputs: FxHashSet<&str> = FxHashSet::default();
        for node in &graph.node {
            let is_given = |name: &&str| {
                outputs.contains(*name) || self.weights.contains_key(*name) || self.tensors.contains_key(*name)
            };
            if let Some(first) = node.output.first().filter(|_| !may_vary(node) && reads_of(node).iter().all(is_given))
            {
                self.nodes.entry(first.clone()).or_insert_with(|| node.clone());
                outputs.extend(node.output.iter().map(String::as_str));
            }
        }
    }
}

fn same(one: &Weight, other: &Weight) -> Result<bool> {
    if one.dtype != other.dtype || one.sizes != other.sizes {
        return Ok(false);
    }
    let (one, other) = (Payload::new(one)?, Payload::new(other)?);
    Ok(one.same_place(&other) || one.same_bytes(&other)?)
}
