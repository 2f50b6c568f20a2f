//! Nodes without their names: what two calls of one function have in common, and what each gives to it.
//!
//! Values get canonical names in the order in which they are met: `i0` is given, `w0` is a weight, `c0` a constant, `t0` a result.

use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::proto::{AttributeProto, GraphProto, NodeProto, TensorProto, attribute_proto::AttributeType};

/// A description of nodes.
#[derive(Clone)]
pub struct FunctionForm {
    /// Equal for nodes that one function can stand for.
    pub key: Vec<u8>,
    /// The nodes with canonical names.
    pub nodes: Vec<NodeProto>,
    /// The names of the values that are given.
    pub inputs: Vec<String>,
    /// Those of weights.
    pub weights: Vec<String>,
    /// Those of constants.
    pub constants: Vec<String>,
    /// Those of the results that are read outside.
    pub outputs: Vec<String>,
    /// The canonical names of these.
    pub results: Vec<String>,
    /// The names of all results, by the number of their canonical names.
    pub inside: Vec<String>,
}

impl FunctionForm {
    /// Describes nodes, whose results `outputs` are read outside.
    pub fn of<'n>(
        nodes: impl Iterator<Item = &'n NodeProto>,
        outputs: &[String],
        constants: &FxHashMap<String, TensorProto>,
        weights: &FxHashSet<String>,
    ) -> FunctionForm {
        let mut names = Names { constants, weights, known: FxHashMap::default(), lists: Default::default() };
        let nodes: Vec<NodeProto> = nodes.map(|node| names.node(node)).collect();
        let mut results: Vec<(String, String)> =
            outputs.iter().filter_map(|name| Some((names.known.get(name)?.clone(), name.clone()))).collect();
        results.dedup();
        let mut key = Vec::new();
        for node in &nodes {
            without_values(node).encode_length_delimited(&mut key).unwrap_or_default();
        }
        key.extend(results.iter().flat_map(|(canonical, _)| canonical.bytes().chain([b','])));
        let [inputs, weights, constants, inside] = names.lists;
        let (results, outputs) = results.into_iter().unzip();
        FunctionForm { key, nodes, inputs, weights, constants, outputs, results, inside }
    }

    /// The simple attributes of all nodes: position of the node, position of the attribute.
    pub fn slot_places(&self) -> Vec<(usize, usize)> {
        let places = self.nodes.iter().enumerate().flat_map(|(at, node)| {
            node.attribute.iter().enumerate().filter(|(_, a)| is_simple(a)).map(move |(index, _)| (at, index))
        });
        places.collect()
    }

    /// A name for each of these: its own, with a number if another has it.
    pub fn slot_names(&self) -> Vec<String> {
        let mut taken: FxHashSet<String> = FxHashSet::default();
        let named = |(node, attribute): (usize, usize)| {
            let own = self.nodes.get(node).and_then(|node| node.attribute.get(attribute)).map_or("", |a| a.name());
            let mut name = own.to_owned();
            let mut number = 2;
            while !taken.insert(name.clone()) {
                name = format!("{own}_{number}");
                number += 1;
            }
            name
        };
        self.slot_places().into_iter().map(named).collect()
    }

    /// Their values under these names.
    pub fn slots(&self, names: &[String]) -> Vec<AttributeProto> {
        let value = |((node, attribute), name): ((usize, usize), &String)| {
            let given = self.nodes.get(node)?.attribute.get(attribute)?;
            Some(AttributeProto { name: Some(name.clone()), ..given.clone() })
        };
        self.slot_places().into_iter().zip(names).filter_map(value).collect()
    }
}

/// Whether a call can give the attribute to a function.
fn is_simple(attribute: &AttributeProto) -> bool {
    use AttributeType::{Float, Floats, Int, Ints, String, Strings};
    matches!(attribute.r#type(), Float | Floats | Int | Ints | String | Strings)
}

/// The node without the values of simple attributes, and without what only documents it.
fn without_values(node: &NodeProto) -> NodeProto {
    let plain = |attribute: &AttributeProto| match is_simple(attribute) {
        true => AttributeProto { name: attribute.name.clone(), r#type: attribute.r#type, ..AttributeProto::default() },
        false => attribute.clone(),
    };
    NodeProto { name: None, attribute: node.attribute.iter().map(plain).collect(), ..node.clone() }
}

/// Canonical names of the values.
struct Names<'a> {
    constants: &'a FxHashMap<String, TensorProto>,
    weights: &'a FxHashSet<String>,
    known: FxHashMap<String, String>,
    /// Given values, weights, constants and results, by number.
    lists: [Vec<String>; 4],
}

impl Names<'_> {
    fn node(&mut self, node: &NodeProto) -> NodeProto {
        let input = node.input.iter().map(|name| self.read(name)).collect();
        let attribute = node.attribute.iter().map(|attribute| self.attribute(attribute)).collect();
        let output = node.output.iter().map(|name| self.made(name)).collect();
        NodeProto { input, output, attribute, doc_string: None, metadata_props: Vec::new(), ..node.clone() }
    }

    fn attribute(&mut self, attribute: &AttributeProto) -> AttributeProto {
        AttributeProto {
            g: attribute.g.as_ref().map(|graph| self.graph(graph)),
            graphs: attribute.graphs.iter().map(|graph| self.graph(graph)).collect(),
            ..attribute.clone()
        }
    }

    /// A subgraph: its values have names that are unique in the model.
    fn graph(&mut self, graph: &GraphProto) -> GraphProto {
        let mut graph = graph.clone();
        // The types inside depend on what is given.
        graph.value_info.clear();
        graph.input.iter_mut().for_each(|value| value.name = Some(self.made(value.name())));
        graph.initializer.iter_mut().for_each(|tensor| tensor.name = Some(self.made(tensor.name())));
        graph.node = graph.node.iter().map(|node| self.node(node)).collect();
        graph.output.iter_mut().for_each(|value| value.name = Some(self.read(value.name())));
        graph
    }

    fn made(&mut self, name: &str) -> String {
        self.canonical(name, 3)
    }

    fn read(&mut self, name: &str) -> String {
        let kind = if self.weights.contains(name) {
            1
        } else if self.constants.contains_key(name) {
            2
        } else {
            0
        };
        self.canonical(name, kind)
    }

    fn canonical(&mut self, name: &str, kind: usize) -> String {
        if name.is_empty() {
            return String::new();
        }
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let list = &mut self.lists[kind];
        let canonical = format!("{}{}", ["i", "w", "c", "t"][kind], list.len());
        list.push(name.to_owned());
        self.known.insert(name.to_owned(), canonical.clone());
        canonical
    }
}
