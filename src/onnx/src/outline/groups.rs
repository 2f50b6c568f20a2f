//! The nodes of one call of a module, and the order of nodes after they are replaced.
//!
//! A call can only stand for nodes between which no other node has to run. Those of a module that passes have mixed with its neighbours may
//! not be such; they stay where they are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Item, visit_reads};
use crate::proto::NodeProto;

/// The nodes of a call.
pub struct Group {
    /// Their positions, ascending.
    pub members: Vec<usize>,
    /// The values that others read, in the order in which they are made.
    pub outputs: Vec<String>,
}

impl Group {
    /// The position of the first node.
    pub fn first(&self) -> usize {
        self.members.first().copied().unwrap_or(0)
    }

    /// Whether no other node is between its nodes.
    fn is_dense(&self) -> bool {
        self.members.last().is_some_and(|last| last - self.first() + 1 == self.members.len())
    }
}

/// The groups at a depth of calls, in order.
pub fn find(items: &[Item], depth: usize, outputs: &FxHashSet<String>) -> Vec<Group> {
    let mut members: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    let mut order = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some(call) = item.calls.get(depth - 1) else { continue };
        let list = members.entry(&call.id).or_default();
        if list.is_empty() {
            order.push(call.id.as_str());
        }
        list.push(at);
    }
    let mut readers: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    let reads: Vec<Vec<String>> = items.iter().map(|item| reads(&item.node)).collect();
    for (at, names) in reads.iter().enumerate() {
        names.iter().for_each(|name| readers.entry(name).or_default().push(at));
    }
    let mut groups = Vec::new();
    for id in order {
        let members = members.remove(id).unwrap_or_default();
        if !is_convex(items, &members, &reads) {
            continue;
        }
        let is_member: FxHashSet<usize> = members.iter().copied().collect();
        let leaves = |name: &&String| {
            let read = readers.get(name.as_str()).is_some_and(|at| at.iter().any(|at| !is_member.contains(at)));
            !name.is_empty() && (read || outputs.contains(*name))
        };
        let made = members.iter().filter_map(|at| items.get(*at)).flat_map(|item| &item.node.output);
        let outputs: Vec<String> = made.filter(leaves).cloned().collect();
        if !outputs.is_empty() {
            groups.push(Group { members, outputs });
        }
    }
    groups
}

fn reads(node: &NodeProto) -> Vec<String> {
    let mut names = Vec::new();
    visit_reads(node, &mut |name| names.push(name.to_owned()));
    names
}

/// Whether no node outside reads a result of the members and makes something that a member reads.
fn is_convex(items: &[Item], members: &[usize], reads: &[Vec<String>]) -> bool {
    let (Some(first), Some(last)) = (members.first(), members.last()) else { return false };
    if last - first + 1 == members.len() {
        return true;
    }
    let is_member: FxHashSet<usize> = members.iter().copied().collect();
    let (mut made, mut later): (FxHashSet<&str>, FxHashSet<&str>) = Default::default();
    for at in *first..=*last {
        let (Some(item), Some(reads)) = (items.get(at), reads.get(at)) else { continue };
        let outputs = item.node.output.iter().map(String::as_str);
        if is_member.contains(&at) {
            if reads.iter().any(|name| later.contains(name.as_str())) {
                return false;
            }
            made.extend(outputs);
        } else if reads.iter().any(|name| made.contains(name.as_str()) || later.contains(name.as_str())) {
            later.extend(outputs);
        }
    }
    true
}

/// Puts the calls in the place of their nodes.
pub fn replace(items: &mut Vec<Item>, calls: Vec<(Group, NodeProto)>, depth: usize) {
    if calls.is_empty() {
        return;
    }
    let old = std::mem::take(items);
    // Two calls may need results of each other, which only happens between nodes that others lie between.
    let (sorted, rest) = match sorted(old, &calls, depth) {
        Ok(sorted) => (sorted, None),
        Err(old) => (Vec::new(), Some(old)),
    };
    *items = sorted;
    if let Some(old) = rest {
        let dense: Vec<(Group, NodeProto)> = calls.into_iter().filter(|(group, _)| group.is_dense()).collect();
        *items = self::sorted(old, &dense, depth).unwrap_or_else(|old| old);
    }
}

/// The nodes with the calls, in the order of the last node of each call; the nodes as they were if there is no order.
fn sorted(items: Vec<Item>, calls: &[(Group, NodeProto)], depth: usize) -> Result<Vec<Item>, Vec<Item>> {
    let mut call_of: FxHashMap<usize, usize> = FxHashMap::default();
    for (index, (group, _)) in calls.iter().enumerate() {
        call_of.extend(group.members.iter().map(|at| (*at, index)));
    }
    // Units: nodes that stay by their position, calls by that of their last node.
    let unit = |at: usize| match call_of.get(&at).and_then(|index| calls.get(*index)) {
        Some((group, _)) => group.members.last().copied().unwrap_or(at),
        None => at,
    };
    let mut maker: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, item) in items.iter().enumerate() {
        maker.extend(item.node.output.iter().map(|name| (name.as_str(), unit(at))));
    }
    let mut needs: BTreeMap<usize, FxHashSet<usize>> = BTreeMap::new();
    let mut before: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (at, item) in items.iter().enumerate() {
        let own = unit(at);
        let entry = needs.entry(own).or_default();
        visit_reads(&item.node, &mut |name| {
            if let Some(other) = maker.get(name).filter(|other| **other != own)
                && entry.insert(*other)
            {
                before.entry(*other).or_default().push(own);
            }
        });
    }
    let mut open: FxHashMap<usize, usize> = needs.iter().map(|(unit, needs)| (*unit, needs.len())).collect();
    let mut ready: BinaryHeap<Reverse<usize>> =
        open.iter().filter(|(_, n)| **n == 0).map(|(unit, _)| Reverse(*unit)).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(Reverse(unit)) = ready.pop() {
        order.push(unit);
        for next in before.get(&unit).into_iter().flatten() {
            if let Some(left) = open.get_mut(next) {
                *left -= 1;
                if *left == 0 {
                    ready.push(Reverse(*next));
                }
            }
        }
    }
    if order.len() < needs.len() {
        return Err(items);
    }
    let mut old: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    let item = |at: usize| {
        let item = old.get_mut(at).and_then(Option::take)?;
        Some(match call_of.get(&at).and_then(|index| calls.get(*index)) {
            Some((_, node)) => Item { node: node.clone(), calls: outer(&item.calls, depth) },
            None => item,
        })
    };
    Ok(order.into_iter().filter_map(item).collect())
}

/// The calls around the one at this depth.
fn outer(calls: &Arc<[super::ClassCall]>, depth: usize) -> Arc<[super::ClassCall]> {
    calls.get(..depth - 1).unwrap_or_default().into()
}
