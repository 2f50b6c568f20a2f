//! `mappings/fuse/products.opmap`.

use super::net::{Net, ops};

#[test]
fn a_product_and_its_sum_are_one() {
    let mut net = Net::new(18);
    let (x, z, b) = (net.open_input(&[-1, 4]), net.input(&[3, 4]), net.input(&[3]));
    let t = net.transposed(z, &[1, 0]);
    let a = net.op("MatMul", &[x, t]);
    let y = net.op("Add", &[b, a]);
    assert_eq!(ops(net, y), ["Gemm"]);
}

#[test]
fn more_dimensions_and_broadcasting_stay() {
    let mut net = Net::new(18);
    let (x, z, b) = (net.input(&[1, 4]), net.input(&[4, 3]), net.input(&[2, 3]));
    let a = net.op("MatMul", &[x, z]);
    let y = net.op("Add", &[a, b]);
    assert_eq!(ops(net, y), ["MatMul", "Add"]);
    let mut net = Net::new(18);
    let (x, z, b) = (net.input(&[5, 2, 4]), net.input(&[4, 3]), net.input(&[3]));
    let a = net.op("MatMul", &[x, z]);
    let y = net.op("Add", &[a, b]);
    assert_eq!(ops(net, y), ["MatMul", "Add"]);
}
