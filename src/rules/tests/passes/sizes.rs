//! `passes/sizes.rs`.

use super::net::{Net, ops};
use aten2onnx_onnx::graph::Attr;

#[test]
fn the_same_size_is_computed_once() {
    let mut net = Net::new(18);
    let x = net.open_input(&[-1, 3]);
    let z = net.op("Relu", &[x]);
    let zero = net.ints(&[0]);
    let a = net.op("Shape", &[x]);
    let a = net.op("Gather", &[a, zero]);
    let b = net.with("Shape", &[z], vec![("end", Attr::Int(1))]);
    let y = net.op("Add", &[a, b]);
    assert_eq!(ops(net, y), ["Shape", "Gather", "Add"]);
}

#[test]
fn sizes_that_may_differ_are_two() {
    let mut net = Net::new(18);
    let x = net.open_input(&[-1, -1]);
    let a = net.with("Shape", &[x], vec![("end", Attr::Int(1))]);
    let b = net.with("Shape", &[x], vec![("start", Attr::Int(1))]);
    let y = net.op("Add", &[a, b]);
    assert_eq!(ops(net, y), ["Shape", "Shape", "Add"]);
    let mut net = Net::new(18);
    let x = net.input(&[7]);
    let z = net.input(&[7]);
    let (a, b) = (net.op("NonZero", &[x]), net.op("NonZero", &[z]));
    let (a, b) = (net.op("Shape", &[a]), net.op("Shape", &[b]));
    let y = net.op("Add", &[a, b]);
    assert_eq!(ops(net, y).len(), 5);
}
