//! What computes each value of a graph, and what reads it. A body of a node reads what it takes from outside.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::Model;
use aten2onnx_onnx::proto::{GraphProto, ModelProto, NodeProto};

/// The values and nodes of the main graph of a model.
#[derive(Debug)]
pub struct Index<'a> {
    /// The nodes.
    pub nodes: &'a [NodeProto],
    /// The inputs of the graph that are no initializers, in order.
    pub inputs: Vec<&'a str>,
    /// The outputs of the graph in order.
    pub outputs: Vec<&'a str>,
    /// The names of initializers.
    pub initializers: FxHashSet<&'a str>,
    reads: Vec<Vec<&'a str>>,
    producers: FxHashMap<&'a str, usize>,
    readers: FxHashMap<&'a str, Vec<usize>>,
}

impl<'a> Index<'a> {
    /// The values and nodes of a model.
    ///
    /// # Errors
    /// A value that is computed twice, or read but not computed.
    pub fn of(model: &'a Model) -> Result<Index<'a>> {
        let graph = graph_of(&model.proto)?;
        let initializers = initializers(model, graph);
        let inputs = graph.input.iter().map(|input| input.name()).filter(|name| !initializers.contains(name)).collect();
        let mut index = Index {
            nodes: &graph.node,
            inputs,
            outputs: graph.output.iter().map(|output| output.name()).collect(),
            initializers,
            reads: graph.node.iter().map(reads_of).collect(),
            producers: FxHashMap::default(),
            readers: FxHashMap::default(),
        };
        index.fill()?;
        index.check()?;
        Ok(index)
    }

    fn fill(&mut self) -> Result<()> {
        let given: FxHashSet<&str> = self.inputs.iter().copied().chain(self.initializers.iter().copied()).collect();
        for (number, node) in self.nodes.iter().enumerate() {
            for output in node.output.iter().map(String::as_str).filter(|name| !name.is_empty()) {
                if given.contains(output) || self.producers.insert(output, number).is_some() {
                    return Err(damaged(format!("the value `{output}` is defined twice")).at(place_of(node)));
                }
            }
        }
        for (number, reads) in self.reads.iter().enumerate() {
            for name in reads {
                self.readers.entry(name).or_default().push(number);
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        for (node, reads) in self.nodes.iter().zip(&self.reads) {
            if let Some(name) = reads.iter().find(|name| !self.has(name)) {
                return Err(damaged(format!("the value `{name}` is read, but nothing computes it")).at(place_of(node)));
            }
        }
        match self.outputs.iter().find(|name| !self.has(name)) {
            Some(name) => Err(damaged(format!("the output `{name}` is not computed"))),
            None => Ok(()),
        }
    }

    /// Whether it is a value of the main graph.
    pub fn has(&self, name: &str) -> bool {
        self.producers.contains_key(name) || self.is_given(name)
    }

    /// Whether it is an input or an initializer.
    pub fn is_given(&self, name: &str) -> bool {
        self.initializers.contains(name) || self.inputs.contains(&name)
    }

    /// All values of the main graph.
    pub fn values(&self) -> impl Iterator<Item = &'a str> {
        let given = self.inputs.iter().copied().chain(self.initializers.iter().copied());
        self.producers.keys().copied().chain(given)
    }

    /// The node that computes a value.
    pub fn producer(&self, name: &str) -> Option<usize> {
        self.producers.get(name).copied()
    }

    /// The nodes that read a value.
    pub fn readers(&self, name: &str) -> &[usize] {
        self.readers.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// What a node reads, also in its bodies.
    pub fn reads(&self, node: usize) -> &[&'a str] {
        self.reads.get(node).map(Vec::as_slice).unwrap_or_default()
    }

    /// What a node computes.
    pub fn computes(&self, node: usize) -> impl Iterator<Item = &'a str> {
        let outputs = self.nodes.get(node).map(|node| node.output.as_slice()).unwrap_or_default();
        outputs.iter().map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The nodes in an order in which each value is computed before it is read: that of the model, where it is one.
    ///
    /// # Errors
    /// Nodes that wait for one another.
    pub fn order(&self) -> Result<Vec<usize>> {
        order_of(self.nodes, &self.reads)
    }
}

/// Puts nodes in order, also those of bodies.
///
/// # Errors
/// Nodes that wait for one another.
pub fn sort(nodes: &mut Vec<NodeProto>) -> Result<()> {
    let reads: Vec<Vec<&str>> = nodes.iter().map(reads_of).collect();
    let order = order_of(nodes, &reads)?;
    let mut given: Vec<Option<NodeProto>> = std::mem::take(nodes).into_iter().map(Some).collect();
    nodes.extend(order.into_iter().filter_map(|number| given.get_mut(number)?.take()));
    let attributes = nodes.iter_mut().flat_map(|node| &mut node.attribute);
    attributes.flat_map(|a| a.g.iter_mut().chain(&mut a.graphs)).try_for_each(|body| sort(&mut body.node))
}

fn order_of(nodes: &[NodeProto], reads: &[Vec<&str>]) -> Result<Vec<usize>> {
    let mut waits: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for output in nodes.iter().flat_map(|node| &node.output).filter(|name| !name.is_empty()) {
        waits.insert(output, Vec::new());
    }
    let mut waiting = vec![0usize; nodes.len()];
    for (number, (names, count)) in reads.iter().zip(&mut waiting).enumerate() {
        for name in names {
            if let Some(readers) = waits.get_mut(name) {
                readers.push(number);
                *count += 1;
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    ready.extend(waiting.iter().enumerate().filter(|(_, count)| **count == 0).map(|(node, _)| Reverse(node)));
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(number)) = ready.pop() {
        order.push(number);
        let outputs = nodes.get(number).map(|node| node.output.as_slice()).unwrap_or_default();
        for reader in outputs.iter().filter_map(|name| waits.get(name.as_str())).flatten() {
            let Some(count) = waiting.get_mut(*reader) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }
    match nodes.iter().zip(&waiting).find(|(_, count)| **count > 0) {
        Some((node, _)) => Err(damaged("the node waits for its own result".to_owned()).at(place_of(node))),
        None => Ok(order),
    }
}

fn damaged(message: String) -> Error {
    Error::input(message)
        .help("`onnx.checker.check_model(.., full_check=True)` checks whether the model itself is valid")
}

/// The main graph.
pub fn graph_of(model: &ModelProto) -> Result<&GraphProto> {
    if !model.training_info.is_empty() {
        let error = Error::unsupported("models with training graphs are not supported");
        return Err(error.help("save it for inference first"));
    }
    model.graph.as_ref().ok_or_else(|| Error::input("the model has no graph"))
}

fn initializers<'a>(model: &'a Model, graph: &'a GraphProto) -> FxHashSet<&'a str> {
    let sparse = graph.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
    let inside = graph.initializer.iter().chain(sparse).map(|tensor| tensor.name());
    inside.chain(model.weights.iter().map(|weight| weight.name.as_str())).collect()
}

/// How errors name a node.
pub fn place_of(node: &NodeProto) -> String {
    format!("node `{}` ({})", node.name(), node.op_type())
}

/// The names that a node reads, each once: its inputs, and what its bodies take from outside.
pub fn reads_of(node: &NodeProto) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    bodies(node).for_each(|body| names.extend(free_names(body)));
    let mut known = FxHashSet::default();
    names.retain(|name| known.insert(*name));
    names
}

/// The bodies of a node.
pub fn bodies(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs))
}

/// The names that a body takes from outside.
fn free_names(body: &GraphProto) -> Vec<&str> {
    let sparse = body.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
    let mut own: FxHashSet<&str> = body.initializer.iter().chain(sparse).map(|tensor| tensor.name()).collect();
    own.extend(body.input.iter().map(|input| input.name()));
    own.extend(body.node.iter().flat_map(|node| &node.output).map(String::as_str));
    let outputs = body.output.iter().map(|output| output.name());
    let read = body.node.iter().flat_map(reads_of).chain(outputs);
    read.filter(|name| !own.contains(name) && !name.is_empty()).collect()
}
