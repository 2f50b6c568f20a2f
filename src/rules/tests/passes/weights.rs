//! `passes/weights.rs`.

use super::net::{Net, floats_of, ops, ops_of};
use aten2onnx_builder::passes::Passes;

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
    assert_eq!(ops(net, y), ["ReduceMax", "Add"]);
}
