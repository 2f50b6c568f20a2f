//! What the passes ask of the builder: the nodes that it has made, to be walked over and made anew in order.

use crate::build::{Builder, Scope};
use aten2onnx_onnx::graph::{Body, Node, Source, Value};

impl Builder {
    /// All nodes of the graph, to be pushed again one by one. What was remembered of nodes is forgotten: they may not
    /// come again, or not as early.
    pub(crate) fn take_nodes(&mut self) -> Vec<Node> {
        let scope = self.scope_mut();
        scope.reuse.clear();
        scope.sizes.clear();
        scope.dims.clear();
        std::mem::take(&mut scope.nodes)
    }

    /// Takes nodes back that were made where we stand, and what was remembered of them.
    pub(crate) fn take_back(&mut self, before: usize) {
        let scope = self.scope_mut();
        if scope.nodes.len() > before {
            scope.nodes.truncate(before);
            scope.reuse.clear();
            scope.sizes.clear();
            scope.dims.clear();
        }
    }

    /// Stands in a body again, as when it was made.
    pub(crate) fn reopen(&mut self, body: &Body) {
        let inner = body.outputs.iter().chain(&body.inputs).next();
        let id = inner.map_or(self.scope_count, |value| self.data(*value).scope);
        self.scopes.push(Scope { id, inputs: body.inputs.clone(), ..Scope::default() });
    }

    /// Leaves a body that was reopened; its outputs are to be those values.
    pub(crate) fn close(&mut self, outputs: Vec<Value>) -> Body {
        let outputs = self.body_outputs(outputs.clone()).unwrap_or(outputs);
        let scope = if self.scopes.len() > 1 { self.scopes.pop().unwrap_or_default() } else { Scope::default() };
        Body { inputs: scope.inputs, nodes: scope.nodes, outputs }
    }

    /// The number of bodies that we stand in.
    pub(crate) fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// The nodes so far of the graph (0) or of a body that we stand in.
    pub(crate) fn nodes_at(&self, depth: usize) -> &[Node] {
        self.scopes.get(depth).map_or(&[], |scope| scope.nodes.as_slice())
    }

    /// The nodes so far of where we stand.
    pub fn nodes_mut(&mut self) -> &mut Vec<Node> {
        &mut self.scope_mut().nodes
    }

    /// The results of the graph.
    pub(crate) fn results_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.outputs.iter_mut().map(|(_, value)| value)
    }

    /// Nodes that are made now come from where another came from.
    pub(crate) fn follow_origin(&mut self, node: &Node) {
        self.origins.current = node.origin;
    }

    /// Where a value comes from.
    pub(crate) fn source(&self, value: Value) -> &Source {
        &self.data(value).source
    }

    /// The number of values ever made.
    pub(crate) fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Lets a value stand for another that came out the same: it takes over its name and what is known of it. False
    /// where the two contradict each other.
    pub(crate) fn stand_for(&mut self, value: Value, other: Value) -> bool {
        let ty = self.ty(other).clone();
        if self.refine(value, &ty).is_err() {
            return false;
        }
        let (name, content) = (self.data(other).name.clone(), self.data(other).content.clone());
        let data = self.data_mut(value);
        if matches!(data.source, Source::Node) {
            data.name = data.name.take().or(name);
            data.content = data.content.take().or(content);
        }
        true
    }
}
