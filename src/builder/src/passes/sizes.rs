//! Shape arithmetic: merges integer tensors with the same size expressions as elements, however they were computed.
//!
//! It must not treat two unknown sizes as equal.

use rustc_hash::FxHashMap;

use super::rewriter::Rewriter;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Node, Value};

/// The values so far, by dtype, rank and elements.
#[derive(Default)]
pub(super) struct Contents {
    scopes: Vec<FxHashMap<Known, Value>>,
}

/// Dtype, rank and elements.
type Known = (Dtype, usize, Vec<SymInt>);

impl Contents {
    /// Opens a body; the values around it stay visible.
    pub(super) fn open(&mut self) {
        self.scopes.push(FxHashMap::default());
    }

    /// Closes a body.
    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }
}

pub(super) fn merge_sizes(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    let content = cx.builder.content(result)?;
    // Known numbers become constants, which need no replacement.
    if content.iter().all(|size| size.known().is_some()) {
        return None;
    }
    let key = (cx.dtype(result), cx.rank(result)?, content.to_vec());
    if let Some(found) = cx.contents.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
        return Some(cx.resolved(*found));
    }
    cx.contents.scopes.last_mut()?.insert(key, result);
    None
}
