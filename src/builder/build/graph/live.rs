//! Which values are read, and which nodes are needed for them.

use aten2onnx_onnx::graph::{Attr, Body, Node, Source, Value, ValueInfo};
use aten2onnx_onnx::schema::{self, PortKind};

/// The values that are read, straight or through others.
pub(crate) struct Live {
    values: Vec<bool>,
}

impl Live {
    /// Of so many values none is read yet.
    pub(crate) fn new(values: usize) -> Live {
        Live { values: vec![false; values] }
    }

    /// It is read.
    pub(crate) fn mark(&mut self, value: Value) {
        if let Some(live) = self.values.get_mut(value.index()) {
            *live = true;
        }
    }

    fn is_live(&self, value: Value) -> bool {
        self.values.get(value.index()).copied().unwrap_or(false)
    }

    /// Keeps the nodes that a body's outputs need.
    pub(crate) fn sweep(&mut self, body: &mut Body) {
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
    pub(crate) fn initializers(&self, infos: &[ValueInfo]) -> Vec<Value> {
        let live = infos.iter().enumerate().filter(|(i, info)| {
            let is_tensor = matches!(info.source, Source::Constant(_) | Source::Weight(_));
            is_tensor && self.values.get(*i).copied().unwrap_or(false)
        });
        // The index fits: values are counted in 32 bits.
        live.map(|(i, _)| Value::new(u32::try_from(i).unwrap_or(u32::MAX))).collect()
    }
}
