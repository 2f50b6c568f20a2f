//! Common subexpression elimination: merges nodes with the same operator, inputs and attributes.
//!
//! Equal nodes of which other optional outputs are read become one with all of these: ONNX Runtime's own pass (1.31) takes an output that one of them
//! lacks for the output of the other, and then cannot load the model.
//!
//! It must not merge random nodes or nodes with bodies, nor nodes whose results depend on which outputs they have.

use rustc_hash::FxHashMap;

use aten2onnx_onnx::graph::{Attr, Node, Value};
use aten2onnx_onnx::schema::{self, PortKind};

/// Operators whose results differ in each run.
const RANDOM: &[&str] =
    &["Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"];

/// Operators that compute something else if they have optional outputs: up to opset 13, these choose the training mode.
const CHOOSE_BY_OUTPUTS: &[&str] = &["BatchNormalization"];

/// The nodes seen so far, in the graph and in the open bodies.
#[derive(Default)]
pub(super) struct Seen {
    scopes: Vec<FxHashMap<Key, Vec<Option<Value>>>>,
}

/// The result of a lookup.
pub(super) enum Known {
    /// An equal node has these results. It may lack optional ones.
    Same(Vec<Option<Value>>),
    /// There is no equal node.
    New,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: &'static str,
    inputs: Vec<Option<Value>>,
    attrs: Vec<(&'static str, Plain)>,
    /// Which outputs there are, if that is part of what the node computes.
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

    /// Notes that an equal node has these results now.
    pub(super) fn extend(&mut self, node: &Node, outputs: &[Option<Value>]) {
        let Some(key) = key(node) else { return };
        if let Some(found) = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(&key)) {
            *found = outputs.to_vec();
        }
    }
}

fn key(node: &Node) -> Option<Key> {
    if RANDOM.contains(&node.op) {
        return None;
    }
    let attrs = node.attrs.iter().map(|(name, attr)| Some((*name, plain(attr)?))).collect::<Option<_>>()?;
    let outputs =
        if is_same_without_some(node) { Vec::new() } else { node.outputs.iter().map(Option::is_some).collect() };
    Some(Key { op: node.op, inputs: node.inputs.clone(), attrs, outputs })
}

/// Whether a node computes the same, whichever of its optional outputs it has.
fn is_same_without_some(node: &Node) -> bool {
    let ports = schema::find(node.op).and_then(|op| op.versions.last()).map_or(&[][..], |version| version.outputs);
    let is_counted = ports.iter().any(|port| port.kind == PortKind::Variadic);
    let has_optional = ports.iter().any(|port| port.kind == PortKind::Optional);
    has_optional && !is_counted && !CHOOSE_BY_OUTPUTS.contains(&node.op)
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
