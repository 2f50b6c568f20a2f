//! Dead code: keeps the nodes that outputs need, straight or through others, and leaves out optional outputs that nobody reads.
//!
//! It must not drop a node with one output that is read, nor a required output.

use crate::builder::Builder;
use crate::graph::{Attr, Body, Node, Source, Value, ValueInfo};
use crate::schema::{self, PortKind};

/// The values that are read, straight or through others.
pub(crate) struct Live {
    values: Vec<bool>,
}

/// The nodes of a builder's graph that are needed, taken out of it.
pub(super) fn swept(builder: &mut Builder) -> Vec<Node> {
    let mut live = Live::new(builder.value_count());
    let outputs = builder.results_mut().map(|value| *value).collect();
    let mut body = Body { inputs: Vec::new(), nodes: builder.take_nodes(), outputs };
    live.sweep(&mut body);
    body.nodes
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
        live.map(|(i, _)| Value(u32::try_from(i).unwrap_or(u32::MAX))).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::Passes;
    use super::super::testing::{Net, ops_of};
    use crate::dtype::Dtype;
    use crate::graph::{Attr, Graph, Type};

    /// `x` through a node whose result nobody reads, and one whose second result is optional.
    fn pooled(passes: Passes, reads_indices: bool) -> Graph {
        let mut net = Net::new(18);
        let x = net.input(&[1, 2, 4, 4]);
        let unread = net.op("Exp", &[x]);
        net.op("Neg", &[unread]);
        let kernel = vec![("kernel_shape", Attr::Ints(vec![2, 2]))];
        let pooled = net.many("MaxPool", &[x], kernel, 2);
        let result = pooled[usize::from(reads_indices)];
        net.finished(passes, result)
    }

    #[test]
    fn nodes_and_optional_outputs_that_nobody_reads_go() {
        for passes in [Passes::ALL, Passes::NONE] {
            let graph = pooled(passes, false);
            assert_eq!(ops_of(&graph), ["MaxPool"]);
            assert_eq!(graph.body.nodes[0].outputs.len(), 1);
        }
    }

    #[test]
    fn what_is_read_and_required_outputs_stay() {
        let graph = pooled(Passes::ALL, true);
        assert_eq!(ops_of(&graph), ["MaxPool"]);
        assert!(graph.body.nodes[0].outputs.iter().all(Option::is_some) && graph.body.nodes[0].outputs.len() == 2);
        let mut net = Net::new(18);
        let (x, parts) = (net.input(&[6]), net.ints(&[2, 4]));
        let split = net.many("Split", &[x, parts], vec![("axis", Attr::Int(0))], 2);
        let y = net.op("Exp", &[split[1]]);
        let graph = net.finished(Passes::ALL, y);
        assert_eq!(graph.body.nodes.iter().map(|node| node.outputs.len()).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn bodies_are_swept_and_what_they_read_stays() {
        let mut net = Net::new(18);
        let (x, condition) = (net.input(&[3]), net.typed(Type::sized(Dtype::Bool, &[])));
        let outer = net.op("Exp", &[x]);
        let y = net.choice(condition, |builder| {
            builder.node1("Neg", vec![outer.into()], vec![]).unwrap();
            builder.node1("Relu", vec![outer.into()], vec![]).unwrap()
        });
        let graph = net.finished(Passes::ALL, y);
        assert_eq!(ops_of(&graph), ["Exp", "If"]);
        let bodies: Vec<_> = graph.body.nodes[1].bodies().collect();
        assert!(bodies.iter().all(|body| body.nodes.len() == 1 && body.nodes[0].op == "Relu"));
    }
}
