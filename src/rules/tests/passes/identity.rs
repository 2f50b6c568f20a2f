//! `passes/identity.rs`.

use super::net::{Net, ops};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Constant, Type};

#[test]
fn what_changes_nothing_goes() {
    let mut net = Net::new(18);
    let x = net.open_input(&[-1, 4]);
    let (starts, ends, axes) = (net.ints(&[0]), net.ints(&[i64::MAX]), net.ints(&[1]));
    let a = net.op("Slice", &[x, starts, ends, axes]);
    let pads = net.ints(&[0; 4]);
    let b = net.op("Pad", &[a, pads]);
    let one = net.floats(&[], &[1.0]);
    let c = net.op("Mul", &[one, b]);
    let d = net.op("Div", &[c, one]);
    let y = net.op("Exp", &[d]);
    assert_eq!(ops(net, y), ["Exp"]);
}

#[test]
fn sums_and_logic_that_change_nothing_go() {
    let mut net = Net::new(18);
    let (x, z) = (net.typed(Type::sized(Dtype::Int64, &[3])), net.input(&[3]));
    let (nought, zero) = (net.ints(&[0]), net.floats(&[], &[0.0]));
    let a = net.op("Add", &[nought, x]);
    let less = net.op("Less", &[a, x]);
    let yes = net.builder.intern(Constant::new(Dtype::Bool, vec![], vec![1]));
    let no = net.builder.intern(Constant::new(Dtype::Bool, vec![], vec![0]));
    let b = net.op("And", &[yes, less]);
    let b = net.op("Or", &[b, no]);
    let c = net.op("Add", &[z, zero]);
    let y = net.op("Where", &[b, c, zero]);
    assert_eq!(ops(net, y), ["Less", "Add", "Where"]);
    let mut net = Net::new(18);
    let x = net.typed(Type::sized(Dtype::Bool, &[3]));
    let yes = net.builder.intern(Constant::new(Dtype::Bool, vec![2, 1], vec![1, 1]));
    let no = net.builder.intern(Constant::new(Dtype::Bool, vec![], vec![0]));
    let a = net.op("And", &[x, yes]);
    let y = net.op("And", &[a, no]);
    assert_eq!(ops(net, y), ["And", "And"]);
}

#[test]
fn what_changes_something_stays() {
    let mut net = Net::new(18);
    let x = net.input(&[2, 4]);
    let (starts, ends, axes, steps) = (net.ints(&[-1]), net.ints(&[i64::MIN]), net.ints(&[1]), net.ints(&[-1]));
    let a = net.op("Slice", &[x, starts, ends, axes, steps]);
    let pads = net.ints(&[0, 1, 0, -1]);
    let b = net.op("Pad", &[a, pads]);
    let ones = net.floats(&[3, 1, 1], &[1.0; 3]);
    let y = net.op("Mul", &[b, ones]);
    assert_eq!(ops(net, y), ["Slice", "Pad", "Mul"]);
}
