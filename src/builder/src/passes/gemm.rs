//! Merges a matrix product and a following sum into Gemm, and transposed operands into its flags.
//!
//! It must not merge operands with more than two dimensions, nor a sum that broadcasts the product.

use super::rewriter::Rewriter;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Node, Value};

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    match node.op {
        "Add" => with_sum(cx, node),
        "Gemm" | "MatMul" => with_transposed(cx, node),
        _ => None,
    }
}

fn is_matrix(cx: &Rewriter<'_>, value: Value) -> bool {
    cx.rank(value) == Some(2) && matches!(cx.dtype(value), Dtype::Float32 | Dtype::Float64)
}

fn with_sum(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    let (a, b) = (node.input(0)?, node.input(1)?);
    for (product, sum) in [(a, b), (b, a)] {
        let Some(found) = cx.producer(product).filter(|found| matches!(found.op, "Gemm" | "MatMul")).cloned() else {
            continue;
        };
        let is_bare = found.input(2).is_none() && cx.is_read_once(product) && cx.same_type(product, result);
        if !is_bare || !is_matrix(cx, product) || cx.rank(sum)? > 2 {
            continue;
        }
        // If the other operand is also a product, this sum could be fused with either.
        let (Some(x), Some(y)) = (found.input(0), found.input(1)) else { continue };
        return cx.make("Gemm", &[x, y, sum], found.attrs.clone());
    }
    None
}

fn with_transposed(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let mut inputs: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
    if !inputs.iter().take(2).all(|value| is_matrix(cx, *value)) {
        return None;
    }
    let mut attrs = node.attrs.clone();
    let mut changed = false;
    for (input, flag) in inputs.iter_mut().zip(["transA", "transB"]) {
        let turned = match cx.made_by(*input, "Transpose") {
            Some(inner) => inner.input(0)?,
            None if node.op == "Gemm" => match super::weights::turned(cx, *input) {
                Some(turned) => turned,
                None => continue,
            },
            None => continue,
        };
        *input = turned;
        let was = node.int(flag).unwrap_or(0);
        attrs.retain(|(name, _)| *name != flag);
        attrs.push((flag, Attr::Int(1 - was)));
        changed = true;
    }
    if changed { cx.make("Gemm", &inputs, attrs) } else { None }
}
