//! Names: weights keep their own, results are called after the PyTorch node, nodes after the module that called them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::graph::{Attr, Body, Graph, Node, Origin, Source, Value};
use crate::schema;

/// Gives every value and node of a graph its name; `suggested` are names by value, `outputs` those of the graph's outputs.
pub(super) fn assign(graph: &mut Graph, suggested: &[Option<Arc<str>>], outputs: &[(Arc<str>, Value)]) {
    let mut body = std::mem::take(&mut graph.body);
    let mut names = Names { graph, suggested, values: Pool::default(), nodes: Pool::default() };
    for value in &body.inputs {
        names.suggest(*value, "input");
    }
    for (value, (name, _)) in body.outputs.iter().zip(outputs) {
        names.set(*value, name);
    }
    for value in names.graph.initializers.clone() {
        let fallback = if matches!(names.graph.info(value).source, Source::Weight(_)) { "weight" } else { "constant" };
        names.suggest(value, fallback);
    }
    names.body(&mut body);
    graph.body = body;
}

struct Names<'a> {
    graph: &'a mut Graph,
    suggested: &'a [Option<Arc<str>>],
    values: Pool,
    nodes: Pool,
}

impl Names<'_> {
    fn set(&mut self, value: Value, name: &str) {
        let name = self.values.unique(name);
        if let Some(info) = self.graph.values.get_mut(value.index())
            && info.name.is_empty()
        {
            info.name = name;
        }
    }

    fn suggest(&mut self, value: Value, fallback: &str) {
        let suggested = self.suggested.get(value.index()).cloned().flatten();
        match suggested.filter(|name| !name.is_empty()) {
            Some(name) => self.set(value, &name),
            None => self.set(value, fallback),
        }
    }

    fn body(&mut self, body: &mut Body) {
        for node in &mut body.nodes {
            let origin = self.graph.provenance.get(node.origin as usize).cloned().unwrap_or_default();
            self.node(node, &origin);
        }
    }

    fn node(&mut self, node: &mut Node, origin: &Origin) {
        let (_, op) = node.domain_and_type();
        let base = if origin.node_name.is_empty() { op.to_owned() } else { format!("{}_{op}", origin.node_name) };
        let ports = schema::find(node.op).and_then(|s| s.versions.last()).map_or(&[][..], |v| v.outputs);
        let several = node.outputs.len() > 1;
        for (i, output) in node.outputs.iter().enumerate() {
            let Some(value) = output else { continue };
            if !self.graph.info(*value).name.is_empty() {
                continue;
            }
            match ports.get(i) {
                Some(port) if several && ports.len() > 1 => self.suggest(*value, &format!("{base}_{}", port.name)),
                _ => self.suggest(*value, &base),
            }
        }
        let place = origin.module.as_deref().filter(|m| !m.is_empty()).unwrap_or(&origin.node_name);
        let name = if place.is_empty() { op.to_owned() } else { format!("{place}/{op}") };
        node.name = self.nodes.unique(&name);
        for (_, attr) in &mut node.attrs {
            if let Attr::Graph(inner) = attr {
                for value in inner.inputs.clone() {
                    self.suggest(value, &format!("{base}_in"));
                }
                self.body(inner);
            }
        }
    }
}

/// Names that are taken.
#[derive(Default)]
struct Pool {
    /// A name, and the number to try next behind it.
    taken: FxHashMap<String, u32>,
}

impl Pool {
    /// The name, or the name with a number.
    fn unique(&mut self, name: &str) -> String {
        let Some(count) = self.taken.get_mut(name) else {
            self.taken.insert(name.to_owned(), 1);
            return name.to_owned();
        };
        let mut next = *count;
        *count = count.saturating_add(1);
        loop {
            let candidate = format!("{name}_{next}");
            if !self.taken.contains_key(&candidate) {
                self.taken.insert(candidate.clone(), 1);
                if let Some(count) = self.taken.get_mut(name) {
                    *count = next.saturating_add(1);
                }
                return candidate;
            }
            next = next.saturating_add(1);
        }
    }
}
