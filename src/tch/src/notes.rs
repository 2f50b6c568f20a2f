//! What a trace keeps of one run only, told as notes.

use std::collections::BTreeSet;

use aten2onnx_core::weights::Weight;

use aten2onnx_frontend_torchscript::literals::{argument, known_numbers, short, sizes_made, sizes_viewed};
use aten2onnx_options::{Size, Spec};
use aten2onnx_program::{Arg, Graph, Node, Program};

/// Notes about training mode.
pub(super) fn of_program(program: &Program) -> Vec<String> {
    let mut notes = Vec::new();
    let count = |is_one: &dyn Fn(&Node) -> bool| count(&program.graph, is_one);
    let dropouts = count(&|node| short(&node.target).contains("dropout") && is_true(node, &["train", "training"]));
    if dropouts > 0 {
        notes.push(format!("{dropouts} dropouts are in training mode: pass `false` for `train` in the closure"));
    }
    let norms = count(&|node| short(&node.target).contains("batch_norm") && is_true(node, &["training", "train"]));
    if norms > 0 {
        notes.push(format!(
            "{norms} batch norms are in training mode: they use the statistics of each batch; pass `false` for `train` in the closure"
        ));
    }
    notes
}

/// Notes about dimensions without a name whose size is also a number of the trace. A size that a weight has is not meant to vary.
pub(super) fn of_sizes(program: &Program, inputs: &[(String, Spec)], weights: &[Weight]) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, (input, spec)) in inputs.iter().enumerate() {
        let Spec::Tensor(_, sizes) = spec else { continue };
        for (dim, size) in sizes.iter().enumerate() {
            let Size::Known(size) = *size else { continue };
            let operators: BTreeSet<&str> =
                program.graph.nodes.iter().filter(|node| takes(node, size)).map(|node| node.target.as_str()).collect();
            if size < 2 || operators.is_empty() || weights.iter().any(|weight| weight.sizes.contains(&size)) {
                continue;
            }
            let operators: Vec<String> = operators.iter().map(|target| format!("`{target}`")).collect();
            notes.push(format!(
                "the trace has the number {size} in {}, which is the size of dimension {dim} of `{input}`: the model takes this size only; `.dynamic({index}, {dim}, ..)` makes it symbolic",
                operators.join(", ")
            ));
        }
    }
    notes
}

/// Whether a call has this number as a size of its result.
fn takes(node: &Node, size: i64) -> bool {
    let operator = short(&node.target);
    let names = sizes_made(operator).iter().chain(sizes_viewed(operator));
    let mut numbers = names.filter_map(|name| argument(node, name)).flat_map(known_numbers);
    numbers.any(|number| number == size)
}

fn count(graph: &Graph, is_one: &dyn Fn(&Node) -> bool) -> usize {
    graph.nodes.iter().filter(|node| is_one(node)).count()
}

fn is_true(node: &Node, names: &[&str]) -> bool {
    node.args.iter().any(|(name, arg)| names.contains(&name.as_str()) && matches!(arg, Arg::Bool(true)))
}
