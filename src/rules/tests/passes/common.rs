//! `passes/common.rs`.

use super::net::{Net, ops};

#[test]
fn equal_nodes_are_one() {
    let mut net = Net::new(18);
    let x = net.input(&[2, 3]);
    let (a, b) = (net.op("Exp", &[x]), net.op("Exp", &[x]));
    let y = net.op("Sub", &[a, b]);
    assert_eq!(ops(net, y), ["Exp", "Sub"]);
}

#[test]
fn random_nodes_and_other_inputs_stay() {
    let mut net = Net::new(18);
    let (x, y) = (net.input(&[2, 3]), net.input(&[2, 3]));
    let (a, b) = (net.op("RandomNormalLike", &[x]), net.op("RandomNormalLike", &[x]));
    let (c, d) = (net.op("Exp", &[x]), net.op("Exp", &[y]));
    let left = net.op("Mul", &[a, c]);
    let right = net.op("Mul", &[b, d]);
    let y = net.op("Add", &[left, right]);
    assert_eq!(ops(net, y).len(), 7);
}
