//! What a trace keeps of one run only, told as notes.

use crate::program::{Arg, Graph, Node, Program};

/// Notes about training mode.
pub(super) fn of_program(program: &Program) -> Vec<String> {
    let mut notes = Vec::new();
    let count = |is_one: &dyn Fn(&Node) -> bool| count(&program.graph, is_one);
    let dropouts = count(&|node| name(node).contains("dropout") && is_true(node, &["train", "training"]));
    if dropouts > 0 {
        notes.push(format!("{dropouts} dropouts are in training mode: pass `false` for `train` in the closure"));
    }
    let norms = count(&|node| name(node).contains("batch_norm") && is_true(node, &["training", "train"]));
    if norms > 0 {
        notes.push(format!(
            "{norms} batch norms are in training mode: they use the statistics of each batch; pass `false` for `train` in the closure"
        ));
    }
    notes
}

fn count(graph: &Graph, is_one: &dyn Fn(&Node) -> bool) -> usize {
    graph.nodes.iter().filter(|node| is_one(node)).count()
}

/// `dropout` of `aten::dropout`.
fn name(node: &Node) -> &str {
    let plain = node.target.rsplit("::").next().unwrap_or_default();
    plain.split('.').next().unwrap_or_default()
}

fn is_true(node: &Node, names: &[&str]) -> bool {
    node.args.iter().any(|(name, arg)| names.contains(&name.as_str()) && matches!(arg, Arg::Bool(true)))
}
