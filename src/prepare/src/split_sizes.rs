//! Splits of a dimension with a symbolic size: the number and sizes of the parts do not follow from the arguments, but
//! torch recorded them with the results.
//!
//! Takes and returns a [`Program`]. Afterwards `split` and `chunk` of such dimensions have explicit sizes. Linear in
//! the size of the program.

use crate::terms::{Given, NewCall};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::visit;
use aten2onnx_program::{Arg, Graph, IntArg, Node, NodeOutput, Program};
use aten2onnx_rules::effects::{self, FactCall, When};

/// Adds the sizes in a program and its nested graphs.
pub fn name_sizes(program: &mut Program) {
    visit::each_graph_mut(&mut program.graph, &mut graph);
}

fn graph(graph: &mut Graph) {
    if !graph.nodes.iter().any(|node| with_sizes(node).is_some()) {
        return;
    }
    let nodes = std::mem::take(&mut graph.nodes);
    let mut splits = Splits { done: Vec::with_capacity(nodes.len()), graph, names: 0 };
    for node in nodes {
        match with_sizes(&node).zip(splits.lengths(&node)) {
            Some((call, found)) => splits.emit_with_sizes(node, call, found),
            None => splits.done.push(node),
        }
    }
    splits.graph.nodes = splits.done;
}

/// The operator with explicit sizes.
fn with_sizes(node: &Node) -> Option<&'static FactCall> {
    effects::operator(&node.target)?.rewrite(|when| when == When::Symbolic).map(|rewrite| &rewrite.call)
}

struct Splits<'g> {
    graph: &'g mut Graph,
    done: Vec<Node>,
    /// The number of generated names.
    names: usize,
}

/// The parts of a split.
struct Parts {
    cut: String,
    /// The sizes of the parts.
    lengths: Vec<SymInt>,
}

impl Splits<'_> {
    /// The parts; None if the size of the dimension is known.
    fn lengths(&self, node: &Node) -> Option<Parts> {
        let cut = node.args.iter().find_map(|(_, arg)| match arg {
            Arg::Tensor(name) => Some(name),
            _ => None,
        })?;
        let dim = node.args.iter().find_map(|(name, arg)| match arg {
            Arg::Int(dim) if name == "dim" => Some(*dim),
            _ => None,
        });
        let dim = dim.unwrap_or(0);
        let size = |name: &String| {
            let sizes = &self.graph.tensors.get(name)?.sizes;
            sizes.get(counted_from_start(dim, sizes.len())?).cloned()
        };
        let [NodeOutput::Tensors(pieces)] = node.outputs.as_slice() else { return None };
        let lengths = pieces.iter().map(size).collect::<Option<Vec<SymInt>>>()?;
        size(cut)?.known().is_none().then(|| Parts { cut: cut.clone(), lengths })
    }

    /// Emits nodes for the sizes, and the node with explicit sizes.
    fn emit_with_sizes(&mut self, mut node: Node, call: &FactCall, found: Parts) {
        let sizes = found.lengths.iter().map(|length| match length.known() {
            Some(known) => IntArg::Known(known),
            None => IntArg::Named(self.size_node(&node, length, &found)),
        });
        let sizes = Some(Arg::Ints(sizes.collect()));
        let given = Given { node: &node, tensors: &self.graph.tensors, first: None, view: None, sizes };
        if let Some((target, args)) = given.call(call).and_then(NewCall::plain) {
            target.clone_into(&mut node.target);
            node.args = args;
        }
        self.done.push(node);
    }

    /// A node for a size; its value is recorded for its result. It has no `dim`, because it is not a size of the tensor that is cut.
    fn size_node(&mut self, of: &Node, length: &SymInt, found: &Parts) -> String {
        let name = self.fresh_name(&of.name);
        self.graph.sym_ints.insert(name.clone(), length.clone());
        self.done.push(Node {
            name: name.clone(),
            target: "aten::sym_size.int".to_owned(),
            args: vec![("self".to_owned(), Arg::Tensor(found.cut.clone()))],
            outputs: vec![NodeOutput::Sym(name.clone())],
            ..Node::default()
        });
        name
    }

    fn fresh_name(&mut self, stem: &str) -> String {
        loop {
            let name = format!("{stem}_length_{}", self.names);
            self.names += 1;
            let Graph { tensors, sym_ints, sym_floats, sym_bools, .. } = &*self.graph;
            let is_number =
                sym_ints.contains_key(&name) || sym_floats.contains_key(&name) || sym_bools.contains_key(&name);
            if !is_number && !tensors.contains_key(&name) {
                return name;
            }
        }
    }
}
