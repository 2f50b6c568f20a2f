//! Visits the names of values in a program's arguments and results.

use std::sync::Arc;

use crate::{Arg, FloatArg, Graph, IntArg, Node, NodeOutput};

/// Calls `f` on a graph and all its nested graphs, inner ones first.
pub fn each_graph_mut(graph: &mut Graph, f: &mut dyn FnMut(&mut Graph)) {
    for (_, arg) in graph.nodes.iter_mut().flat_map(|node| &mut node.args) {
        if let Arg::Graph(nested) = arg {
            each_graph_mut(Arc::make_mut(nested), f);
        }
    }
    f(graph);
}

/// Calls `f` with the name of every value that an argument uses, excluding nested graphs, which have their own names.
pub fn each_name<'a>(arg: &'a Arg, f: &mut dyn FnMut(&'a str)) {
    match arg {
        Arg::Tensor(name) | Arg::Sym(name) => f(name),
        Arg::Tensors(names) => names.iter().flatten().for_each(|name| f(name)),
        Arg::NestedTensors(lists) => lists.iter().flatten().for_each(|name| f(name)),
        Arg::Ints(numbers) => numbers.iter().for_each(|number| {
            if let IntArg::Named(name) = number {
                f(name);
            }
        }),
        Arg::SymFloats(numbers) => numbers.iter().for_each(|number| {
            if let FloatArg::Named(name) = number {
                f(name);
            }
        }),
        _ => {}
    }
}

/// The same with mutable names.
pub fn each_name_mut(arg: &mut Arg, f: &mut dyn FnMut(&mut String)) {
    match arg {
        Arg::Tensor(name) | Arg::Sym(name) => f(name),
        Arg::Tensors(names) => names.iter_mut().flatten().for_each(f),
        Arg::NestedTensors(lists) => lists.iter_mut().flatten().for_each(f),
        Arg::Ints(numbers) => numbers.iter_mut().for_each(|number| {
            if let IntArg::Named(name) = number {
                f(name);
            }
        }),
        Arg::SymFloats(numbers) => numbers.iter_mut().for_each(|number| {
            if let FloatArg::Named(name) = number {
                f(name);
            }
        }),
        _ => {}
    }
}

/// The names of all results of a node.
pub fn results(node: &Node) -> impl Iterator<Item = &str> {
    node.outputs.iter().flat_map(|output| {
        let (one, many) = match output {
            NodeOutput::Tensor(name) | NodeOutput::Sym(name) => (Some(name), [].as_slice()),
            NodeOutput::Tensors(names) => (None, names.as_slice()),
            NodeOutput::None => (None, [].as_slice()),
        };
        one.into_iter().chain(many).map(String::as_str)
    })
}
