//! Reuses cheap nodes instead of making them twice: shape arithmetic and casts.

use crate::build::{Builder, NodeCall};
use aten2onnx_onnx::graph::{Attr, Value};
use aten2onnx_onnx::schema::{self, Shared};

/// Identifies equal calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    op: &'static str,
    inputs: Vec<Option<Value>>,
    attrs: Vec<(&'static str, Vec<i64>)>,
}

impl Builder {
    /// The key of a call that may be shared.
    pub(crate) fn reuse_key(&self, call: &NodeCall) -> Option<Key> {
        let on_sizes = || call.inputs.iter().flatten().all(|v| self.content(*v).is_some());
        let is_shared = match schema::facts(call.op).shared {
            Shared::Never => false,
            Shared::Sizes => on_sizes(),
            Shared::Always => true,
        };
        if !is_shared {
            return None;
        }
        let mut attrs = Vec::with_capacity(call.attrs.len());
        for (name, attr) in &call.attrs {
            match attr {
                Attr::Int(n) => attrs.push((*name, vec![*n])),
                Attr::Ints(ns) => attrs.push((*name, ns.clone())),
                _ => return None,
            }
        }
        attrs.sort();
        Some(Key { op: call.op, inputs: call.inputs.clone(), attrs })
    }

    /// The results of an equal call in this or an enclosing scope.
    pub(crate) fn reused(&self, key: &Key) -> Option<Vec<Value>> {
        self.scopes.iter().rev().find_map(|s| s.reuse.get(key)).cloned()
    }

    /// Notes that results are those of a node with this origin as well.
    pub(crate) fn share(&mut self, values: &[Value], origin: u32) {
        for value in values {
            let sharers = self.sharers.entry(*value).or_default();
            if sharers.last() != Some(&origin) {
                sharers.push(origin);
            }
        }
    }

    /// Notes that a result stands for another one, for those who share that.
    pub(crate) fn share_as(&mut self, old: Value, new: Value) {
        if let Some(sharers) = self.sharers.remove(&old) {
            self.sharers.entry(new).or_default().extend(sharers);
        }
    }

    pub(crate) fn remember(&mut self, key: Option<Key>, values: &[Value]) {
        if let Some(key) = key {
            self.scope_mut().reuse.insert(key, values.to_vec());
        }
    }
}
