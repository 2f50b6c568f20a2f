//! The graph under construction: its values, and the scopes of its bodies.

pub(crate) mod bodies;
mod edit;
mod finish;
pub(crate) mod function;
pub(crate) mod live;
mod names;

use std::sync::Arc;

use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Node, Source, Type, Value};
use rustc_hash::FxHashMap;

use crate::build::Builder;
use crate::build::node::reuse;
use crate::build::sizes::symbols;

/// Weights of no more bytes are like constants: what is computed from them may be larger.
const SMALLEST: u64 = 256;

/// What is known of a value while the graph is built.
pub(crate) struct ValueData {
    pub(crate) ty: Type,
    pub(crate) source: Source,
    /// The known elements of a small integer or boolean tensor with at most one dimension.
    pub(crate) content: Option<Arc<[SymInt]>>,
    /// The elements of a sequence or optional that is not in the graph.
    pub(crate) items: Option<Arc<[Value]>>,
    /// The tensors that a sequence outside the graph is packed in.
    pub(crate) packed: Option<[Value; 2]>,
    /// The suggested name.
    pub(crate) name: Option<Arc<str>>,
    /// The scope that it was made in.
    pub(crate) scope: u32,
    /// The origin that was current when it was made.
    pub(crate) origin: u32,
    /// The value that a wrapped number duplicates; only rules see the wrapped one.
    pub(crate) stands_for: Option<Value>,
    /// It is a constant or a weight, or follows from these alone.
    pub(crate) is_folded: bool,
    /// It is a weight of some size, or a constant that was computed from one.
    pub(crate) follows_weight: bool,
}

/// A graph or body under construction. Its caches are visible in nested scopes.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) id: u32,
    pub(crate) inputs: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) reuse: FxHashMap<reuse::Key, Vec<Value>>,
    /// Where the values of symbols are found.
    pub(crate) bindings: FxHashMap<Arc<str>, symbols::Bound>,
    /// Expressions that are dimensions of values.
    pub(crate) dims: FxHashMap<SymInt, (Value, usize)>,
    /// Sizes that exist in the graph as 0-dim values.
    pub(crate) sizes: FxHashMap<SymInt, Value>,
}

impl Builder {
    pub(crate) fn scope(&self) -> Option<&Scope> {
        self.scopes.last()
    }

    pub(crate) fn scope_mut(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(crate) fn add_value(&mut self, ty: Type, source: Source, content: Option<Arc<[SymInt]>>) -> Value {
        let scope = match source {
            // Constants and weights are initializers of the whole graph.
            Source::Constant(_) | Source::Weight(_) => 0,
            Source::Input | Source::Node => self.scope().map_or(0, |s| s.id),
        };
        let value = Value::new(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        let origin = self.origins.current;
        let (items, packed, name, stands_for) = (None, None, None, None);
        let is_folded = matches!(source, Source::Constant(_) | Source::Weight(_));
        let follows_weight =
            matches!(&source, Source::Weight(weight) if weight.byte_len().is_some_and(|len| len > SMALLEST));
        let data = ValueData {
            ty,
            source,
            content,
            items,
            packed,
            name,
            scope,
            origin,
            stands_for,
            is_folded,
            follows_weight,
        };
        self.values.push(data);
        value
    }

    pub(crate) fn data(&self, value: Value) -> &ValueData {
        &self.values[value.index()]
    }

    pub(crate) fn data_mut(&mut self, value: Value) -> &mut ValueData {
        &mut self.values[value.index()]
    }
}
