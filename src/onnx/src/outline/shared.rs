//! Names values that several calls of functions read after their operator alone. Before, they have the name of a module too, but that of the
//! first layer says nothing about the others, and each call repeats it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::visit_reads;
use crate::proto::{GraphProto, NodeProto};

/// Names the values of the main graph that two nodes or more of these domains read.
pub fn rename(graph: &mut GraphProto, domains: &FxHashSet<&str>) {
    let mut readers: FxHashMap<&str, usize> = FxHashMap::default();
    for call in graph.node.iter().filter(|node| domains.contains(node.domain())) {
        let given: FxHashSet<&str> = call.input.iter().map(String::as_str).collect();
        given.into_iter().for_each(|name| *readers.entry(name).or_default() += 1);
    }
    let outputs: FxHashSet<&str> = graph.output.iter().map(|value| value.name()).collect();
    let mut taken = taken(graph);
    let mut renamed: FxHashMap<String, String> = FxHashMap::default();
    for node in &graph.node {
        for name in node.output.iter().filter(|name| is_of_operator(name, node.op_type())) {
            if readers.get(name.as_str()).is_some_and(|count| *count > 1) && !outputs.contains(name.as_str()) {
                renamed.insert(name.clone(), unused(node.op_type(), &mut taken));
            }
        }
    }
    if !renamed.is_empty() {
        graph.node.iter_mut().for_each(|node| rename_values(node, &renamed));
        for info in &mut graph.value_info {
            replace(info.name.get_or_insert_default(), &renamed);
        }
    }
}

/// Whether the name is another one and the operator, with or without a number: `attention_Concat_1`.
fn is_of_operator(name: &str, op: &str) -> bool {
    let without = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = if without.len() < name.len() { without.strip_suffix('_').unwrap_or(name) } else { name };
    stem.strip_suffix(op).is_some_and(|rest| rest.len() > 1 && rest.ends_with('_'))
}

/// All names of a graph and its subgraphs.
fn taken(graph: &GraphProto) -> FxHashSet<String> {
    let mut names: FxHashSet<String> = FxHashSet::default();
    let mut graphs = vec![graph];
    while let Some(graph) = graphs.pop() {
        names.extend(graph.initializer.iter().map(|tensor| tensor.name().to_owned()));
        names.extend(graph.input.iter().chain(&graph.output).map(|value| value.name().to_owned()));
        for node in &graph.node {
            names.extend(node.output.iter().cloned());
            visit_reads(node, &mut |name| names.extend([name.to_owned()]));
            graphs.extend(node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)));
        }
    }
    names
}

fn unused(op: &str, taken: &mut FxHashSet<String>) -> String {
    let mut name = op.to_owned();
    let mut number = 0;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{op}_{number}");
    }
    name
}

fn rename_values(node: &mut NodeProto, renamed: &FxHashMap<String, String>) {
    node.input.iter_mut().chain(&mut node.output).for_each(|name| replace(name, renamed));
    for attribute in &mut node.attribute {
        for graph in attribute.g.iter_mut().chain(&mut attribute.graphs) {
            graph.node.iter_mut().for_each(|node| rename_values(node, renamed));
            graph.output.iter_mut().for_each(|value| replace(value.name.get_or_insert_default(), renamed));
        }
    }
}

fn replace(name: &mut String, renamed: &FxHashMap<String, String>) {
    if let Some(new) = renamed.get(name) {
        name.clone_from(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_operator_at_its_end() {
        for (name, op, is) in [
            ("attention_Concat", "Concat", true),
            ("attention_Concat_1", "Concat", true),
            ("Concat_1", "Concat", false),
            ("_Concat", "Concat", false),
            ("cos", "Cos", false),
            ("attention_1", "Concat", false),
            ("aConcat1", "Concat", false),
        ] {
            assert_eq!(is_of_operator(name, op), is, "{name}");
        }
    }
}
