//! Dead code elimination: removes assertions, nodes with unused results, and unused results if another operator
//! computes only the used ones.
//!
//! Takes and returns a [`Program`]. Afterwards every node is used by another node or an output, writes to memory, or
//! has no results at all (which a later pass has to refuse). Linear in the size of the program.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::functional;
use crate::terms::{Given, NewCall};
use aten2onnx_program::visit;
use aten2onnx_program::{Arg, Graph, Node, NodeOutput, Program, TensorMeta};
use aten2onnx_rules::effects::{self, Trait, When};

/// Adds a note for each assertion, because the exported model does not check it.
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
        // Assertions on recorded shapes and dtypes were checked when the program was read.
        if !is_assertion(node) || effects::is(&node.target, Trait::ReadsShapes) {
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

/// Removes dead code in a program and its nested graphs.
pub fn drop(program: &mut Program) {
    graph(&mut program.graph);
}

fn graph(graph: &mut Graph) {
    let mut read: FxHashSet<String> = FxHashSet::default();
    for output in &graph.outputs {
        visit::each_name(&output.value, &mut |name| {
            read.insert(name.to_owned());
        });
    }
    // From last to first, because a node is only used by later ones.
    let mut kept: Vec<Node> = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if !is_kept(&node, &read) {
            continue;
        }
        rewrite(&mut node, &read, &graph.tensors);
        for (_, arg) in &mut node.args {
            if let Arg::Graph(nested) = arg {
                self::graph(Arc::make_mut(nested));
            }
            visit::each_name(arg, &mut |name| {
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

fn is_assertion(node: &Node) -> bool {
    effects::is(&node.target, Trait::Assertion)
}

fn is_kept(node: &Node, read: &FxHashSet<String>) -> bool {
    let mut results = visit::results(node).peekable();
    // A result that torch has not recorded (of `promote_types`) cannot be used.
    let has_none = results.peek().is_none() && node.outputs.is_empty();
    if results.any(|name| read.contains(name)) {
        return true;
    }
    !is_assertion(node) && (has_none || writes(node))
}

/// Replaces an operator of which only one result is used: singular values and eigenvalues are cheaper than their vectors.
fn rewrite(node: &mut Node, read: &FxHashSet<String>, tensors: &FxHashMap<String, TensorMeta>) {
    let Some(operator) = effects::operator(&node.target).filter(|operator| !operator.rewrites.is_empty()) else {
        return;
    };
    let is_read = |output: &NodeOutput| matches!(output, NodeOutput::Tensor(name) if read.contains(name));
    let others_are_read =
        |place: usize| node.outputs.iter().enumerate().any(|(at, output)| at != place && is_read(output));
    let found = operator.rewrites.iter().find_map(|rewrite| match rewrite.when {
        When::Only(place) if !others_are_read(place) => Some((node.outputs.get(place)?.clone(), &rewrite.call)),
        _ => None,
    });
    let Some((output, call)) = found else { return };
    let given = Given { node, tensors, first: None, view: None, sizes: None };
    let Some((target, args)) = given.call(call).and_then(NewCall::plain) else { return };
    target.clone_into(&mut node.target);
    (node.args, node.outputs) = (args, vec![output]);
}

/// Whether the node or its nested graphs write to memory.
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
    use aten2onnx_program::{Output, OutputKind};

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
        drop(&mut program);
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
            drop(&mut program);
            let node = &program.graph.nodes[0];
            (node.target.clone(), node.args.len(), node.outputs.len())
        };
        assert_eq!(decomposed("s"), ("aten::linalg_svdvals".to_owned(), 1, 1));
        assert_eq!(decomposed("v"), ("aten::linalg_svd".to_owned(), 2, 3));
    }
}
