//! `passes/splits.rs`.

use super::net::{Net, ops};
use aten2onnx_onnx::graph::Value;

fn slice(net: &mut Net, x: Value, from: i64, to: i64) -> Value {
    let (from, to, axis) = (net.ints(&[from]), net.ints(&[to]), net.ints(&[-1]));
    net.op("Slice", &[x, from, to, axis])
}

#[test]
fn halves_are_split() {
    for opset in [11, 13, 18] {
        let mut net = Net::new(opset);
        let x = net.open_input(&[-1, 6]);
        let (a, b) = (slice(&mut net, x, -3, i64::MAX), slice(&mut net, x, 0, 3));
        let y = net.op("Mul", &[a, b]);
        assert_eq!(ops(net, y), ["Split", "Mul"]);
    }
}

#[test]
fn pieces_that_overlap_or_leave_some_stay() {
    for (from, to) in [(2, 6), (3, 5)] {
        let mut net = Net::new(18);
        let x = net.open_input(&[-1, 6]);
        let (a, b) = (slice(&mut net, x, 0, 3), slice(&mut net, x, from, to));
        let (a, b) = (net.op("ReduceSum", &[a]), net.op("ReduceSum", &[b]));
        let y = net.op("Mul", &[a, b]);
        assert_eq!(ops(net, y).iter().filter(|op| **op == "Slice").count(), 2);
    }
}
