//! `mappings/fuse/algebra.opmap`.

use super::net::{Net, ops};

#[test]
fn reciprocals_negatives_and_factors_are_joined() {
    let mut net = Net::new(18);
    let (x, z) = (net.input(&[2, 3]), net.input(&[3]));
    let (half, three) = (net.floats(&[], &[0.5]), net.floats(&[], &[3.0]));
    let r = net.op("Reciprocal", &[z]);
    let a = net.op("Mul", &[r, x]);
    let n = net.op("Neg", &[z]);
    let b = net.op("Add", &[a, n]);
    let c = net.op("Mul", &[b, half]);
    let y = net.op("Mul", &[three, c]);
    assert_eq!(ops(net, y), ["Div", "Sub", "Mul"]);
}

#[test]
fn what_others_read_or_overflows_stays() {
    let mut net = Net::new(18);
    let (x, z) = (net.input(&[2, 3]), net.input(&[3]));
    let (large, larger) = (net.floats(&[], &[1e30]), net.floats(&[], &[1e20]));
    let r = net.op("Reciprocal", &[z]);
    let a = net.op("Mul", &[r, x]);
    let b = net.op("Add", &[a, r]);
    let c = net.op("Mul", &[b, large]);
    let y = net.op("Mul", &[c, larger]);
    assert_eq!(ops(net, y), ["Reciprocal", "Mul", "Add", "Mul", "Mul"]);
}
