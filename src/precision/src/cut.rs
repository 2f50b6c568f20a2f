//! The precision of each unit, so that the fewest values are cast: a minimum cut between what is forced to float32 and what is forced to half
//! precision. A value that several units read is cast once.

use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_onnx::graph::Value;

use crate::reasons::Why;
use crate::request::{Request, Scope};
use crate::units::{Maker, UnitId, Units};

/// What a cast costs. A weight that is stored in both precisions costs as much.
const CAST: u64 = 1000;
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
pub(crate) fn choose(units: &Units, forced: &[Option<Why>], request: &Request) -> Vec<bool> {
    let mut network = Network::of(units.all.len());
    for (unit, why) in forced.iter().enumerate() {
        let is_node = units.all.get(unit).is_some_and(|unit| unit.node.is_some());
        match why {
            Some(why) if why.is_wide() => network.edge(network.wide, network.unit(unit), NEVER),
            Some(_) => network.edge(network.unit(unit), network.half, NEVER),
            None if !is_node => {}
            None if request.scope == Scope::Products => network.edge(network.wide, network.unit(unit), HALF_NODE),
            None => network.edge(network.unit(unit), network.half, WIDE_NODE),
        }
    }
    let mut readers: FxHashMap<Value, Vec<UnitId>> = FxHashMap::default();
    // Edges are added in the order of values: the result depends on nothing else.
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
    for value in &order {
        let reading = readers.get(value).map_or(&[][..], Vec::as_slice);
        network.value(units.makers.get(value).copied(), cost(units, *value), reading, wide_reads.contains(value));
    }
    let mut outside: Vec<(Value, bool)> = units.wide_reads.iter().map(|value| (*value, false)).collect();
    outside.extend(units.half_reads.iter().map(|value| (*value, true)));
    outside.sort_unstable();
    outside.dedup();
    for (value, is_half) in outside {
        if let Some(Maker::Unit(unit)) = units.makers.get(&value) {
            match is_half {
                true => network.edge(network.unit(*unit), network.half, cost(units, value)),
                // Units that read it too were counted with it.
                false if readers.contains_key(&value) => {}
                false => network.edge(network.wide, network.unit(*unit), cost(units, value)),
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

/// The network of the cut: what lies on the side of `wide` is in float32.
struct Network {
    graph: DiGraph<(), u64>,
    wide: NodeIndex,
    half: NodeIndex,
}

impl Network {
    fn of(units: usize) -> Network {
        let mut graph = DiGraph::with_capacity(2 * units + 2, 6 * units);
        for _ in 0..units {
            graph.add_node(());
        }
        let (wide, half) = (graph.add_node(()), graph.add_node(()));
        Network { graph, wide, half }
    }

    fn unit(&self, unit: UnitId) -> NodeIndex {
        NodeIndex::new(unit)
    }

    /// It costs so much if `from` is in float32 and `to` is in half precision.
    fn edge(&mut self, from: NodeIndex, to: NodeIndex, cost: u64) {
        self.graph.add_edge(from, to, cost);
    }

    /// A value that units read: a cast is needed if one of them has another precision than the maker. What is stored has no maker.
    fn value(&mut self, maker: Option<Maker>, cost: u64, readers: &[UnitId], is_read_wide: bool) {
        let any_half = self.graph.add_node(());
        let any_wide = self.graph.add_node(());
        for reader in readers {
            let reader = self.unit(*reader);
            self.edge(any_half, reader, NEVER);
            self.edge(reader, any_wide, NEVER);
        }
        if is_read_wide {
            self.edge(self.wide, any_wide, NEVER);
        }
        let maker = match maker {
            None => {
                self.edge(any_wide, any_half, cost);
                return;
            }
            Some(Maker::Wide) => self.wide,
            Some(Maker::Half) => self.half,
            Some(Maker::Unit(unit)) => self.unit(unit),
        };
        self.edge(maker, any_half, cost);
        self.edge(any_wide, maker, cost);
    }

    /// Whether each unit is on the side of half precision.
    fn cut(self, units: usize) -> Vec<bool> {
        let (_, flows) = dinics(&self.graph, self.wide, self.half);
        let mut is_wide = vec![false; self.graph.node_count()];
        let mut open = vec![self.wide];
        if let Some(start) = is_wide.get_mut(self.wide.index()) {
            *start = true;
        }
        let flow = |edge: usize| flows.get(edge).copied().unwrap_or(0);
        while let Some(node) = open.pop() {
            let onward = self
                .graph
                .edges(node)
                .filter(|edge| *edge.weight() > flow(edge.id().index()))
                .map(|edge| edge.target());
            let back = self.graph.edges_directed(node, petgraph::Incoming);
            let back = back.filter(|edge| flow(edge.id().index()) > 0).map(|edge| edge.source());
            for next in onward.chain(back) {
                if let Some(seen) = is_wide.get_mut(next.index()).filter(|seen| !**seen) {
                    *seen = true;
                    open.push(next);
                }
            }
        }
        is_wide.iter().take(units).map(|is_wide| !is_wide).collect()
    }
}
