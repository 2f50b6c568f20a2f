//! Finishes a graph: gives outputs values of their own, drops unused nodes, and assigns names.

use rustc_hash::FxHashSet;

use crate::build::graph::names;
use crate::build::{Builder, Live};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::{Body, Graph, Source, Value, ValueInfo};

impl Builder {
    /// The finished graph without passes.
    pub fn finish(self) -> Result<Graph> {
        self.finish_after(|_| ())
    }

    /// The finished graph after passes: [`Passes::run`](crate::passes::Passes::run).
    pub fn finish_after(mut self, passes: impl FnOnce(&mut Builder)) -> Result<Graph> {
        if self.scopes.len() != 1 {
            return Err(self.fault("the graph is finished while a body is open"));
        }
        self.join_outputs()?;
        passes(&mut self);
        let outputs = self.own_outputs()?;
        self.finished(outputs, &[])
    }

    /// Finishes with these outputs; `pinned` values stay even if unused.
    pub(crate) fn finished(mut self, outputs: Vec<Value>, pinned: &[Value]) -> Result<Graph> {
        let scope = self.scopes.pop().unwrap_or_default();
        let mut body = Body { inputs: scope.inputs, nodes: scope.nodes, outputs };
        let mut live = Live::new(self.values.len());
        pinned.iter().for_each(|value| live.mark(*value));
        live.sweep(&mut body);
        let warned = self.warned(&body);
        let values = self.values.into_iter();
        let mut hints = Vec::with_capacity(values.len());
        let mut infos = Vec::with_capacity(values.len());
        for data in values {
            hints.push(names::Hint { name: data.name, origin: data.origin });
            infos.push(ValueInfo { name: String::new(), ty: data.ty, source: data.source });
        }
        let initializers = live.initializers(&infos);
        let (opset, domain_versions, provenance) = (self.limits.opset, self.domains, self.origins.all);
        let replaced = self.lowerings.replaced;
        let savings = self.savings;
        let sharers = self.sharers.into_iter().collect();
        let values = infos;
        let mut graph = Graph {
            opset,
            domain_versions,
            body,
            values,
            initializers,
            provenance,
            replaced,
            warned,
            savings,
            contradicted: Vec::new(),
            quantized: Vec::new(),
            sharers,
        };
        names::assign(&mut graph, &hints, &self.outputs);
        Ok(graph)
    }

    /// Makes each output a distinct result of a node, so that each can have its own name.
    fn own_outputs(&mut self) -> Result<Vec<Value>> {
        let mut own = Vec::with_capacity(self.outputs.len());
        let mut seen = FxHashSet::default();
        for (_, value) in self.outputs.clone() {
            let value = self.plain(value);
            self.check_visible(value)?;
            self.check_in_graph(value)?;
            let is_node = matches!(self.data(value).source, Source::Node);
            let output = if is_node && seen.insert(value) {
                value
            } else {
                self.check_copied(value)?;
                self.copy(value)
            };
            own.push(output);
        }
        Ok(own)
    }
}
