//! Common subexpression elimination: merges nodes with the same operator, inputs and attributes.
//!
//! It must not merge random nodes or nodes with bodies.

use rustc_hash::FxHashMap;

use aten2onnx_onnx::graph::{Attr, Node, Value};

/// Operators whose results differ in each run.
const RANDOM: &[&str] =
    &["Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"];

/// The nodes seen so far, in the graph and in the open bodies.
#[derive(Default)]
pub(super) struct Seen {
    scopes: Vec<FxHashMap<Key, Vec<Option<Value>>>>,
}

/// The result of a lookup.
pub(super) enum Known {
    /// An equal node has these results.
    Same(Vec<Option<Value>>),
    /// There is no equal node.
    New,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: &'static str,
    inputs: Vec<Option<Value>>,
    attrs: Vec<(&'static str, Plain)>,
    outputs: Vec<bool>,
}

/// An attribute that can be compared and hashed.
#[derive(PartialEq, Eq, Hash)]
enum Plain {
    Bits(Vec<u64>),
    Ints(Vec<i64>),
    Texts(Vec<String>),
    Tensor(Value),
}

impl Seen {
    /// Opens a body; the nodes around it stay visible.
    pub(super) fn open(&mut self) {
        self.scopes.push(FxHashMap::default());
    }

    /// Closes a body.
    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    /// Forgets a node whose results are about to change.
    pub(super) fn forget(&mut self, node: &Node) {
        let Some(key) = key(node) else { return };
        for scope in &mut self.scopes {
            scope.remove(&key);
        }
    }

    /// Looks for an equal node; records this one if there is none.
    pub(super) fn find(&mut self, node: &Node) -> Known {
        let Some(key) = key(node) else { return Known::New };
        if let Some(found) = self.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
            return Known::Same(found.clone());
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(key, node.outputs.clone());
        }
        Known::New
    }
}

fn key(node: &Node) -> Option<Key> {
    if RANDOM.contains(&node.op) {
        return None;
    }
    let attrs = node.attrs.iter().map(|(name, attr)| Some((*name, plain(attr)?))).collect::<Option<_>>()?;
    let outputs = node.outputs.iter().map(Option::is_some).collect();
    Some(Key { op: node.op, inputs: node.inputs.clone(), attrs, outputs })
}

fn plain(attr: &Attr) -> Option<Plain> {
    Some(match attr {
        Attr::Float(x) => Plain::Bits(vec![x.to_bits()]),
        Attr::Floats(xs) => Plain::Bits(xs.iter().map(|x| x.to_bits()).collect()),
        Attr::Int(n) => Plain::Ints(vec![*n]),
        Attr::Ints(ns) => Plain::Ints(ns.clone()),
        Attr::Str(text) => Plain::Texts(vec![text.clone()]),
        Attr::Strs(texts) => Plain::Texts(texts.clone()),
        Attr::Tensor(value) => Plain::Tensor(*value),
        Attr::Graph(_) | Attr::Graphs(_) | Attr::Message(_) => return None,
    })
}
