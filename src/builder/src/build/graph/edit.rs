//! What passes need from the builder: taking its nodes and rebuilding them in order.

use crate::build::{Builder, Scope};
use aten2onnx_onnx::graph::{Body, Node, Source, Value};

impl Builder {
    /// Takes all nodes of the graph, to be pushed again one by one. Clears the caches of nodes, because a cached node
    /// may be dropped or may come later.
    pub(crate) fn take_nodes(&mut self) -> Vec<Node> {
        let scope = self.scope_mut();
        scope.reuse.clear();
        scope.sizes.clear();
        scope.dims.clear();
        std::mem::take(&mut scope.nodes)
    }

    /// Removes the nodes that were made in this scope since `before`, and the caches.
    pub(crate) fn truncate_nodes(&mut self, before: usize) {
        let scope = self.scope_mut();
        if scope.nodes.len() > before {
            scope.nodes.truncate(before);
            scope.reuse.clear();
            scope.sizes.clear();
            scope.dims.clear();
        }
    }

    /// Opens a body again for editing.
    pub(crate) fn reopen(&mut self, body: &Body) {
        let inner = body.outputs.iter().chain(&body.inputs).next();
        let id = inner.map_or(self.scope_count, |value| self.data(*value).scope);
        self.scopes.push(Scope { id, inputs: body.inputs.clone(), ..Scope::default() });
    }

    /// Closes a body that was reopened, with these outputs.
    pub(crate) fn close(&mut self, outputs: Vec<Value>) -> Body {
        let outputs = self.body_outputs(outputs.clone()).unwrap_or(outputs);
        let scope = if self.scopes.len() > 1 { self.scopes.pop().unwrap_or_default() } else { Scope::default() };
        Body { inputs: scope.inputs, nodes: scope.nodes, outputs }
    }

    /// The number of open bodies.
    pub(crate) fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// The nodes of the graph (0) or of an open body.
    pub(crate) fn nodes_at(&self, depth: usize) -> &[Node] {
        self.scopes.get(depth).map_or(&[], |scope| scope.nodes.as_slice())
    }

    /// The nodes of the current scope.
    pub fn nodes_mut(&mut self) -> &mut Vec<Node> {
        &mut self.scope_mut().nodes
    }

    /// The outputs of the graph.
    pub(crate) fn results_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.outputs.iter_mut().map(|(_, value)| value)
    }

    /// Gives new nodes the origin of this node.
    pub(crate) fn follow_origin(&mut self, node: &Node) {
        self.origins.current = node.origin;
    }

    /// How a value is produced.
    pub(crate) fn source(&self, value: Value) -> &Source {
        &self.data(value).source
    }

    /// The number of values created so far.
    pub(crate) fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Replaces `other` by an equal value, which takes over its name and type. Returns false if the types contradict.
    pub(crate) fn take_over(&mut self, value: Value, other: Value) -> bool {
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
