//! The quantized weights of a model as they are written: how many, in which dtypes, and the bits that each takes with its scale.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use serde::Serialize;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Storage, Weight};
use aten2onnx_onnx::graph::{Graph, Node, Source, Value};
use aten2onnx_onnx::schema::{self, Function, Shape};

/// Smaller tensors are scales, zero points and tables.
const SMALLEST: u64 = 1024;

/// The quantized weights of a model, as they are written at an opset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantized {
    /// Tensors by what they are written as, such as `int4`, or `4 bits in uint8`.
    pub dtypes: BTreeMap<String, Stored>,
    /// The bytes of their scales and zero points.
    pub scale_bytes: u64,
    /// The bits of each quantized weight, with its share of scales and zero points.
    pub bits_per_weight: f64,
    /// The bytes of all weights of the model, also those that are not quantized.
    pub all_bytes: u64,
}

/// Tensors of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// Tensors.
    pub tensors: usize,
    /// Numbers in them.
    pub weights: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Quantized {
    /// Those of a graph; None if there are none.
    pub(super) fn of(graph: &Graph) -> Option<Quantized> {
        let mut dtypes: BTreeMap<String, Stored> = BTreeMap::new();
        let (mut codes, mut all_bytes) = (FxHashSet::default(), 0u64);
        for value in &graph.initializers {
            all_bytes = all_bytes.saturating_add(bytes(graph, *value));
            let Some(weight) = graph.weight(*value) else { continue };
            let Some((kind, count)) = kind(weight) else { continue };
            codes.insert(*value);
            let stored = dtypes.entry(kind).or_default();
            stored.tensors += 1;
            stored.weights = stored.weights.saturating_add(count);
            stored.bytes = stored.bytes.saturating_add(bytes(graph, *value));
        }
        if codes.is_empty() {
            return None;
        }
        let scale_bytes = scales(graph, codes);
        let sum = |number: fn(&Stored) -> u64| dtypes.values().map(number).fold(0, u64::saturating_add);
        let (weights, code_bytes) = (sum(|stored| stored.weights), sum(|stored| stored.bytes));
        let bits_per_weight = 8.0 * (code_bytes as f64 + scale_bytes as f64) / weights as f64;
        Some(Quantized { dtypes, scale_bytes, bits_per_weight, all_bytes })
    }
}

fn bytes(graph: &Graph, value: Value) -> u64 {
    match &graph.info(value).source {
        Source::Weight(weight) => weight.byte_len().unwrap_or(u64::MAX),
        Source::Constant(constant) => constant.len() as u64,
        Source::Input | Source::Node => 0,
    }
}

/// What quantized numbers are written as, and how many they are.
fn kind(weight: &Weight) -> Option<(String, u64)> {
    let elements = weight.sizes.iter().try_fold(1u64, |n, size| n.checked_mul(u64::try_from(*size).ok()?))?;
    let count = match &weight.storage {
        Storage::Digits(digits) => digits.count(),
        _ => elements,
    };
    let is_narrow = weight.dtype.bits() <= 8 && weight.dtype != Dtype::Bool;
    if !is_narrow || count < SMALLEST {
        return None;
    }
    let name = match count / elements.max(1) {
        0 | 1 => weight.dtype.to_string(),
        several => format!("{} bits in {}", u64::from(weight.dtype.bits()) / several, weight.dtype),
    };
    Some((name, count))
}

/// The bytes of what quantized numbers are multiplied with, and of what is subtracted from them.
fn scales(graph: &Graph, mut codes: FxHashSet<Value>) -> u64 {
    let mut found: FxHashSet<Value> = FxHashSet::default();
    graph.body.visit(&mut |node| {
        let reads = node.inputs.iter().flatten().any(|value| codes.contains(value));
        let role = role(node).filter(|_| reads);
        let Some(role) = role else { return };
        let others = node.inputs.iter().skip(role.from).take(role.count).flatten();
        let others: Vec<Value> =
            others.copied().filter(|value| !codes.contains(value) && stored(graph, *value)).collect();
        if !role.ends || others.is_empty() {
            codes.extend(node.outputs.iter().flatten());
        }
        found.extend(others);
    });
    found.into_iter().map(|value| bytes(graph, value)).fold(0, u64::saturating_add)
}

fn stored(graph: &Graph, value: Value) -> bool {
    matches!(graph.info(value).source, Source::Weight(_) | Source::Constant(_))
}

/// Which inputs of a node are scales and zero points of the quantized numbers among its inputs.
struct Role {
    from: usize,
    count: usize,
    /// Whether its result has no further scale.
    ends: bool,
}

fn role(node: &Node) -> Option<Role> {
    let of = |from, count, ends| Some(Role { from, count, ends });
    match node.op {
        "DequantizeLinear" => of(1, 2, true),
        "com.microsoft::MatMulNBits" => of(2, 2, true),
        "com.microsoft::GatherBlockQuantized" => of(2, 2, true),
        "Mul" => of(0, 2, true),
        "Sub" | "Add" => of(0, 2, false),
        "MatMulInteger" => of(3, 1, false),
        op if keeps_codes(op) => of(0, 0, false),
        _ => None,
    }
}

/// Whether the result of an operator on quantized numbers still needs their scale: it moves, cuts out, casts or multiplies them.
fn keeps_codes(op: &str) -> bool {
    let facts = schema::facts(op);
    let of_bits = matches!(facts.computes, Some(Function::Shift | Function::BitAnd));
    of_bits || !facts.moves.is_empty() || matches!(facts.shape, Shape::Cast | Shape::MatMul)
}
