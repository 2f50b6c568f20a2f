//! Graphs as values of rules: bodies of a model, and functions that build one where it is used.

use std::fmt;
use std::rc::Rc;

use crate::build::{Builder, In};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Body, Value};

/// Makes the nodes of a graph for given inputs, and returns the outputs.
type Function = dyn Fn(&mut Builder, &[Value]) -> Result<Vec<Value>>;

/// A graph that a rule may call, or give to a node as an attribute.
#[derive(Clone)]
pub enum Graph {
    /// A body that is built already: an attribute of the call that is lowered.
    Built(Body),
    /// A closure of a rule.
    Function(Rc<Function>),
}

impl Graph {
    /// A closure.
    pub fn function(f: impl Fn(&mut Builder, &[Value]) -> Result<Vec<Value>> + 'static) -> Graph {
        Graph::Function(Rc::new(f))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Graph::Built(body) => f.debug_tuple("Built").field(body).finish(),
            Graph::Function(_) => f.write_str("Function"),
        }
    }
}

impl Builder {
    /// Makes the nodes of a graph in the current scope, with these inputs, and returns its outputs.
    pub fn apply(&mut self, graph: &Graph, inputs: &[Value]) -> Result<Vec<Value>> {
        let unfolded = self.unfolded(inputs);
        match graph {
            Graph::Built(body) if body.inputs.len() != unfolded.len() => {
                let (wanted, given) = (body.inputs.len(), unfolded.len());
                Err(Error::input(format!("a graph with {wanted} inputs is given {given}")))
            }
            Graph::Built(body) => Ok(self.inline_body(body, &unfolded)),
            Graph::Function(function) => function(self, inputs),
        }
    }

    /// A graph as an attribute of a node with these inputs and other attributes.
    pub fn graph_attr(
        &mut self,
        graph: &Graph,
        op: &str,
        attr: &str,
        inputs: &[In],
        attrs: &[(&'static str, Attr)],
    ) -> Result<Attr> {
        match graph {
            Graph::Built(body) => Ok(Attr::Graph(body.clone())),
            Graph::Function(function) => {
                let params = self.body_params(op, attr, inputs, attrs)?;
                self.body(&params, |cx, inputs| function(cx, inputs))
            }
        }
    }
}
