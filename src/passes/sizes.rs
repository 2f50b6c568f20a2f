//! Shape arithmetic: tensors of integers whose elements are the same expressions of sizes are one, however they were computed.
//!
//! It must not take two unknown sizes for the same.

use rustc_hash::FxHashMap;

use super::rewriter::Rewriter;
use crate::dtype::Dtype;
use crate::graph::{Node, Value};
use crate::sym::SymInt;

/// The values so far, by dtype, rank and elements.
#[derive(Default)]
pub(super) struct Contents {
    scopes: Vec<FxHashMap<Known, Value>>,
}

/// Dtype, rank and elements.
type Known = (Dtype, usize, Vec<SymInt>);

impl Contents {
    /// A body begins; what is around it can be seen in it.
    pub(super) fn open(&mut self) {
        self.scopes.push(FxHashMap::default());
    }

    /// A body ends.
    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }
}

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    let content = cx.builder.content(result)?;
    // Known numbers are constants; those need no node to stand for them.
    if content.iter().all(|size| size.known().is_some()) {
        return None;
    }
    let key = (cx.dtype(result), cx.rank(result)?, content.to_vec());
    if let Some(found) = cx.contents.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
        return Some(cx.resolved(*found));
    }
    cx.contents.scopes.last_mut()?.insert(key, result);
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{Net, ops};
    use crate::graph::Attr;

    #[test]
    fn the_same_size_is_computed_once() {
        let mut net = Net::new(18);
        let x = net.open_input(&[-1, 3]);
        let z = net.op("Relu", &[x]);
        let zero = net.ints(&[0]);
        let a = net.op("Shape", &[x]);
        let a = net.op("Gather", &[a, zero]);
        let b = net.with("Shape", &[z], vec![("end", Attr::Int(1))]);
        let y = net.op("Add", &[a, b]);
        assert_eq!(ops(net, y), ["Shape", "Gather", "Add"]);
    }

    #[test]
    fn sizes_that_may_differ_are_two() {
        let mut net = Net::new(18);
        let x = net.open_input(&[-1, -1]);
        let a = net.with("Shape", &[x], vec![("end", Attr::Int(1))]);
        let b = net.with("Shape", &[x], vec![("start", Attr::Int(1))]);
        let y = net.op("Add", &[a, b]);
        assert_eq!(ops(net, y), ["Shape", "Shape", "Add"]);
        let mut net = Net::new(18);
        let x = net.input(&[7]);
        let z = net.input(&[7]);
        let (a, b) = (net.op("NonZero", &[x]), net.op("NonZero", &[z]));
        let (a, b) = (net.op("Shape", &[a]), net.op("Shape", &[b]));
        let y = net.op("Add", &[a, b]);
        assert_eq!(ops(net, y).len(), 5);
    }
}
