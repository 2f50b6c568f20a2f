//! Sequences and optionals below the opsets that have them: lists of values that the builder keeps to itself. Whoever reads their
//! elements gets them straight; a node that wants the whole is refused.

use std::sync::Arc;

use super::Builder;
use crate::error::{Error, Result};
use crate::graph::{Source, Type, Value};

impl Builder {
    /// A sequence or optional that is not in the graph.
    pub(crate) fn bundle(&mut self, ty: Type, items: &[Value]) -> Value {
        let items: Arc<[Value]> = items.iter().map(|item| self.plain(*item)).collect();
        let bundle = self.add_value(ty, Source::Node, None);
        self.data_mut(bundle).items = Some(items);
        bundle
    }

    /// The elements, where they are known one by one.
    pub(crate) fn items(&self, value: Value) -> Option<Vec<Value>> {
        self.data(value).items.as_ref().map(|items| items.to_vec())
    }

    /// What goes into the graph must be in it.
    pub(super) fn check_tangible(&self, value: Value) -> Result<()> {
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
