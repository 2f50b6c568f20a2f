//! `passes/constants.rs`.

use super::net::{Net, floats_of, ops, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;

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

/// What becomes of a cast of `count` integers of 8 bits.
fn widened(count: i64) -> Vec<&'static str> {
    let mut net = Net::new(18);
    let (x, codes) = (net.input(&[count]), net.bytes(Dtype::Int8, &[count]));
    let floats = net.cast(codes, Dtype::Float32);
    let y = net.op("Mul", &[x, floats]);
    ops(net, y)
}

#[test]
fn integers_do_not_become_larger() {
    assert_eq!(widened(200), ["Mul"]);
    assert_eq!(widened(300), ["Cast", "Mul"]);
}

#[test]
fn what_others_read_too_is_not_replaced() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[3000]), net.weight(&[3000]));
    let half = net.op("Sqrt", &[w]);
    let a = net.op("Mul", &[x, half]);
    let y = net.op("Add", &[a, w]);
    assert_eq!(ops(net, y), ["Sqrt", "Mul", "Add"]);
}
