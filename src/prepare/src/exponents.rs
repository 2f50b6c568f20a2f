//! Scales of MX formats (`float8_e8m0fnu`), as the bytes of their exponents: models only move them about and view them as `uint8`, which every
//! opset and runtime can do, while the dtype itself came with opset 24.
//!
//! Takes and returns a [`Program`]. Afterwards no such scale has the dtype, unless an operator reads or makes its value, or it is an input or
//! output: then all stay as they are. Linear in the size of the program.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Weight;
use aten2onnx_program::visit;
use aten2onnx_program::{Arg, Graph, Node, Program};
use aten2onnx_rules::effects::{self, Sharing, View};

const EXPONENTS: Dtype = Dtype::Float8E8M0;
const BYTES: Dtype = Dtype::Uint8;

/// Views a dtype as another one.
const VIEW_AS: &str = "aten::view.dtype";
/// Operators that copy elements and change no dtype. Those that share memory are known as views.
const COPIES: &[&str] = &["aten::clone", "aten::contiguous", "aten::lift_fresh_copy"];

/// Gives scales that are only moved the dtype of their bytes.
pub fn as_bytes(program: &mut Program) {
    let graph = &program.graph;
    let mut scales: FxHashSet<String> = program
        .weights
        .iter()
        .filter(|bound| bound.weight.dtype == EXPONENTS)
        .map(|bound| bound.value.clone())
        .collect();
    scales.extend(graph.tensors.iter().filter(|(_, meta)| meta.dtype == EXPONENTS).map(|(name, _)| name.clone()));
    if scales.is_empty() || !are_only_moved(graph, &scales) {
        return;
    }
    // Tied weights stay one.
    let mut same: FxHashMap<*const Weight, Arc<Weight>> = FxHashMap::default();
    for bound in program.weights.iter_mut().filter(|bound| bound.weight.dtype == EXPONENTS) {
        let bytes = || Arc::new(Weight { dtype: BYTES, ..(*bound.weight).clone() });
        bound.weight = Arc::clone(same.entry(Arc::as_ptr(&bound.weight)).or_insert_with(bytes));
    }
    for meta in program.graph.tensors.values_mut().filter(|meta| meta.dtype == EXPONENTS) {
        meta.dtype = BYTES;
    }
    for (_, arg) in program.graph.nodes.iter_mut().flat_map(|node| &mut node.args) {
        if matches!(arg, Arg::Dtype(dtype) if *dtype == EXPONENTS) {
            *arg = Arg::Dtype(BYTES);
        }
    }
}

/// Whether all nodes that read or make scales move them, or view them as bytes or from bytes.
fn are_only_moved(graph: &Graph, scales: &FxHashSet<String>) -> bool {
    let is_scale = |name: &str| scales.contains(name);
    let is_outside = graph.inputs.iter().any(|input| is_scale(&input.name))
        || graph.outputs.iter().any(|output| any_name(&output.value, &is_scale));
    !is_outside && graph.nodes.iter().all(|node| !touches(node, &is_scale) || moves(graph, node))
}

fn any_name(arg: &Arg, is_scale: &dyn Fn(&str) -> bool) -> bool {
    let mut found = match arg {
        Arg::Dtype(dtype) => *dtype == EXPONENTS,
        Arg::Graph(nested) => nested.tensors.values().any(|meta| meta.dtype == EXPONENTS),
        _ => false,
    };
    visit::each_name(arg, &mut |name| found |= is_scale(name));
    found
}

/// Whether a node reads or makes scales, or may do so in a nested graph.
fn touches(node: &Node, is_scale: &dyn Fn(&str) -> bool) -> bool {
    node.args.iter().any(|(_, arg)| any_name(arg, is_scale)) || visit::results(node).any(is_scale)
}

fn moves(graph: &Graph, node: &Node) -> bool {
    let dtype = |name: &str| graph.tensors.get(name).map(|meta| meta.dtype);
    let is_byte = |name: &str| matches!(dtype(name), Some(EXPONENTS | BYTES));
    if node.target == VIEW_AS {
        let from = node.args.iter().find_map(|(_, arg)| if let Arg::Tensor(name) = arg { Some(name) } else { None });
        return from.is_some_and(|name| is_byte(name)) && visit::results(node).all(is_byte);
    }
    let is_view = |view: &View| !view.reinterprets && view.sharing != Sharing::IfDtype;
    let is_move = effects::view(&node.target).is_some_and(is_view) || COPIES.contains(&node.target.as_str());
    is_move && node.args.iter().all(|(_, arg)| !matches!(arg, Arg::Dtype(_)))
}
