//! Replaces operators on lists of tensors (`_foreach_add_`) by one operator per tensor.
//!
//! Takes and returns a [`Program`]. Operators without a form for one tensor remain. Linear in the size of the program.

use crate::terms::{Given, NewCall};
use aten2onnx_program::visit;
use aten2onnx_program::{Arg, FloatArg, Graph, IntArg, Node, NodeOutput, Program};
use aten2onnx_rules::effects::{self, FactCall, When};

/// Unrolls lists in a program and its nested graphs.
pub fn unroll(program: &mut Program) {
    visit::each_graph_mut(&mut program.graph, &mut graph);
}

fn graph(graph: &mut Graph) {
    if !graph.nodes.iter().any(|node| element_call(&node.target).is_some()) {
        return;
    }
    let mut done = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        match unrolled(&node, graph) {
            Some(nodes) => done.extend(nodes),
            None => done.push(node),
        }
    }
    graph.nodes = done;
}

/// The operator on one tensor, and the mapping of arguments.
fn element_call(target: &str) -> Option<&'static FactCall> {
    effects::operator(target)?.rewrite(|when| when == When::Each).map(|rewrite| &rewrite.call)
}

/// One node per element of the lists; None if their lengths differ.
fn unrolled(node: &Node, graph: &Graph) -> Option<Vec<Node>> {
    let call = element_call(&node.target)?;
    let count = node.args.iter().find_map(|(_, arg)| match arg {
        Arg::Tensors(list) => Some(list.len()),
        _ => None,
    })?;
    let results = match node.outputs.as_slice() {
        [NodeOutput::Tensors(names)] if names.len() == count => Some(names),
        [NodeOutput::Tensors(_)] => return None,
        _ => None,
    };
    let nodes = (0..count).map(|at| {
        let args = node.args.iter().map(|(name, arg)| Some((name.clone(), element(arg, at)?)));
        let of_one = Node { args: args.collect::<Option<_>>()?, ..Node::default() };
        let given = Given { node: &of_one, tensors: &graph.tensors, first: None, view: None, sizes: None };
        let (target, args) = given.call(call).and_then(NewCall::plain)?;
        Some(Node {
            name: format!("{}_{at}", node.name),
            target: target.to_owned(),
            args,
            outputs: results.and_then(|names| names.get(at)).cloned().map(NodeOutput::Tensor).into_iter().collect(),
            module: node.module.clone(),
            module_type: node.module_type.clone(),
            source_line: node.source_line.clone(),
        })
    });
    nodes.collect()
}

/// The element of a list; other arguments are the same for all elements.
fn element(arg: &Arg, at: usize) -> Option<Arg> {
    Some(match arg {
        Arg::Tensors(list) => Arg::Tensor(list.get(at)?.clone()?),
        Arg::Floats(list) => Arg::Float(*list.get(at)?),
        Arg::Bools(list) => Arg::Bool(*list.get(at)?),
        Arg::Ints(list) => match list.get(at)? {
            IntArg::Known(known) => Arg::Int(*known),
            IntArg::Named(name) => Arg::Sym(name.clone()),
        },
        Arg::SymFloats(list) => match list.get(at)? {
            FloatArg::Known(known) => Arg::Float(*known),
            FloatArg::Named(name) => Arg::Sym(name.clone()),
        },
        other => other.clone(),
    })
}
