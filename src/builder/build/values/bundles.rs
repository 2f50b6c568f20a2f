//! Sequences and optionals below the opsets that have them: lists of values that the builder keeps to itself. Whoever reads their
//! elements gets them straight; a node that wants the whole is refused.

use std::sync::Arc;

use crate::build::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Source, Type, Value};

impl Builder {
    /// A sequence or optional that is not in the graph.
    pub fn bundle(&mut self, ty: Type, items: &[Value]) -> Value {
        let items: Arc<[Value]> = items.iter().map(|item| self.plain(*item)).collect();
        let bundle = self.add_value(ty, Source::Node, None);
        self.data_mut(bundle).items = Some(items);
        bundle
    }

    /// The elements, where they are known one by one.
    pub fn items(&self, value: Value) -> Option<Vec<Value>> {
        self.data(value).items.as_ref().map(|items| items.to_vec())
    }

    /// Is it a sequence or optional that is not in the graph?
    pub(crate) fn is_bundle(&self, value: Value) -> bool {
        self.data(value).items.is_some()
    }

    /// Another value that holds the same as a sequence, for opsets whose Identity takes none: with one element more and less.
    pub fn copied_sequence(&mut self, sequence: Value) -> Result<Value> {
        if self.is_bundle(sequence) {
            return Ok(sequence);
        }
        let element = match self.dtype(sequence) {
            Dtype::String => self.strings(&[String::new()])?,
            dtype => self.scalar(&Scalar::Int(0), dtype)?,
        };
        let longer = self.node1("SequenceInsert", vec![sequence.into(), element.into()], Vec::new())?;
        self.node1("SequenceErase", vec![longer.into()], Vec::new())
    }

    /// What bodies give must be in the graph.
    pub fn check_bodies(&self, attrs: &[(&'static str, Attr)]) -> Result<()> {
        let bodies = attrs.iter().filter_map(|(_, attr)| if let Attr::Graph(body) = attr { Some(body) } else { None });
        bodies.flat_map(|body| &body.outputs).try_for_each(|value| self.check_tangible(*value))
    }

    /// What goes into the graph must be in it.
    pub(crate) fn check_tangible(&self, value: Value) -> Result<()> {
        if self.data(value).items.is_none() {
            return Ok(());
        }
        let (what, since) = match self.ty(value) {
            Type::Optional(_) => ("optionals", 15),
            _ => ("sequences", 11),
        };
        let message = format!("there are no {what} before opset {since}, and this one is needed as a whole");
        Err(Error::refused(message, Some(since)))
    }
}
