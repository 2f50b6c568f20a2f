//! Which nodes of two graphs compute something else.

use rustc_hash::FxHashMap;

use super::super::index::Index;
use super::{Weights, hash_of, text};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::Model;

/// The most nodes that are listed of each model.
const MOST: usize = 20;

/// What a node computes.
#[derive(Debug)]
pub struct Computed {
    /// The number of the node.
    pub number: usize,
    /// A number that stands for what it computes.
    pub what: u64,
    /// The same, whatever the elements of weights and tensors are.
    pub form: u64,
}

/// What differs between the nodes of two models.
pub fn differences(models: [(&Index<'_>, &Model); 2], [a, b]: [&[Computed]; 2]) -> Vec<String> {
    let counts = |all: &[Computed]| {
        let mut counts: FxHashMap<u64, usize> = FxHashMap::default();
        all.iter().for_each(|node| *counts.entry(node.what).or_default() += 1);
        counts
    };
    let (in_a, in_b) = (counts(a), counts(b));
    let [(one, first), (two, second)] = models;
    let only_a = only(one, first, a, &in_b);
    let only_b = only(two, second, b, &in_a);
    let mut lines = Vec::new();
    for (sign, (own, following)) in [("-", only_a), ("+", only_b)] {
        let more = own.len().saturating_sub(MOST);
        lines.extend(own.into_iter().take(MOST).map(|line| format!("{sign} {line}")));
        if more > 0 {
            lines.push(format!("{sign} and {more} more"));
        }
        if following > 0 {
            lines.push(format!("{sign} {following} nodes read what these compute"));
        }
    }
    lines
}

/// The nodes that only one model has and whose inputs both have, and the number of others that follow from them.
fn only(index: &Index<'_>, model: &Model, all: &[Computed], others: &FxHashMap<u64, usize>) -> (Vec<String>, usize) {
    let mut left = others.clone();
    let mut missing: FxHashMap<usize, ()> = FxHashMap::default();
    let mut own = Vec::new();
    let mut following = 0;
    for node in all {
        if let Some(count) = left.get_mut(&node.what).filter(|count| **count > 0) {
            *count -= 1;
            continue;
        }
        let follows =
            index.reads(node.number).iter().filter_map(|name| index.producer(name)).any(|p| missing.contains_key(&p));
        missing.insert(node.number, ());
        match index.nodes.get(node.number).filter(|_| !follows) {
            Some(found) => own.push(text::node(found, model)),
            None => following += 1,
        }
    }
    (own, following)
}

/// What each node computes, in an order in which each value is computed before it is read.
///
/// # Errors
/// Nodes that wait for one another.
pub fn computed(index: &Index<'_>, side: usize, weights: &Weights) -> Result<Vec<Computed>> {
    // What computes each value, and the form of that.
    let mut values: FxHashMap<&str, [u64; 2]> = FxHashMap::default();
    for (number, name) in index.inputs.iter().enumerate() {
        values.insert(name, [hash_of(&("input", number)); 2]);
    }
    for name in &index.initializers {
        let known = weights.get(side, name);
        values.insert(name, [hash_of(&("weight", known)), hash_of(&("weight", known.map(|(ty, _)| ty)))]);
    }
    let mut all = Vec::with_capacity(index.nodes.len());
    for number in index.order()? {
        let Some(node) = index.nodes.get(number) else { continue };
        let read = |of: fn(&[u64; 2]) -> u64| {
            let inputs = node.input.iter().map(|name| values.get(name.as_str()).map(of)).collect::<Vec<_>>();
            // What bodies read from outside has a name in them.
            let outer = index.reads(number).iter().filter(|name| !node.input.iter().any(|i| i == *name));
            (inputs, outer.map(|name| (*name, values.get(name).map(of))).collect::<Vec<_>>())
        };
        let call = (node.domain(), node.op_type(), node.overload());
        let what = hash_of(&(call, read(|[what, _]| *what), text::attributes(node)));
        let form = hash_of(&(call, read(|[_, form]| *form), text::forms(node)));
        for (place, name) in node.output.iter().enumerate() {
            values.insert(name, [hash_of(&(what, place)), hash_of(&(form, place))]);
        }
        all.push(Computed { number, what, form });
    }
    Ok(all)
}
