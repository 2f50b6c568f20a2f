//! Branches for runtimes without If: both sides run, and Where chooses. A side that is not taken may get anything, so it must be cheap and cannot fail.

use aten2onnx_builder::Builder;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Body, Node, Value};
use aten2onnx_onnx::schema::{self, Function, Shape};

/// So many nodes may both sides have.
const MOST_NODES: usize = 64;

/// Both sides of a branch in the current graph, and the results that its condition chooses.
///
/// # Errors
/// A side is not cheap, or may fail where it is not taken, or the sides have results of other sizes.
pub(crate) fn chosen_results(builder: &mut Builder, condition: Value, (yes, no): (&Body, &Body)) -> Result<Vec<Value>> {
    let count = yes.nodes.len() + no.nodes.len();
    if count > MOST_NODES {
        return Err(refusal(&format!("its sides have {count} nodes, which is more than {MOST_NODES}")));
    }
    if let Some(why) = yes.nodes.iter().chain(&no.nodes).find_map(|node| danger(builder, node)) {
        return Err(refusal(&why));
    }
    for (one, other) in yes.outputs.iter().zip(&no.outputs) {
        if builder.ty(*one) != builder.ty(*other) {
            return Err(refusal(&format!(
                "its sides have results of other types: {} and {}",
                builder.ty(*one),
                builder.ty(*other)
            )));
        }
    }
    let condition = builder.reshape(condition, &[])?;
    let (yes, no) = (builder.inline_body(yes, &[]), builder.inline_body(no, &[]));
    yes.into_iter().zip(no).map(|(one, other)| builder.choice(condition, one, other)).collect()
}

fn refusal(why: &str) -> Error {
    Error::unsupported(format!("a branch: the runtime has no If, and Where cannot take its place, because {why}"))
}

/// Why a node cannot run where its side is not taken.
fn danger(builder: &Builder, node: &Node) -> Option<String> {
    let facts = schema::facts(node.op);
    // The largest of no elements is an error. An element that is computed, or moved, needs no others.
    let reduces = facts.shape == Shape::Reduce && !matches!(facts.combines, Some(Function::Max | Function::Min));
    let moves = matches!(facts.shape, Shape::Constant | Shape::Identity | Shape::Transpose | Shape::Unsqueeze);
    let is_safe = facts.elementwise || reduces || moves;
    if !is_safe {
        return Some(format!("`{}` may be slow, or fail where its side is not taken", node.op));
    }
    let divides = matches!(facts.computes, Some(Function::Div | Function::Mod));
    if divides && node.input(0).is_some_and(|value| builder.dtype(value).is_int()) {
        return Some(format!("`{}` of integers may divide by zero where its side is not taken", node.op));
    }
    let result = node.outputs.first().copied().flatten()?;
    let whole = builder.ty(result).shape();
    let inputs = node.inputs.iter().flatten();
    let fits = |value: &Value| match (builder.ty(*value).shape(), whole) {
        (Some(sizes), Some(whole)) => broadcasts(sizes, whole),
        _ => false,
    };
    let all_fit = !facts.is_broadcasting() || inputs.clone().all(fits);
    (!all_fit)
        .then(|| format!("the sizes of the inputs of `{}` may not go together where its side is not taken", node.op))
}

/// Whether a tensor takes part in a result of these sizes, whatever values symbols have.
fn broadcasts(sizes: &[SymInt], whole: &[SymInt]) -> bool {
    sizes.len() <= whole.len()
        && sizes.iter().rev().zip(whole.iter().rev()).all(|(size, whole)| size == whole || size.known() == Some(1))
}
