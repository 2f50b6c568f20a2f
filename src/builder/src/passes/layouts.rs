//! Weights in one layout: a matrix that some nodes read transposed and Gemm as it is becomes transposed for all, and nodes that read the same
//! view of a weight read one value.
//!
//! It must not change a matrix that other nodes read as it is.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::build::Builder;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Node, Source, Value};

use super::rewriter::Rewriter;

/// How the weights of a graph are read.
#[derive(Default)]
pub(super) struct Layouts {
    readers: FxHashMap<Value, Readers>,
    made: FxHashMap<(Value, Vec<i64>, Vec<i64>), Value>,
}

/// The readers of a weight.
#[derive(Default)]
struct Readers {
    /// The order of dimensions that all Transpose nodes give it; None if they differ.
    perm: Option<Vec<i64>>,
    transposes: u32,
    /// Gemm nodes that read it as an operand.
    products: u32,
    others: u32,
}

impl Layouts {
    /// Looks at all nodes of a graph.
    pub(super) fn of(builder: &mut Builder, nodes: &[Node]) -> Layouts {
        let mut layouts = Layouts::default();
        layouts.note(builder, nodes);
        let results: Vec<Value> = builder.results_mut().map(|value| *value).collect();
        for value in results {
            layouts.other(builder, value);
        }
        layouts
    }

    fn note(&mut self, builder: &Builder, nodes: &[Node]) {
        for node in nodes {
            for (i, value) in node.inputs.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?))) {
                let reversed: Vec<i64> = (0..builder.ty(value).rank().unwrap_or(0) as i64).rev().collect();
                let Some(readers) = self.readers_of(builder, value) else { continue };
                match node.op {
                    "Transpose" => readers.transpose(node.ints("perm").unwrap_or(&reversed)),
                    "Gemm" if i < 2 => readers.products += 1,
                    _ => readers.others += 1,
                }
            }
            for body in node.bodies() {
                self.note(builder, &body.nodes);
                body.outputs.iter().for_each(|value| self.other(builder, *value));
            }
        }
    }

    fn readers_of(&mut self, builder: &Builder, value: Value) -> Option<&mut Readers> {
        matches!(builder.source(value), Source::Weight(_)).then(|| self.readers.entry(value).or_default())
    }

    fn other(&mut self, builder: &Builder, value: Value) {
        if let Some(readers) = self.readers_of(builder, value) {
            readers.others += 1;
        }
    }

    /// Whether all nodes that read a weight want it transposed in the same way, or are products of matrices that take either layout.
    pub(super) fn is_turned(&self, value: Value) -> bool {
        self.readers.get(&value).is_some_and(Readers::want_one)
    }

    /// Whether products of matrices read a weight that other nodes want transposed.
    pub(super) fn is_turned_for_products(&self, value: Value) -> bool {
        self.readers.get(&value).is_some_and(|readers| readers.products > 0 && readers.want_one())
    }
}

impl Readers {
    fn transpose(&mut self, perm: &[i64]) {
        match &self.perm {
            Some(known) if known != perm => self.others += 1,
            _ => {
                self.perm = Some(perm.to_vec());
                self.transposes += 1;
            }
        }
    }

    fn want_one(&self) -> bool {
        self.transposes > 0 && self.others == 0
    }
}

impl Rewriter<'_> {
    /// A view of a weight: the same value for all who ask for it.
    pub(super) fn view(&mut self, of: Value, made: Weight) -> Value {
        let key = (of, made.sizes.clone(), made.strides.clone());
        if let Some(value) = self.layouts.made.get(&key) {
            return *value;
        }
        let value = self.builder.weight(Arc::new(made));
        self.layouts.made.insert(key, value);
        value
    }
}
