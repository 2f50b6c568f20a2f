//! The precision of each unit, so that the fewest values are cast: a minimum cut between what is forced to float32 and what is forced to half
//! precision. A value that several units read is cast once.

use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::unionfind::UnionFind;
use petgraph::visit::EdgeRef;
use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_onnx::graph::{Graph, Value};

use crate::reasons::Why;
use crate::request::{Extent, Request};
use crate::units::{MadeIn, UnitId, Units, stored_sizes};

/// What a cast costs. A weight that is stored in both precisions costs as much.
const CAST: u64 = 1000;
/// A constant of at most so many elements costs nothing in both precisions.
const MOST_SMALL: i64 = 4096;
/// How many turns of a loop are expected.
const TURNS: u64 = 8;
/// A cast in loops in loops costs no more than in so many.
const MOST_LOOPS: u32 = 4;
/// What it costs that a node which could compute in half precision does not: four of them are a cast.
const WIDE_NODE: u64 = 250;
/// What it costs that a node computes in half precision where only products should.
const HALF_NODE: u64 = 1;
/// More than all casts together.
const NEVER: u64 = 1 << 40;

/// For each unit, whether it computes in half precision.
pub(crate) fn choose(graph: &Graph, units: &Units, forced: &[Option<Why>], request: &Request) -> Vec<bool> {
    let sides = forced.iter().map(|why| why.as_ref().map(Why::is_wide));
    let mut network = Network::of(sides);
    for (unit, why) in forced.iter().enumerate() {
        let is_node = units.all.get(unit).is_some_and(|unit| unit.node.is_some());
        match why {
            None if !is_node => {}
            None if request.extent == Extent::Products => network.edge(WIDE, network.unit(unit), HALF_NODE),
            None => network.edge(network.unit(unit), HALF, WIDE_NODE),
            Some(_) => {}
        }
    }
    let mut readers: FxHashMap<Value, Vec<UnitId>> = FxHashMap::default();
    // BodyPorts are added in the order of values: the result depends on nothing else.
    let mut order = Vec::new();
    for (number, unit) in units.all.iter().enumerate() {
        for value in &unit.reads {
            let known = readers.entry(*value).or_default();
            if known.is_empty() {
                order.push(*value);
            }
            known.push(number);
        }
    }
    let wide_reads: FxHashSet<Value> = units.wide_reads.iter().copied().collect();
    for value in order.iter().filter(|value| !is_small(graph, **value)) {
        let reading = readers.get(value).map_or(&[][..], Vec::as_slice);
        network.value(units.makers.get(value).copied(), cost(units, *value), reading, wide_reads.contains(value));
    }
    let mut outside: Vec<(Value, bool)> = units.wide_reads.iter().map(|value| (*value, false)).collect();
    outside.extend(units.half_reads.iter().map(|value| (*value, true)));
    outside.sort_unstable();
    outside.dedup();
    for (value, is_half) in outside {
        if let Some(MadeIn::Unit(unit)) = units.makers.get(&value) {
            match is_half {
                true => network.edge(network.unit(*unit), HALF, cost(units, value)),
                // Units that read it too were counted with it.
                false if readers.contains_key(&value) => {}
                false => network.edge(WIDE, network.unit(*unit), cost(units, value)),
            }
        }
    }
    network.cut(units.all.len())
}

/// What it costs to cast a value.
fn cost(units: &Units, value: Value) -> u64 {
    let loops = units.turns.get(&value).copied().unwrap_or(0);
    CAST * TURNS.pow(loops.min(MOST_LOOPS))
}

/// The number of a node of the network.
type NodeId = usize;
/// What lies on its side is in float32.
const WIDE: NodeId = 0;
/// What lies on its side is in half precision.
const HALF: NodeId = 1;

/// Whether a constant is so small that it may as well be stored in both precisions.
fn is_small(graph: &Graph, value: Value) -> bool {
    let count = |sizes: &[i64]| sizes.iter().try_fold(1i64, |count, size| count.checked_mul(*size));
    stored_sizes(graph, value).and_then(count).is_some_and(|count| count <= MOST_SMALL)
}

/// The network of the cut. Units that are forced are one with the side that they are forced to, so that it falls into small parts.
struct Network {
    /// By unit.
    nodes: Vec<NodeId>,
    count: usize,
    edges: Vec<(NodeId, NodeId, u64)>,
}

impl Network {
    /// Units by whether they are forced to float32 or to half precision.
    fn of(sides: impl Iterator<Item = Option<bool>>) -> Network {
        let mut network = Network { nodes: Vec::new(), count: 2, edges: Vec::new() };
        for side in sides {
            let node = match side {
                Some(true) => WIDE,
                Some(false) => HALF,
                None => network.node(),
            };
            network.nodes.push(node);
        }
        network
    }

    fn node(&mut self) -> NodeId {
        self.count += 1;
        self.count - 1
    }

    fn unit(&self, unit: UnitId) -> NodeId {
        self.nodes.get(unit).copied().unwrap_or(WIDE)
    }

    /// It costs so much if `from` is in float32 and `to` is in half precision. What is certain costs the same for all choices.
    fn edge(&mut self, from: NodeId, to: NodeId, cost: u64) {
        if from != to && to != WIDE && from != HALF && (from, to) != (WIDE, HALF) {
            self.edges.push((from, to, cost));
        }
    }

    /// A value that units read: a cast is needed if one of them has another precision than the maker. What is stored has no maker.
    fn value(&mut self, maker: Option<MadeIn>, cost: u64, readers: &[UnitId], is_read_wide: bool) {
        let readers: Vec<NodeId> = readers.iter().map(|reader| self.unit(*reader)).collect();
        // A side is certain if a reader is forced to it.
        let any_half = if readers.contains(&HALF) { HALF } else { self.node() };
        let any_wide = if is_read_wide || readers.contains(&WIDE) { WIDE } else { self.node() };
        for reader in readers {
            self.edge(any_half, reader, NEVER);
            self.edge(reader, any_wide, NEVER);
        }
        let maker = match maker {
            None => return self.edge(any_wide, any_half, cost),
            Some(MadeIn::Wide) => WIDE,
            Some(MadeIn::Half) => HALF,
            Some(MadeIn::Unit(unit)) => self.unit(unit),
        };
        self.edge(maker, any_half, cost);
        self.edge(any_wide, maker, cost);
    }

    /// Whether each unit is on the side of half precision.
    fn cut(self, units: usize) -> Vec<bool> {
        let mut joined = UnionFind::<usize>::new(self.count);
        let inner = |node: NodeId| node > HALF;
        for (from, to, _) in self.edges.iter().filter(|(from, to, _)| inner(*from) && inner(*to)) {
            joined.union(*from, *to);
        }
        let mut parts: FxHashMap<NodeId, Vec<(NodeId, NodeId, u64)>> = FxHashMap::default();
        for edge in &self.edges {
            let part = joined.find(if inner(edge.0) { edge.0 } else { edge.1 });
            parts.entry(part).or_default().push(*edge);
        }
        let mut is_wide = vec![false; self.count];
        if let Some(wide) = is_wide.get_mut(WIDE) {
            *wide = true;
        }
        parts.values().for_each(|edges| cut_part(edges, &mut is_wide));
        (0..units).map(|unit| !is_wide.get(self.unit(unit)).copied().unwrap_or(true)).collect()
    }
}

/// Notes the nodes of a part of the network that are on the side of float32. No other part has them.
fn cut_part(edges: &[(NodeId, NodeId, u64)], is_wide: &mut [bool]) {
    let mut graph: DiGraph<NodeId, u64> = DiGraph::new();
    let (wide, half) = (graph.add_node(WIDE), graph.add_node(HALF));
    let mut known: FxHashMap<NodeId, NodeIndex> = FxHashMap::from_iter([(WIDE, wide), (HALF, half)]);
    for (from, to, cost) in edges {
        let [from, to] = [from, to].map(|node| *known.entry(*node).or_insert_with(|| graph.add_node(*node)));
        graph.add_edge(from, to, *cost);
    }
    let (_, flows) = dinics(&graph, wide, half);
    let flow = |edge: usize| flows.get(edge).copied().unwrap_or(0);
    let mut seen = vec![false; graph.node_count()];
    let mut open = vec![wide];
    while let Some(node) = open.pop() {
        let is_new = seen.get_mut(node.index()).is_some_and(|seen| !std::mem::replace(seen, true));
        if !is_new {
            continue;
        }
        if let Some(found) = graph.node_weight(node).and_then(|node| is_wide.get_mut(*node)) {
            *found = true;
        }
        open.extend(
            graph.edges(node).filter(|edge| *edge.weight() > flow(edge.id().index())).map(|edge| edge.target()),
        );
        let back = graph.edges_directed(node, petgraph::Incoming);
        open.extend(back.filter(|edge| flow(edge.id().index()) > 0).map(|edge| edge.source()));
    }
}
