//! `passes/constants.rs`.

use super::net::{Net, floats_of, ops, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::Attr;

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
    let (large, shape) = (net.weight(&[3000, 3000]), net.ints(&[400, 400]));
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

#[test]
fn codes_that_are_computed_stay_integers() {
    let mut net = Net::new(18);
    let (x, codes) = (net.input(&[3000]), net.bytes(Dtype::Uint8, &[3000]));
    let least = net.stored(Dtype::Uint8, &[], vec![16]);
    let high = net.op("Max", &[codes, least]);
    let floats = net.cast(high, Dtype::Float32);
    let y = net.op("Mul", &[x, floats]);
    assert_eq!(ops(net, y), ["Cast", "Mul"]);
}

#[test]
fn what_follows_from_no_weight_may_grow() {
    let mut net = Net::new(18);
    let (x, shape) = (net.input(&[120, 60]), net.ints(&[60, 60]));
    let (zero, one) = (net.floats(&[], &[0.0]), net.floats(&[], &[1.0]));
    let (zeros, ones) = (net.op("Expand", &[zero, shape]), net.op("Expand", &[one, shape]));
    let [start, middle, end] = [0, 30, 60].map(|row| net.ints(&[row]));
    let (first, last) = (net.op("Slice", &[zeros, start, middle]), net.op("Slice", &[zeros, middle, end]));
    let axis = vec![("axis", Attr::Int(0))];
    let mask = net.with("Concat", &[first, ones, last], axis);
    let y = net.op("Add", &[x, mask]);
    assert_eq!(ops(net, y), ["Add"]);
}

#[test]
fn large_tensors_of_one_number_are_not_stored() {
    let mut net = Net::new(18);
    let (x, shape, two) = (net.input(&[50, 50]), net.ints(&[50, 50]), net.floats(&[], &[2.0]));
    let base = net.op("Expand", &[two, shape]);
    let y = net.op("Pow", &[base, x]);
    assert_eq!(ops(net, y), ["Expand", "Pow"]);
}

#[test]
fn relative_positions_are_looked_up_once() {
    let mut net = Net::new(18);
    let (x, table) = (net.input(&[2401, 3]), net.weight(&[169, 3]));
    let indices = (0..2401i64).flat_map(|i| (i % 169).to_le_bytes()).collect();
    let indices = net.stored(Dtype::Int64, &[2401], indices);
    let bias = net.op("Gather", &[table, indices]);
    let y = net.op("Add", &[x, bias]);
    assert_eq!(ops(net, y), ["Add"]);
}
