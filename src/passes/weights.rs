//! Weights in another layout: reshaped, sliced or transposed weights are weights of their own, that the writer reads by strides
//! from where they lie. Nothing is computed here, and no byte is read.
//!
//! It must not write a weight twice, unless it is small, nor transpose a large one; and where weights stay as they lie in their
//! file, only what lies there in order is taken.

use std::sync::Arc;

use super::rewriter::Rewriter;
use crate::graph::{Node, Source, Value};
use crate::weights::Weight;

/// A weight of fewer bytes may be written in two layouts.
const SMALL: u64 = 16 << 10;
/// A weight of more bytes is copied, not gathered: that takes several times as long, and runtimes transpose as they load.
const CHEAP: u64 = 16 << 20;

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let value = node.input(0)?;
    let made = relaid(cx, node)?;
    let len = made.byte_len()?;
    let most = if cx.passes.keep_weights { SMALL } else { CHEAP };
    if !(cx.is_read_once(value) || len <= SMALL) || !(made.is_contiguous() || len <= most) {
        return None;
    }
    Some(cx.builder.weight(Arc::new(made)))
}

/// The result of a node that only reads a weight in another way.
pub(super) fn relaid(cx: &Rewriter<'_>, node: &Node) -> Option<Weight> {
    let Source::Weight(weight) = cx.builder.source(node.input(0)?) else { return None };
    match node.op {
        "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => {
            weight.reshaped(&cx.known_sizes(node.outputs.first().copied().flatten()?)?)
        }
        "Transpose" => weight.transposed(node.ints("perm")),
        _ => None,
    }
}

impl Weight {
    /// The same elements in another shape; None where they do not lie in order.
    fn reshaped(&self, sizes: &[i64]) -> Option<Weight> {
        let count = |sizes: &[i64]| sizes.iter().try_fold(1i64, |n, size| n.checked_mul(*size));
        if !self.is_contiguous() || count(sizes)? != count(&self.sizes)? {
            return None;
        }
        let strides = crate::weights::row_major(sizes);
        Some(Weight { sizes: sizes.to_vec(), strides, ..self.clone() })
    }

    /// The dimensions in another order; reversed where none is given.
    fn transposed(&self, perm: Option<&[i64]>) -> Option<Weight> {
        let reversed: Vec<i64> = (0..self.sizes.len() as i64).rev().collect();
        // Elements of less than a byte cannot be reached by strides, those still to be computed come in order.
        let can = self.dtype.bits() >= 8 && !matches!(self.storage, crate::weights::Storage::Scaled(_));
        let perm = perm.unwrap_or(&reversed);
        let moved = |list: &[i64]| -> Option<Vec<i64>> {
            perm.iter().map(|axis| list.get(usize::try_from(*axis).ok()?).copied()).collect()
        };
        let (sizes, strides) = (moved(&self.sizes)?, moved(&self.strides)?);
        can.then(|| Weight { sizes, strides, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::Passes;
    use super::super::testing::{Net, floats_of, ops, ops_of};

    #[test]
    fn weights_are_transposed_where_they_lie() {
        let mut net = Net::new(18);
        let (x, w) = (net.input(&[5, 2, 3]), net.weight(&[4, 3]));
        let t = net.transposed(w, &[1, 0]);
        let y = net.op("MatMul", &[x, t]);
        let graph = net.finished(Passes::ALL, y);
        assert_eq!(ops_of(&graph), ["MatMul"]);
        let weight = floats_of(&graph, graph.body.nodes[0].inputs[1].unwrap());
        assert_eq!(weight[..5], [1.0, 1.75, 2.5, 3.25, 1.25]);
    }

    fn large(passes: Passes, reads: usize) -> Vec<&'static str> {
        let mut net = Net::new(18);
        let (x, w) = (net.input(&[5, 2, 300]), net.weight(&[400, 300]));
        let t = net.transposed(w, &[1, 0]);
        let mut y = net.op("MatMul", &[x, t]);
        if reads > 1 {
            let index = net.ints(&[3]);
            let row = net.op("Gather", &[w, index]);
            let sum = net.op("ReduceSum", &[row]);
            y = net.op("Add", &[y, sum]);
        }
        ops_of(&net.finished(passes, y))
    }

    #[test]
    fn weights_are_not_written_twice_nor_anew_where_they_are_to_stay() {
        assert_eq!(large(Passes::ALL, 1), ["MatMul"]);
        assert!(large(Passes::ALL, 2).contains(&"Transpose"));
        assert!(large(Passes { keep_weights: true, ..Passes::ALL }, 1).contains(&"Transpose"));
        let mut net = Net::new(18);
        let (x, w, shape) = (net.input(&[5, 2, 3]), net.weight(&[300, 400]), net.ints(&[1, 120_000]));
        let flat = net.op("Reshape", &[w, shape]);
        let sum = net.op("ReduceMax", &[flat]);
        let y = net.op("Add", &[x, sum]);
        assert_eq!(ops(net, y), ["ReduceMax", "Add"]);
    }
}
