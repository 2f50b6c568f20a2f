//! Sequences and optionals at opsets without them: lists of values outside the graph. Reading an element returns its
//! value; a node that needs the whole sequence or optional is refused.

use std::sync::Arc;

use crate::build::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Source, Type, Value};

impl Builder {
    /// A sequence or optional outside the graph.
    pub fn bundle(&mut self, ty: Type, items: &[Value]) -> Value {
        let items: Arc<[Value]> = items.iter().map(|item| self.plain(*item)).collect();
        let bundle = self.add_value(ty, Source::Node, None);
        self.data_mut(bundle).items = Some(items);
        bundle
    }

    /// The elements, if each is known.
    pub fn items(&self, value: Value) -> Option<Vec<Value>> {
        self.data(value).items.as_ref().map(|items| items.to_vec())
    }

    /// Whether the value is a sequence or optional outside the graph.
    pub(crate) fn is_bundle(&self, value: Value) -> bool {
        self.data(value).items.is_some() || self.data(value).packed.is_some()
    }

    /// A copy of a sequence, for opsets where Identity takes none: inserts an element and removes it again.
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

    /// Outputs of bodies must be in the graph.
    pub fn check_bodies(&self, attrs: &[(&'static str, Attr)]) -> Result<()> {
        let bodies = attrs.iter().flat_map(|(_, attr)| attr.bodies());
        bodies.flat_map(|body| &body.outputs).try_for_each(|value| self.check_in_graph(*value))
    }

    /// Checks that a value is in the graph.
    pub(crate) fn check_in_graph(&self, value: Value) -> Result<()> {
        if !self.is_bundle(value) {
            return Ok(());
        }
        let (what, since) = match self.ty(value) {
            Type::Optional(_) => ("optionals", 15),
            _ => ("sequences", 11),
        };
        let message = format!("opsets before {since} have no {what}, and this one cannot be replaced by its elements");
        Err(Error::refused(message, Some(since)))
    }
}
