//! `passes/filled.rs`.

use super::net::{Net, ops};
use aten2onnx_onnx::graph::Attr;

#[test]
fn a_part_of_zeros_is_zeros_of_its_own() {
    let mut net = Net::new(18);
    let x = net.open_input(&[-1, 6]);
    let (sizes, four) = (net.op("Shape", &[x]), net.ints(&[4]));
    let shape = net.with("Concat", &[sizes, four], vec![("axis", Attr::Int(0))]);
    let zeros = net.op("ConstantOfShape", &[shape]);
    let part = {
        let (from, to, axis) = (net.ints(&[0]), net.ints(&[2]), net.ints(&[-1]));
        net.op("Slice", &[zeros, from, to, axis])
    };
    let y = net.op("Relu", &[part]);
    assert_eq!(ops(net, y), ["Shape", "Concat", "ConstantOfShape", "Relu"]);
}
