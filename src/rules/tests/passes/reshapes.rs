//! `passes/reshapes.rs`.

use super::net::{Net, ops};

#[test]
fn a_chain_is_one_reshape_or_none() {
    let mut net = Net::new(18);
    let x = net.input(&[2, 1, 6]);
    let (shape, axes, last) = (net.ints(&[3, 4]), net.ints(&[1]), net.ints(&[0, 2, 3]));
    let a = net.op("Squeeze", &[x, axes]);
    let b = net.op("Reshape", &[a, shape]);
    let c = net.op("Unsqueeze", &[b, last]);
    let y = net.op("Exp", &[c]);
    assert_eq!(ops(net, y), ["Reshape", "Exp"]);
    let mut net = Net::new(11);
    let x = net.open_input(&[-1, 6]);
    let axes = net.ints(&[1]);
    let a = net.op("Unsqueeze", &[x, axes]);
    let b = net.op("Squeeze", &[a, axes]);
    let y = net.op("Exp", &[b]);
    assert_eq!(ops(net, y), ["Exp"]);
}

#[test]
fn a_chain_stays_where_sizes_are_not_known() {
    let mut net = Net::new(18);
    let (x, shape) = (net.open_input(&[-1, -1, 6]), net.ints(&[-1]));
    let a = net.op("Reshape", &[x, shape]);
    let (sizes, one) = (net.op("Shape", &[x]), net.ints(&[1]));
    let mixed = net.with("Concat", &[sizes, one], vec![("axis", 0.into())]);
    let mixed = net.op("Mul", &[mixed, one]);
    let b = net.op("Reshape", &[a, mixed]);
    let y = net.op("Exp", &[b]);
    // [s0, s1, 6, 1] can be expressed with two zeros.
    assert_eq!(ops(net, y), ["Reshape", "Exp"]);
    let mut net = Net::new(18);
    let (x, shape) = (net.open_input(&[-1, -1, 6]), net.ints(&[-1]));
    let a = net.op("Reshape", &[x, shape]);
    let sizes = net.op("Shape", &[x]);
    let (start, end, axis) = (net.ints(&[-1]), net.ints(&[i64::MIN]), net.ints(&[0]));
    let step = net.ints(&[-1]);
    let turned = net.op("Slice", &[sizes, start, end, axis, step]);
    let b = net.op("Reshape", &[a, turned]);
    let y = net.op("Exp", &[b]);
    // [6, s1, s0]: -1 for s0 would be wrong if s1 were 0.
    assert_eq!(ops(net, y).iter().filter(|op| **op == "Reshape").count(), 2);
}

#[test]
fn leading_ones_go_where_the_operand_is_broadcast() {
    let mut net = Net::new(18);
    let (x, z) = (net.input(&[2, 3, 4]), net.input(&[4]));
    let axes = net.ints(&[0, 1]);
    let a = net.op("Unsqueeze", &[z, axes]);
    let y = net.op("Add", &[x, a]);
    assert_eq!(ops(net, y), ["Add"]);
    let mut net = Net::new(18);
    let (x, z) = (net.input(&[4]), net.input(&[4]));
    let axes = net.ints(&[0]);
    let a = net.op("Unsqueeze", &[z, axes]);
    let y = net.op("Add", &[x, a]);
    assert_eq!(ops(net, y), ["Unsqueeze", "Add"]);
}
