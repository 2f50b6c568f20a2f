//! Which values are used, and which nodes compute them.

use rustc_hash::FxHashSet;

use aten2onnx_onnx::graph::{Body, Node, Source, Value, ValueInfo};
use aten2onnx_onnx::schema::{self, PortKind};

/// The values that are used directly or indirectly.
pub(crate) struct Live {
    values: Vec<bool>,
}

impl Live {
    /// No value is live yet.
    pub(crate) fn new(values: usize) -> Live {
        Live { values: vec![false; values] }
    }

    /// Marks a value as used.
    pub(crate) fn mark(&mut self, value: Value) {
        if let Some(live) = self.values.get_mut(value.index()) {
            *live = true;
        }
    }

    fn is_live(&self, value: Value) -> bool {
        self.values.get(value.index()).copied().unwrap_or(false)
    }

    /// Removes the nodes of a body that its outputs do not need.
    pub(crate) fn sweep(&mut self, body: &mut Body) {
        for output in &body.outputs {
            self.mark(*output);
        }
        let twins = twins(&body.nodes);
        let mut kept: Vec<Node> = Vec::with_capacity(body.nodes.len());
        for mut node in std::mem::take(&mut body.nodes).into_iter().rev() {
            if !node.outputs.iter().flatten().any(|v| self.is_live(*v)) {
                continue;
            }
            for (_, attr) in &mut node.attrs {
                for inner in attr.bodies_mut() {
                    self.sweep(inner);
                }
            }
            node.inputs.iter().flatten().for_each(|v| self.mark(*v));
            let has_twin = !twins.is_empty() && twins.contains(&(node.op, node.inputs.clone()));
            self.drop_unread(&mut node, has_twin);
            kept.push(node);
        }
        kept.reverse();
        body.nodes = kept;
    }

    /// Drops unused optional outputs; of a node with a twin only the last ones.
    fn drop_unread(&self, node: &mut Node, has_twin: bool) {
        if node.outputs.len() < 2 || node.outputs.iter().flatten().all(|v| self.is_live(*v)) {
            return;
        }
        let ports = schema::find(node.op).and_then(|op| op.versions.last()).map_or(&[][..], |v| v.outputs);
        let last = node.outputs.iter().rposition(|output| output.is_some_and(|v| self.is_live(v))).unwrap_or(0);
        for (i, (output, port)) in node.outputs.iter_mut().zip(ports).enumerate() {
            if has_twin && i < last {
                continue;
            }
            if port.kind == PortKind::Optional && output.is_some_and(|v| !self.is_live(v)) {
                *output = None;
            }
        }
        while node.outputs.last() == Some(&None) {
            node.outputs.pop();
        }
    }

    /// The used initializers in order of creation. Constants in attributes do not count.
    pub(crate) fn initializers(&self, infos: &[ValueInfo]) -> Vec<Value> {
        let live = infos.iter().enumerate().filter(|(i, info)| {
            let is_tensor = matches!(info.source, Source::Constant(_) | Source::Weight(_));
            is_tensor && self.values.get(*i).copied().unwrap_or(false)
        });
        // The index fits, because values are numbered with 32 bits.
        live.map(|(i, _)| Value::new(u32::try_from(i).unwrap_or(u32::MAX))).collect()
    }
}

/// Nodes with the same operator and inputs as another one. ONNX Runtime (1.31) merges such nodes, and takes an output that one of them leaves out for that of
/// the other.
fn twins(nodes: &[Node]) -> FxHashSet<(&'static str, Vec<Option<Value>>)> {
    let mut seen = FxHashSet::default();
    let mut twins = FxHashSet::default();
    for node in nodes.iter().filter(|node| node.outputs.len() > 1 && node.bodies().next().is_none()) {
        let key = (node.op, node.inputs.clone());
        if !seen.insert(key.clone()) {
            twins.insert(key);
        }
    }
    twins
}
