//! Names of values in the file: those of the graph, short names, and those that the user requested.

use rustc_hash::FxHashSet;

use super::ModelOptions;
use super::provenance::Provenance;
use crate::graph::{Graph, Source, Value};
use aten2onnx_core::error::{Error, Result};

/// Names by [`Value::index`]. Values without a name in the graph are unused.
pub fn of_values(graph: &Graph, options: &ModelOptions) -> Result<Vec<String>> {
    let mut names: Vec<String> = graph.values.iter().map(|info| info.name.clone()).collect();
    let mut taken: FxHashSet<String> = options.names.values().cloned().collect();
    if taken.len() < options.names.len() {
        return Err(Error::unsupported("two inputs or outputs would have the same name"));
    }
    let kept = values_with_names(graph, options);
    for (i, name) in names.iter_mut().enumerate().filter(|(_, name)| !name.is_empty()) {
        let value = Value::new(i as u32);
        if let Some(chosen) = options.names.get(&value) {
            name.clone_from(chosen);
        } else if kept.contains(&value) {
            *name = free(std::mem::take(name), &taken);
            taken.insert(name.clone());
        }
    }
    let mut count = 0u32;
    for (i, name) in names.iter_mut().enumerate().filter(|(_, name)| !name.is_empty()) {
        let value = Value::new(i as u32);
        if kept.contains(&value) || options.names.contains_key(&value) {
            continue;
        }
        let wanted = format!("v{count}");
        count += 1;
        *name = free(wanted, &taken);
        taken.insert(name.clone());
    }
    Ok(names)
}

/// The values that keep their names: all, or with short names only inputs, outputs and weights.
fn values_with_names(graph: &Graph, options: &ModelOptions) -> FxHashSet<Value> {
    let all = (0..graph.values.len() as u32).map(Value::new);
    if options.provenance != Provenance::None {
        return all.collect();
    }
    let weights = all.filter(|value| matches!(graph.info(*value).source, Source::Weight(_)));
    weights.chain(graph.body.inputs.iter().copied()).chain(graph.body.outputs.iter().copied()).collect()
}

/// The name, with underscores appended until it is unused.
fn free(mut name: String, taken: &FxHashSet<String>) -> String {
    while taken.contains(&name) {
        name.push('_');
    }
    name
}
