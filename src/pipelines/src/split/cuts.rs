//! Where a model is cut: at places, by the number of nodes, or by the bytes of weights.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::index::{Index, place_of};
use super::super::places::{self, NamedPlace};
use super::By;
use aten2onnx_core::error::{Error, Result};

/// Nodes that are computed one after the other.
pub type Run = Vec<usize>;

/// The runs of nodes that the parts are. A target makes its own.
pub fn runs(index: &Index<'_>, movable: &[usize], sizes: &FxHashMap<&str, u64>, by: &By) -> Result<Vec<Run>> {
    match by {
        By::Places(names) => at_places(index, movable, names),
        By::Nodes(count) => Ok(movable.chunks((*count).max(1)).map(<[usize]>::to_vec).collect()),
        By::Bytes(limit) => by_bytes(index, sizes, movable, *limit),
        By::Parts(count) => evenly(index, sizes, movable, *count),
        By::Target(_) => Ok(vec![movable.to_vec()]),
    }
}

/// Cuts before the first node of each place.
fn at_places(index: &Index<'_>, movable: &[usize], names: &[String]) -> Result<Vec<Run>> {
    let mut cuts: FxHashMap<usize, &str> = FxHashMap::default();
    for name in names {
        let nodes: FxHashSet<usize> = match places::find(index, name)? {
            NamedPlace::Value(value) => index.producer(value).into_iter().collect(),
            NamedPlace::Nodes(nodes) => nodes.into_iter().collect(),
        };
        let Some(at) = movable.iter().position(|node| nodes.contains(node)) else {
            return Err(Error::unsupported(format!("no output of the model depends on `{name}`"))
                .help("name modules, nodes or values that the outputs are computed from"));
        };
        if let Some(other) = cuts.insert(at, name).filter(|_| at > 0) {
            return Err(
                Error::unsupported(format!("`{other}` and `{name}` begin with the same node")).help("name one of them")
            );
        }
    }
    let mut runs: Vec<Run> = Vec::new();
    for (at, node) in movable.iter().enumerate() {
        match runs.last_mut().filter(|_| !cuts.contains_key(&at)) {
            Some(run) => run.push(*node),
            None => runs.push(vec![*node]),
        }
    }
    Ok(runs)
}

/// The bytes of the weights that a node reads and that are not `known` yet.
fn added<'a>(index: &Index<'a>, sizes: &FxHashMap<&str, u64>, node: usize, known: &mut FxHashSet<&'a str>) -> u64 {
    let read = index.reads(node).iter().filter(|name| sizes.contains_key(*name) && known.insert(*name));
    read.filter_map(|name| sizes.get(name)).fold(0, |sum, size| sum.saturating_add(*size))
}

fn by_bytes(index: &Index<'_>, sizes: &FxHashMap<&str, u64>, movable: &[usize], limit: u64) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut known, mut bytes) = (FxHashSet::default(), 0u64);
    for node in movable {
        let alone = added(index, sizes, *node, &mut FxHashSet::default());
        if alone > limit {
            let place = index.nodes.get(*node).map(place_of).unwrap_or_default();
            return Err(Error::unsupported(format!("the weights of one node take {alone} bytes, more than {limit}"))
                .at(place)
                .help(format!("allow at least {alone} bytes: a node is not cut")));
        }
        let more = added(index, sizes, *node, &mut known);
        bytes = bytes.saturating_add(more);
        match runs.last_mut().filter(|_| bytes <= limit) {
            Some(run) => run.push(*node),
            None => {
                runs.push(vec![*node]);
                known.clear();
                bytes = added(index, sizes, *node, &mut known);
            }
        }
    }
    Ok(runs)
}

fn evenly(index: &Index<'_>, sizes: &FxHashMap<&str, u64>, movable: &[usize], count: usize) -> Result<Vec<Run>> {
    if count > movable.len() {
        return Err(
            Error::unsupported(format!("{} nodes cannot be {count} parts", movable.len())).help("ask for fewer parts")
        );
    }
    let mut known = FxHashSet::default();
    // Nodes count a little, so that models without weights are split, too.
    let costs: Vec<u128> = movable.iter().map(|node| u128::from(added(index, sizes, *node, &mut known)) + 1).collect();
    let (all, parts) = (costs.iter().sum::<u128>(), count.max(1) as u128);
    let mut runs: Vec<Run> = Vec::new();
    let mut done = 0u128;
    for (at, (node, cost)) in movable.iter().zip(&costs).enumerate() {
        let missing = count.saturating_sub(runs.len());
        let is_due = done * parts >= all * runs.len() as u128 || movable.len() - at == missing;
        match runs.last_mut().filter(|_| !is_due || missing == 0) {
            Some(run) => run.push(*node),
            None => runs.push(vec![*node]),
        }
        done += cost;
    }
    Ok(runs)
}
