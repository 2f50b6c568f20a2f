//! `passes/transposes.rs`.

use super::net::{Net, ops};

#[test]
fn transpositions_are_joined() {
    let mut net = Net::new(18);
    let x = net.input(&[2, 3, 4]);
    let a = net.transposed(x, &[1, 2, 0]);
    let b = net.transposed(a, &[1, 2, 0]);
    let y = net.op("Exp", &[b]);
    assert_eq!(ops(net, y), ["Transpose", "Exp"]);
}

#[test]
fn transpositions_meet_through_elementwise_operators() {
    let mut net = Net::new(18);
    let x = net.input(&[2, 3, 4]);
    let half = net.floats(&[], &[0.5]);
    let a = net.transposed(x, &[1, 2, 0]);
    let b = net.op("Relu", &[a]);
    let c = net.op("Mul", &[half, b]);
    let y = net.transposed(c, &[2, 0, 1]);
    assert_eq!(ops(net, y), ["Relu", "Mul"]);
}

#[test]
fn operands_that_are_transposed_alike_are_transposed_once() {
    let mut net = Net::new(18);
    let (x, z) = (net.input(&[2, 3]), net.input(&[2, 3]));
    let (a, b) = (net.transposed(x, &[1, 0]), net.transposed(z, &[1, 0]));
    let y = net.op("Add", &[a, b]);
    assert_eq!(ops(net, y), ["Add", "Transpose"]);
}

#[test]
fn transpositions_stay_where_others_read_between_or_operands_differ() {
    let mut net = Net::new(18);
    let (x, z) = (net.input(&[5, 2, 3]), net.input(&[5, 3, 2]));
    let a = net.transposed(x, &[0, 2, 1]);
    let b = net.op("Relu", &[a]);
    let c = net.op("Add", &[b, z]);
    let d = net.transposed(b, &[1, 2, 0]);
    let d = net.transposed(d, &[2, 1, 0]);
    let e = net.op("MatMul", &[c, d]);
    assert_eq!(ops(net, e), ["Transpose", "Relu", "Add", "Transpose", "MatMul"]);
}

#[test]
fn a_reshape_needs_no_transposition_of_ones_before_it() {
    let mut net = Net::new(18);
    let x = net.input(&[2, 1, 6]);
    let shape = net.ints(&[3, 4]);
    let a = net.transposed(x, &[1, 0, 2]);
    let y = net.op("Reshape", &[a, shape]);
    assert_eq!(ops(net, y), ["Reshape"]);
    let mut net = Net::new(18);
    let x = net.input(&[2, 1, 6]);
    let shape = net.ints(&[3, 4]);
    let a = net.transposed(x, &[2, 1, 0]);
    let y = net.op("Reshape", &[a, shape]);
    assert_eq!(ops(net, y), ["Transpose", "Reshape"]);
}
