//! The digest of the graphs that a rule emits for its examples. What was measured of a rule names it, so that everybody sees which
//! measurements are of other graphs than the rule emits now.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use aten2onnx_core::error::Result;
use aten2onnx_examples as examples;
use aten2onnx_onnx::proto::{GraphProto, ModelProto, NodeProto};
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;
use prost::Message;

use super::check::Exporter;
use super::{OPSETS, in_threads};

/// The digest of each of some rules.
///
/// # Errors
/// A thread ends.
pub fn graph_digests(
    names: &[String],
    set: &MappingFiles,
    rules: &Rules,
    jobs: usize,
) -> Result<BTreeMap<String, String>> {
    let exporter = Exporter { checked: set.checked(), rules };
    let open: Mutex<VecDeque<&String>> = Mutex::new(names.iter().collect());
    let found = Mutex::new(BTreeMap::new());
    let next = || open.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || -> Result<()> {
        while let Some(name) = next() {
            let digest = graph_digest(name, exporter);
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), digest);
        }
        Ok(())
    };
    in_threads(jobs, &work)?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The digest of a rule: CRC-32 of the different graphs of its examples at the opsets of level sampled, in hexadecimal. Names of values are
/// no part of a graph, and neither are opsets: a new one at which nothing changes changes no digest.
pub(super) fn graph_digest(name: &str, exporter: Exporter<'_>) -> String {
    let own = exporter.checked.program.examples.iter().filter(|example| examples::target(example) == name);
    let graphs: BTreeSet<Vec<u8>> =
        own.flat_map(|example| OPSETS.map(|opset| graph_text(example, opset, exporter))).collect();
    let mut hasher = crc32fast::Hasher::new();
    graphs.iter().for_each(|graph| hasher.update(graph));
    format!("{:08x}", hasher.finalize())
}

/// The graph of an example without what is no part of it, or that there is none.
fn graph_text(example: &Example, opset: u32, exporter: Exporter<'_>) -> Vec<u8> {
    let Ok(Some(built)) = exporter.model(example, opset) else { return b"none".to_vec() };
    let Some(mut graph) = ModelProto::decode(&*built.bytes).ok().and_then(|model| model.graph) else {
        return built.bytes;
    };
    Names::default().number(&mut graph);
    graph.encode_to_vec()
}

/// The values of a model by their names, in the order in which they are met.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    /// Names the values of a graph by numbers, and takes away what only describes it.
    fn number(&mut self, graph: &mut GraphProto) {
        (graph.name, graph.doc_string) = (None, None);
        graph.value_info.clear();
        graph.metadata_props.clear();
        for input in &mut graph.input {
            (input.name, input.doc_string) = (self.name(input.name()), None);
        }
        for initializer in &mut graph.initializer {
            (initializer.name, initializer.doc_string) = (self.name(initializer.name()), None);
        }
        graph.node.iter_mut().for_each(|node| self.number_node(node));
        for output in &mut graph.output {
            (output.name, output.doc_string) = (self.name(output.name()), None);
        }
    }

    fn number_node(&mut self, node: &mut NodeProto) {
        (node.name, node.doc_string) = (None, None);
        node.metadata_props.clear();
        for attribute in &mut node.attribute {
            attribute.g.iter_mut().chain(&mut attribute.graphs).for_each(|graph| self.number(graph));
        }
        for name in node.input.iter_mut().chain(&mut node.output) {
            *name = self.name(name).unwrap_or_default();
        }
    }

    /// An input that is left out has an empty name.
    fn name(&mut self, name: &str) -> Option<String> {
        if name.is_empty() {
            return None;
        }
        let next = self.0.len();
        Some(self.0.entry(name.to_owned()).or_insert(next).to_string())
    }
}

#[cfg(test)]
mod tests {
    use aten2onnx_onnx::proto::ValueInfoProto;

    use super::*;

    fn graph(op: &str, names: [&str; 3]) -> Vec<u8> {
        let [x, y, label] = names.map(str::to_owned);
        let value = |name: &String| ValueInfoProto { name: Some(name.clone()), ..ValueInfoProto::default() };
        let mut graph = GraphProto {
            name: Some(label.clone()),
            input: vec![value(&x)],
            output: vec![value(&y)],
            node: vec![NodeProto {
                input: vec![x, String::new()],
                output: vec![y],
                name: Some(label),
                op_type: Some(op.to_owned()),
                ..NodeProto::default()
            }],
            ..GraphProto::default()
        };
        Names::default().number(&mut graph);
        graph.encode_to_vec()
    }

    #[test]
    fn names_are_no_part_of_a_graph_and_operators_are() {
        let one = graph("Relu", ["x", "y", "one"]);
        assert_eq!(one, graph("Relu", ["input", "output", "other"]));
        assert_ne!(one, graph("Elu", ["x", "y", "one"]));
        assert_ne!(one, graph("Relu", ["x", "x", "one"]));
    }
}
