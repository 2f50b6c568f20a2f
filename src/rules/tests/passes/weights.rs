//! `passes/weights.rs`.

use super::net::{Net, floats_of, ops, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_onnx::graph::{Attr, Source, Value};

#[test]
fn weights_are_transposed_where_they_lie() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[5, 2, 3]), net.weight(&[4, 3]));
    let t = net.transposed(w, &[1, 0]);
    let y = net.op("MatMul", &[x, t]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph), ["MatMul"]);
    let weight = floats_of(&graph, graph.body.nodes[0].inputs[1].unwrap());
    assert_eq!(weight[..5], [1.0, 1.75, 2.5, 3.25, 1.25]);
}

fn large(passes: Passes, reads: usize) -> Vec<&'static str> {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[5, 2, 300]), net.weight(&[400, 300]));
    let t = net.transposed(w, &[1, 0]);
    let mut y = net.op("MatMul", &[x, t]);
    if reads > 1 {
        let index = net.ints(&[3]);
        let row = net.op("Gather", &[w, index]);
        let sum = net.op("ReduceSum", &[row]);
        y = net.op("Add", &[y, sum]);
    }
    ops_of(&net.finished(passes, y))
}

#[test]
fn weights_are_not_written_twice_nor_anew_where_they_are_to_stay() {
    assert_eq!(large(Passes::ALL, 1), ["MatMul"]);
    assert!(large(Passes::ALL, 2).contains(&"Transpose"));
    assert!(large(Passes { keep_weights: true, ..Passes::ALL }, 1).contains(&"Transpose"));
    let mut net = Net::new(18);
    let (x, w, shape) = (net.input(&[5, 2, 3]), net.weight(&[300, 400]), net.ints(&[1, 120_000]));
    let flat = net.op("Reshape", &[w, shape]);
    let sum = net.op("ReduceMax", &[flat]);
    let y = net.op("Add", &[x, sum]);
    assert_eq!(ops(net, y), ["Add"]);
}

/// Products of two inputs with one weight, of which the second reads it as it is. How many weights the graph has, and of which sizes.
fn shared(perms: [&[i64]; 2], sizes: &[i64], gemm: bool) -> (Vec<&'static str>, Vec<Vec<i64>>) {
    let mut net = Net::new(18);
    let (x, z, w) = (net.input(&[5, 2, 80]), net.input(&[2, 80]), net.weight(sizes));
    let first = net.transposed(w, perms[0]);
    let first = net.op("MatMul", &[x, first]);
    let second = match gemm {
        true => net.with("Gemm", &[z, w], vec![("transB", Attr::Int(1))]),
        false => {
            let again = net.transposed(w, perms[1]);
            net.op("MatMul", &[x, again])
        }
    };
    let sum = net.op("Add", &[first, second]);
    let graph = net.finished(Passes::ALL, sum);
    let mut read: Vec<Value> = graph.body.nodes.iter().flat_map(|node| node.inputs.iter().flatten().copied()).collect();
    read.sort();
    read.dedup();
    let weights = read.into_iter().filter(|value| matches!(graph.info(*value).source, Source::Weight(_)));
    let sizes = weights.filter_map(|value| graph.info(value).ty.known_sizes()).collect();
    (ops_of(&graph), sizes)
}

#[test]
fn a_weight_that_two_nodes_read_is_written_once() {
    let (ops, weights) = shared([&[1, 0], &[1, 0]], &[7, 80], false);
    assert_eq!((ops.len(), weights), (2, vec![vec![80, 7]]), "{ops:?}: both are the same product");
    let (ops, weights) = shared([&[1, 0], &[1, 0]], &[7, 80], true);
    assert_eq!((ops, weights), (vec!["MatMul", "Gemm", "Add"], vec![vec![80, 7]]));
    // More than is turned: the product of matrices keeps its layout, and the other node transposes.
    let (ops, weights) = shared([&[1, 0], &[1, 0]], &[70_000, 80], true);
    assert!(ops.contains(&"Transpose"), "{ops:?}");
    assert_eq!(weights, [[70_000, 80]]);
}

#[test]
fn a_weight_that_is_read_in_two_layouts_is_written_once() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[5, 2, 80]), net.weight(&[80, 80]));
    let turned = net.transposed(w, &[1, 0]);
    let first = net.op("MatMul", &[x, turned]);
    let y = net.op("MatMul", &[first, w]);
    assert_eq!(ops(net, y), ["Transpose", "MatMul", "MatMul"]);
}
