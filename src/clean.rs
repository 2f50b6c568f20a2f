//! Drops what an exported model has no use for: assertions, nodes whose results nobody reads, and the vectors of a decomposition of which
//! only the values are read.
//!
//! Takes and gives a [`Program`]. Afterwards every node is read by another one or by an output, writes to memory, or has no results at
//! all (which a later pass will have to refuse). Linear in the size of the program.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::functional;
use crate::program::{Arg, Graph, Node, NodeOutput, Program};
use crate::walk;

/// Operators that only check what the exporter has been promised.
const ASSERTIONS: &[&str] = &[
    "aten::_assert_tensor_metadata",
    "aten::_assert_scalar",
    "aten::_assert_async",
    "aten::_functional_assert_scalar",
    "aten::_functional_assert_async",
    "aten::_functional_sym_constrain_range",
    "aten::_functional_sym_constrain_range_for_size",
    "aten::_linalg_check_errors",
    "aten::_make_dep_token",
    "aten::_print",
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
];

/// Notes for each assertion what it checks, and where: the exported model does not.
pub fn report_assertions(program: &mut Program) {
    let mut notes = Vec::new();
    reported(&program.graph, &mut notes);
    program.notes.append(&mut notes);
}

fn reported(graph: &Graph, notes: &mut Vec<String>) {
    for node in &graph.nodes {
        for (_, arg) in &node.args {
            if let Arg::Graph(nested) = arg {
                reported(nested, notes);
            }
        }
        let operator = node.target.split('.').next().unwrap_or_default();
        if !ASSERTIONS.contains(&operator) || operator == "aten::_assert_tensor_metadata" {
            continue;
        }
        let says = node.args.iter().find_map(|(_, arg)| match arg {
            Arg::Str(message) => Some(message.trim()),
            _ => None,
        });
        let line = node.source_line.as_deref().map(|line| format!(", {line}")).unwrap_or_default();
        let says = says.map(|says| format!(": {says}")).unwrap_or_default();
        notes.push(format!("the exported model does not check `{}` ({}{line}){says}", node.name, node.target));
    }
}

/// Cleans a program and its nested graphs.
pub fn clean(program: &mut Program) {
    graph(&mut program.graph);
}

fn graph(graph: &mut Graph) {
    let mut read: FxHashSet<String> = FxHashSet::default();
    for output in &graph.outputs {
        walk::each_name(&output.value, &mut |name| {
            read.insert(name.to_owned());
        });
    }
    // From the last to the first, since a node is read only by later ones.
    let mut kept: Vec<Node> = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if !is_kept(&node, &read) {
            continue;
        }
        without_vectors(&mut node, &read);
        for (_, arg) in &mut node.args {
            if let Arg::Graph(nested) = arg {
                self::graph(Arc::make_mut(nested));
            }
            walk::each_name(arg, &mut |name| {
                if !read.contains(name) {
                    read.insert(name.to_owned());
                }
            });
        }
        kept.push(node);
    }
    kept.reverse();
    graph.nodes = kept;
}

fn is_kept(node: &Node, read: &FxHashSet<String>) -> bool {
    let operator = node.target.split('.').next().unwrap_or_default();
    let mut results = walk::results(node).peekable();
    // A result that torch has not recorded (of `promote_types`) is one that nobody can read.
    let has_none = results.peek().is_none() && node.outputs.is_empty();
    if results.any(|name| read.contains(name)) {
        return true;
    }
    !ASSERTIONS.contains(&operator) && (has_none || writes(node))
}

/// Singular values and eigenvalues can be said where their vectors cannot, whose signs are LAPACK's.
fn without_vectors(node: &mut Node, read: &FxHashSet<String>) {
    let (values_alone, operand, place) = match node.target.as_str() {
        "aten::svd" | "aten::linalg_svd" | "aten::_linalg_svd" => ("aten::linalg_svdvals", "A", 1),
        "aten::linalg_eigh" | "aten::_linalg_eigh" => ("aten::linalg_eigvalsh", "self", 0),
        _ => return,
    };
    let is_read = |output: &NodeOutput| matches!(output, NodeOutput::Tensor(name) if read.contains(name));
    let vectors_are_read = node.outputs.iter().enumerate().any(|(i, output)| i != place && is_read(output));
    let Some(values) = node.outputs.get(place).filter(|_| !vectors_are_read).cloned() else { return };
    node.args.retain(|(name, _)| matches!(name.as_str(), "A" | "self" | "UPLO"));
    if let Some((name, _)) = node.args.first_mut() {
        operand.clone_into(name);
    }
    values_alone.clone_into(&mut node.target);
    node.outputs = vec![values];
}

/// Does the node write to memory, or a nested graph of it?
fn writes(node: &Node) -> bool {
    let nested = node.args.iter().filter_map(|(_, arg)| match arg {
        Arg::Graph(graph) => Some(graph),
        _ => None,
    });
    functional::writes(&node.target) || nested.into_iter().any(|graph| graph.nodes.iter().any(writes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Output, OutputKind};

    fn node(target: &str, reads: &[&str], result: Option<&str>) -> Node {
        Node {
            name: target.to_owned(),
            target: target.to_owned(),
            args: reads.iter().map(|name| (String::new(), Arg::Tensor((*name).to_owned()))).collect(),
            outputs: result.iter().map(|name| NodeOutput::Tensor((*name).to_owned())).collect(),
            ..Node::default()
        }
    }

    #[test]
    fn assertions_go_and_what_only_they_read() {
        let nodes = vec![
            node("aten::relu", &["x"], Some("a")),
            node("aten::sym_size.int", &["a"], Some("n")),
            node("_operator::ge", &["n"], Some("ok")),
            node("aten::_assert_scalar", &["ok"], None),
            node("aten::sin", &["a"], Some("unread")),
            node("aten::add_.Tensor", &["x"], Some("written")),
            node("my::print", &["x"], None),
        ];
        let outputs = vec![Output { value: Arg::Tensor("a".to_owned()), kind: OutputKind::User }];
        let graph = Graph { nodes, outputs, ..Graph::default() };
        let mut program = Program { graph, ..Program::default() };
        clean(&mut program);
        let left: Vec<&str> = program.graph.nodes.iter().map(|node| node.target.as_str()).collect();
        assert_eq!(left, ["aten::relu", "aten::add_.Tensor", "my::print"]);
    }

    #[test]
    fn vectors_that_nobody_reads_are_not_asked_for() {
        let decomposed = |read: &str| {
            let mut svd = node("aten::linalg_svd", &["x"], None);
            svd.args =
                vec![("A".to_owned(), Arg::Tensor("x".to_owned())), ("full_matrices".to_owned(), Arg::Bool(false))];
            svd.outputs = ["u", "s", "v"].map(|name| NodeOutput::Tensor(name.to_owned())).to_vec();
            let outputs = vec![Output { value: Arg::Tensor(read.to_owned()), kind: OutputKind::User }];
            let graph = Graph { nodes: vec![svd], outputs, ..Graph::default() };
            let mut program = Program { graph, ..Program::default() };
            clean(&mut program);
            let node = &program.graph.nodes[0];
            (node.target.clone(), node.args.len(), node.outputs.len())
        };
        assert_eq!(decomposed("s"), ("aten::linalg_svdvals".to_owned(), 1, 1));
        assert_eq!(decomposed("v"), ("aten::linalg_svd".to_owned(), 2, 3));
    }
}
