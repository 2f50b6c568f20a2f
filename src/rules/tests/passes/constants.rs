//! `passes/constants.rs`.

use super::net::{Net, floats_of, ops, ops_of};
use aten2onnx_builder::passes::Passes;

#[test]
fn small_weights_are_computed_with() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[2, 3]), net.weight(&[3]));
    let four = net.floats(&[], &[4.0]);
    let a = net.op("Mul", &[w, four]);
    let b = net.op("Sqrt", &[a]);
    let y = net.op("Add", &[x, b]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph), ["Add"]);
    let sum = graph.body.nodes[0].inputs[1].unwrap();
    assert_eq!(floats_of(&graph, sum), [2.0, 5f32.sqrt(), 6f32.sqrt()]);
}

#[test]
fn what_is_large_or_depends_on_the_input_stays() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[2, 3]), net.weight(&[3]));
    let (large, shape) = (net.weight(&[300, 300]), net.ints(&[400, 400]));
    let a = net.op("Mul", &[w, x]);
    let b = net.op("Sqrt", &[large]);
    let one = net.floats(&[], &[1.5]);
    let c = net.op("Expand", &[one, shape]);
    let d = net.op("ReduceMean", &[b]);
    let e = net.op("ReduceMean", &[c]);
    let f = net.op("Add", &[a, d]);
    let y = net.op("Add", &[f, e]);
    assert_eq!(ops(net, y), ["Mul", "Sqrt", "Expand", "ReduceMean", "ReduceMean", "Add", "Add"]);
}
