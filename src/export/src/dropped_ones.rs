//! Dimensions that an operator drops where their size is 1: `squeeze` of a symbolic size gives another rank there, which no file does. Programs of
//! torch.export and TorchScript have no guard for it. A recorded program was held against its model where sizes are 1.

use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::sym::{Relation, Special, SymInt};
use aten2onnx_program::{Arg, Guard, IntArg, Node, Program};

/// Operators that drop dimensions of size 1: all, or those that `dim` names.
const DROPS: [&str; 3] = ["aten::squeeze", "aten::squeeze_", "aten::squeeze_copy"];

/// The conditions that sizes are not 1.
pub(super) fn guards(program: &Program) -> Vec<Guard> {
    if program.is_recorded {
        return Vec::new();
    }
    let sizes = program.graph.nodes.iter().flat_map(|node| dropped(node, program));
    let is_other =
        |size: SymInt| Guard::Sizes(SymInt::special(Special::Relation(Relation::Unequal), vec![size, 1.into()]));
    sizes.map(is_other).collect()
}

/// The symbolic sizes that a node takes for others than 1.
fn dropped(node: &Node, program: &Program) -> Vec<SymInt> {
    let (operator, overload) = node.target.split_once('.').unwrap_or((&node.target, ""));
    let Some((_, Arg::Tensor(input))) = node.args.first().filter(|_| DROPS.contains(&operator)) else {
        return Vec::new();
    };
    let Some(tensor) = program.graph.tensors.get(input) else { return Vec::new() };
    let rank = tensor.sizes.len();
    let named = node.args.iter().find(|(name, _)| name == "dim").map(|(_, arg)| arg);
    let axes: Vec<i64> = match (overload, named) {
        ("", _) => (0i64..).take(rank).collect(),
        (_, Some(Arg::Int(axis))) => vec![*axis],
        (_, Some(Arg::Ints(axes))) => axes.iter().filter_map(known).collect(),
        _ => Vec::new(),
    };
    let sizes = axes.into_iter().filter_map(|axis| tensor.sizes.get(counted_from_start(axis, rank)?));
    sizes.filter(|size| size.known().is_none() && !size.has_anonymous()).cloned().collect()
}

fn known(axis: &IntArg) -> Option<i64> {
    match axis {
        IntArg::Known(axis) => Some(*axis),
        IntArg::Named(_) => None,
    }
}
