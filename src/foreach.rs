//! Operators on lists of tensors (`_foreach_add_`), one after another as operators on one.
//!
//! Takes and gives a [`Program`]. What is left of them afterwards has no such form. Linear in the size of the program.

use crate::program::{Arg, FloatArg, Graph, IntArg, Node, NodeOutput, Program};
use crate::walk;

/// Takes lists apart in a program and its nested graphs.
pub fn unroll(program: &mut Program) {
    walk::each_graph_mut(&mut program.graph, &mut graph);
}

fn graph(graph: &mut Graph) {
    if !graph.nodes.iter().any(|node| one(&node.target).is_some()) {
        return;
    }
    let mut done = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        match unrolled(&node) {
            Some(nodes) => done.extend(nodes),
            None => done.push(node),
        }
    }
    graph.nodes = done;
}

/// The operator on one tensor, and what it calls arguments otherwise.
fn one(target: &str) -> Option<(String, &'static [(&'static str, &'static str)])> {
    let name = target.strip_prefix("aten::_foreach_")?;
    let (name, overload) = name.split_once('.').unwrap_or((name, ""));
    let (op, dash) = name.strip_suffix('_').map_or((name, ""), |op| (op, "_"));
    let (op, overload, renamed): (_, _, &[(&str, &str)]) = match (op, overload) {
        ("add" | "sub" | "mul" | "div", "Scalar" | "ScalarList") => {
            (op, "Scalar", &[("scalar", "other"), ("scalars", "other")])
        }
        ("add" | "sub" | "mul" | "div", "List" | "Tensor") => (op, "Tensor", &[]),
        ("clamp_min" | "maximum", "Scalar" | "ScalarList") => {
            ("clamp_min", "", &[("scalar", "min"), ("scalars", "min")])
        }
        ("clamp_max" | "minimum", "Scalar" | "ScalarList") => {
            ("clamp_max", "", &[("scalar", "max"), ("scalars", "max")])
        }
        ("clamp_min" | "maximum", "List") => ("clamp_min", "Tensor", &[("other", "min")]),
        ("clamp_max" | "minimum", "List") => ("clamp_max", "Tensor", &[("other", "max")]),
        ("addcmul" | "addcdiv", "Scalar" | "ScalarList") => (op, "", &[("scalars", "value")]),
        ("lerp", "List") => (op, "Tensor", &[("tensors1", "end"), ("weights", "weight")]),
        ("lerp", "Scalar" | "ScalarList") => (op, "Scalar", &[("tensors1", "end")]),
        ("pow", "List") => (op, if dash.is_empty() { "Tensor_Tensor" } else { "Tensor" }, &[]),
        ("pow", "Scalar" | "ScalarList") => (op, if dash.is_empty() { "Tensor_Scalar" } else { "Scalar" }, &[]),
        ("norm", "Scalar") => ("linalg_vector_norm", "", &[]),
        (_, "") => (op, "", &[]),
        _ => return None,
    };
    let dot = if overload.is_empty() { "" } else { "." };
    Some((format!("aten::{op}{dash}{dot}{overload}"), renamed))
}

/// One node for each element of the lists; None where they differ in length.
fn unrolled(node: &Node) -> Option<Vec<Node>> {
    let (target, renamed) = one(&node.target)?;
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
        let args = node.args.iter().map(|(name, arg)| {
            let name = renamed.iter().find(|(old, _)| old == name).map_or(name.as_str(), |(_, new)| new);
            Some((name.to_owned(), element(arg, at)?))
        });
        Some(Node {
            name: format!("{}_{at}", node.name),
            target: target.clone(),
            args: args.collect::<Option<_>>()?,
            outputs: results.and_then(|names| names.get(at)).cloned().map(NodeOutput::Tensor).into_iter().collect(),
            module: node.module.clone(),
            module_type: node.module_type.clone(),
            source_line: node.source_line.clone(),
        })
    });
    nodes.collect()
}

/// The element of a list; what is no list is the same for all.
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
