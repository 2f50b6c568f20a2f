//! Products of matrices and a sum after them are one Gemm, which also takes transposed operands.
//!
//! It must not take operands of more dimensions than two, nor a sum that broadcasts the product.

use super::rewriter::Rewriter;
use crate::dtype::Dtype;
use crate::graph::{Attr, Node, Value};

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
        // What another product could take as well is its sum, not ours.
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
        let Some(inner) = cx.made_by(*input, "Transpose") else { continue };
        *input = inner.input(0)?;
        let was = node.int(flag).unwrap_or(0);
        attrs.retain(|(name, _)| *name != flag);
        attrs.push((flag, Attr::Int(1 - was)));
        changed = true;
    }
    if changed { cx.make("Gemm", &inputs, attrs) } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{Net, ops};

    #[test]
    fn a_product_and_its_sum_are_one() {
        let mut net = Net::new(18);
        let (x, z, b) = (net.open_input(&[-1, 4]), net.input(&[3, 4]), net.input(&[3]));
        let t = net.transposed(z, &[1, 0]);
        let a = net.op("MatMul", &[x, t]);
        let y = net.op("Add", &[b, a]);
        assert_eq!(ops(net, y), ["Gemm"]);
    }

    #[test]
    fn more_dimensions_and_broadcasting_stay() {
        let mut net = Net::new(18);
        let (x, z, b) = (net.input(&[1, 4]), net.input(&[4, 3]), net.input(&[2, 3]));
        let a = net.op("MatMul", &[x, z]);
        let y = net.op("Add", &[a, b]);
        assert_eq!(ops(net, y), ["MatMul", "Add"]);
        let mut net = Net::new(18);
        let (x, z, b) = (net.input(&[5, 2, 4]), net.input(&[4, 3]), net.input(&[3]));
        let a = net.op("MatMul", &[x, z]);
        let y = net.op("Add", &[a, b]);
        assert_eq!(ops(net, y), ["MatMul", "Add"]);
    }
}
