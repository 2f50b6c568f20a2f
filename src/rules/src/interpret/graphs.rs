//! Graphs as values: closures with the names around them, and calls of graphs.

use std::any::Any;
use std::rc::Rc;

use aten2onnx_opmap::tree::{ClosureParams, Expr, Item};
use aten2onnx_opmap::types::Ty;

use super::eval::Frame;
use crate::arguments::value::mismatch;
use crate::arguments::{FromVal, Val};
use aten2onnx_builder::{Builder, In};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Value};

/// A closure and the names that it may use.
#[derive(Debug)]
pub struct Closure {
    params: ClosureParams,
    body: Expr,
    names: Vec<(String, Val)>,
    outputs: i64,
}

impl<'r> Frame<'r> {
    pub(super) fn closure(&self, params: &ClosureParams, body: &Expr) -> Val {
        let names = self.locals.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let (params, body) = (params.clone(), body.clone());
        Val::Closure(Rc::new(Closure { params, body, names, outputs: self.outputs }))
    }

    /// Binds the parameters of a closure.
    pub(super) fn bind_params(&mut self, params: &'r ClosureParams, inputs: &[Value]) -> Result<()> {
        let (wanted, given) = (params.names.len(), inputs.len());
        if given < wanted || (params.rest.is_none() && given > wanted) {
            return Err(Error::internal(format!("expected {wanted} inputs of a body, found {given}")));
        }
        for (name, value) in params.names.iter().zip(inputs) {
            self.bind(name, Val::Tensor(*value));
        }
        if let Some(rest) = &params.rest {
            self.bind(rest, inputs.get(wanted..).unwrap_or_default().to_vec().into());
        }
        Ok(())
    }

    /// The results of a graph for these inputs, as the type says.
    pub(super) fn apply(&mut self, cx: &mut Builder, graph: &'r Expr, args: &'r [Item], ty: &Ty) -> Result<Val> {
        let graph = self.eval(cx, graph)?;
        let inputs: Vec<Value> = self.list(cx, args)?.into_iter().map(Value::from_val).collect::<Result<_>>()?;
        let results = match &graph {
            Val::Closure(closure) => self.run(cx, closure, &inputs)?,
            Val::Graph(graph) => cx.apply(graph, &inputs)?,
            other => return Err(mismatch("a graph", other)),
        };
        let (wanted, given) = match ty {
            Ty::Tuple(tys) => (tys.len(), results.len()),
            Ty::Tensor => (1, results.len()),
            _ => return Ok(results.into()),
        };
        match results.as_slice() {
            _ if given != wanted => Err(Error::internal(format!("expected {wanted} outputs of a node, found {given}"))),
            [one] => Ok(Val::Tensor(*one)),
            _ => Ok(Val::Tuple(results.into_iter().map(Val::Tensor).collect())),
        }
    }

    /// A graph as an attribute of a node.
    pub(super) fn graph_attr(
        &mut self,
        cx: &mut Builder,
        graph: Val,
        op: &str,
        name: &str,
        inputs: &[In],
        attrs: &[(&'static str, Attr)],
    ) -> Result<Attr> {
        match graph {
            Val::Graph(graph) => cx.graph_attr(&graph, op, name, inputs, attrs),
            Val::Closure(closure) => {
                let types = cx.body_params(op, name, inputs, attrs)?;
                cx.body(&types, |cx, inputs| self.run(cx, &closure, inputs))
            }
            other => Err(mismatch("a graph", &other)),
        }
    }

    fn run(&self, cx: &mut Builder, closure: &Rc<dyn Any>, inputs: &[Value]) -> Result<Vec<Value>> {
        let closure: &Closure = closure.downcast_ref().ok_or_else(|| Error::internal("not a closure of a rule"))?;
        let mut frame = Frame::new(self.rules);
        frame.outputs = closure.outputs;
        for (name, value) in &closure.names {
            frame.bind(name, value.clone());
        }
        frame.bind_params(&closure.params, inputs)?;
        frame.eval(cx, &closure.body)?.into_values()
    }
}
