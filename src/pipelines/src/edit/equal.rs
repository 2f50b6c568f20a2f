//! Equal weights once.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::index::graph_of;
use super::super::names::{Names, rename_reads};
use aten2onnx_core::error::Result;
use aten2onnx_core::weights::Payload;
use aten2onnx_onnx::proto::TensorProto;
use aten2onnx_onnx::{Equal, Model};

/// Removes weights that are equal to an earlier one, and says how many. Those that are inputs or outputs stay.
///
/// # Errors
/// Weights that cannot be read.
pub fn deduplicate(model: &mut Model) -> Result<String> {
    let graph = graph_of(&model.proto)?;
    let fixed: FxHashSet<String> = graph.input.iter().chain(&graph.output).map(|v| v.name().to_owned()).collect();
    let mut renamed = Names::default();
    let mut bytes = 0u64;
    let payloads = model.weights.iter().map(|weight| Payload::new(&weight.weight)).collect::<Result<Vec<_>>>()?;
    let payloads: Vec<&Payload<'_>> = payloads.iter().collect();
    let mut equal = Equal::default();
    // Equal bytes of another dtype or shape are another value.
    let mut known: FxHashMap<(usize, i32, &[i64]), &str> = FxHashMap::default();
    for (number, weight) in model.weights.iter().enumerate() {
        let (class, _) = equal.class(number, &payloads)?;
        if fixed.contains(&weight.name) {
            continue;
        }
        let first = *known.entry((class, weight.dtype.onnx(), &weight.weight.sizes)).or_insert(&weight.name);
        if first != weight.name {
            bytes += weight.weight.byte_len().unwrap_or(0);
            renamed.insert(weight.name.clone(), first.to_owned());
        }
    }
    let mut inside: Vec<(&TensorProto, &str)> = Vec::new();
    for tensor in graph.initializer.iter().filter(|tensor| !fixed.contains(tensor.name())) {
        let same = |other: &TensorProto| {
            TensorProto { name: None, ..other.clone() } == TensorProto { name: None, ..tensor.clone() }
        };
        match inside
            .iter()
            .find(|(other, _)| other.dims == tensor.dims && other.raw_data == tensor.raw_data && same(other))
        {
            Some((_, first)) => drop(renamed.insert(tensor.name().to_owned(), (*first).to_owned())),
            None => inside.push((tensor, tensor.name())),
        }
    }
    let count = renamed.len();
    model.weights.retain(|weight| !renamed.contains_key(&weight.name));
    if let Some(graph) = &mut model.proto.graph {
        graph.initializer.retain(|tensor| !renamed.contains_key(tensor.name()));
        graph.node.iter_mut().for_each(|node| rename_reads(node, &renamed));
        for entry in graph.quantization_annotation.iter_mut().flat_map(|note| &mut note.quant_parameter_tensor_names) {
            if let Some(first) = renamed.get(entry.value()) {
                entry.value = Some(first.clone());
            }
        }
    }
    Ok(format!("{count} weights were equal to others: {bytes} bytes less"))
}
