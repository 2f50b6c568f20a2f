//! The end of a build: outputs get values of their own, nodes that nobody reads go, everything gets a name.

use rustc_hash::FxHashSet;

use super::{Builder, names};
use crate::error::Result;
use crate::graph::{Attr, Body, Graph, Node, Source, Value, ValueInfo};
use crate::schema::{self, PortKind};

impl Builder {
    /// The finished graph.
    pub fn finish(mut self) -> Result<Graph> {
        if self.scopes.len() != 1 {
            return Err(self.fault("the graph is finished while a body is open"));
        }
        let outputs = self.own_outputs()?;
        self.finished(outputs, &[])
    }

    /// With these outputs, and with values that stay though nobody reads them.
    pub(super) fn finished(mut self, outputs: Vec<Value>, pinned: &[Value]) -> Result<Graph> {
        let scope = self.scopes.pop().unwrap_or_default();
        let mut body = Body { inputs: scope.inputs, nodes: scope.nodes, outputs };
        let mut live = Live { values: vec![false; self.values.len()] };
        pinned.iter().for_each(|value| live.mark(*value));
        live.sweep(&mut body);
        let values = self.values.into_iter();
        let mut hints = Vec::with_capacity(values.len());
        let mut infos = Vec::with_capacity(values.len());
        for data in values {
            hints.push(names::Hint { name: data.name, origin: data.origin });
            infos.push(ValueInfo { name: String::new(), ty: data.ty, source: data.source });
        }
        let initializers = live.initializers(&infos);
        let (opset, domain_versions, provenance) = (self.opset, self.domains, self.origins);
        let mut graph = Graph { opset, domain_versions, body, values: infos, initializers, provenance };
        names::assign(&mut graph, &hints, &self.outputs);
        Ok(graph)
    }

    /// Outputs are results of nodes, no two the same: each carries its own name.
    fn own_outputs(&mut self) -> Result<Vec<Value>> {
        let mut own = Vec::with_capacity(self.outputs.len());
        let mut seen = FxHashSet::default();
        for (_, value) in self.outputs.clone() {
            let value = self.plain(value);
            self.check_visible(value)?;
            let is_node = matches!(self.data(value).source, Source::Node);
            let output = if is_node && seen.insert(value) { value } else { self.copy(value) };
            own.push(output);
        }
        Ok(own)
    }
}

/// The values that are read, straight or through others.
struct Live {
    values: Vec<bool>,
}

impl Live {
    fn mark(&mut self, value: Value) {
        if let Some(live) = self.values.get_mut(value.index()) {
            *live = true;
        }
    }

    fn is_live(&self, value: Value) -> bool {
        self.values.get(value.index()).copied().unwrap_or(false)
    }

    /// Keeps the nodes that a body's outputs need.
    fn sweep(&mut self, body: &mut Body) {
        for output in &body.outputs {
            self.mark(*output);
        }
        let mut kept: Vec<Node> = Vec::with_capacity(body.nodes.len());
        for mut node in std::mem::take(&mut body.nodes).into_iter().rev() {
            if !node.outputs.iter().flatten().any(|v| self.is_live(*v)) {
                continue;
            }
            for (_, attr) in &mut node.attrs {
                if let Attr::Graph(inner) = attr {
                    self.sweep(inner);
                }
            }
            node.inputs.iter().flatten().for_each(|v| self.mark(*v));
            self.drop_unread(&mut node);
            kept.push(node);
        }
        kept.reverse();
        body.nodes = kept;
    }

    /// Leaves out optional outputs that nobody reads.
    fn drop_unread(&self, node: &mut Node) {
        if node.outputs.len() < 2 || node.outputs.iter().flatten().all(|v| self.is_live(*v)) {
            return;
        }
        let ports = schema::find(node.op).and_then(|op| op.versions.last()).map_or(&[][..], |v| v.outputs);
        for (output, port) in node.outputs.iter_mut().zip(ports) {
            if port.kind == PortKind::Optional && output.is_some_and(|v| !self.is_live(v)) {
                *output = None;
            }
        }
        while node.outputs.last() == Some(&None) {
            node.outputs.pop();
        }
    }

    /// In the order they came up. Constants in attributes are not read as values.
    fn initializers(&self, infos: &[ValueInfo]) -> Vec<Value> {
        let live = infos.iter().enumerate().filter(|(i, info)| {
            let is_tensor = matches!(info.source, Source::Constant(_) | Source::Weight(_));
            is_tensor && self.values.get(*i).copied().unwrap_or(false)
        });
        // The index fits: values are counted in 32 bits.
        live.map(|(i, _)| Value(u32::try_from(i).unwrap_or(u32::MAX))).collect()
    }
}
