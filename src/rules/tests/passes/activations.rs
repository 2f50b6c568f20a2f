//! `mappings/fuse/activations.opmap`.

use super::net::{Net, ops};
use aten2onnx_builder::Scalar;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::Type;

fn gelu(opset: u32, half: f32) -> Vec<&'static str> {
    let mut net = Net::new(opset);
    let x = net.input(&[2, 3]);
    let (half, one, root) = (net.floats(&[], &[half]), net.floats(&[], &[1.0]), net.floats(&[], &[2f32.sqrt()]));
    let a = net.op("Div", &[x, root]);
    let a = net.op("Erf", &[a]);
    let a = net.op("Add", &[a, one]);
    let b = net.op("Mul", &[half, x]);
    let y = net.op("Mul", &[b, a]);
    ops(net, y)
}

#[test]
fn gelu_is_seen_by_its_error_function() {
    assert_eq!(gelu(20, 0.5), ["Gelu"]);
    assert_eq!(gelu(19, 0.5).len(), 5);
    assert_eq!(gelu(20, 0.51).len(), 5);
}

fn tanh_gelu(cube: f32) -> Vec<&'static str> {
    let mut net = Net::new(20);
    let x = net.input(&[2, 3]);
    let mut number = |x: f32| net.floats(&[], &[x]);
    let (half, one, three) = (number(0.5), number(1.0), number(3.0));
    let (cube, root) = (number(cube), number(0.797_884_6));
    let a = net.op("Pow", &[x, three]);
    let a = net.op("Mul", &[cube, a]);
    let a = net.op("Add", &[x, a]);
    let a = net.op("Mul", &[root, a]);
    let a = net.op("Tanh", &[a]);
    let a = net.op("Add", &[one, a]);
    let b = net.op("Mul", &[x, half]);
    let y = net.op("Mul", &[b, a]);
    ops(net, y)
}

#[test]
fn gelu_is_seen_by_its_approximation() {
    assert_eq!(tanh_gelu(0.044_715), ["Gelu"]);
    assert_eq!(tanh_gelu(0.05).len(), 8);
    assert_eq!(factored_gelu(0.044_715), ["Gelu"]);
    assert_eq!(factored_gelu(0.05).len(), 9);
}

/// `x (1 + 0.044715 x x)`, in float16.
fn factored_gelu(cube: f64) -> Vec<&'static str> {
    let mut net = Net::new(20);
    let x = net.typed(Type::sized(Dtype::Float16, &[2, 3]));
    let mut number = |x: f64| net.builder.scalar(&Scalar::Float(x), Dtype::Float16).unwrap();
    let (half, one, cube, root) = (number(0.5), number(1.0), number(cube), number(0.797_884_560_8));
    let a = net.op("Mul", &[x, root]);
    let b = net.op("Mul", &[cube, x]);
    let b = net.op("Mul", &[b, x]);
    let b = net.op("Add", &[one, b]);
    let a = net.op("Mul", &[a, b]);
    let a = net.op("Tanh", &[a]);
    let a = net.op("Add", &[one, a]);
    let b = net.op("Mul", &[half, x]);
    let y = net.op("Mul", &[b, a]);
    ops(net, y)
}

fn swish(opset: u32, most: f32) -> Vec<&'static str> {
    let mut net = Net::new(opset);
    let x = net.input(&[2, 3]);
    let mut number = |x: f32| net.floats(&[], &[x]);
    let (three, zero, six, most) = (number(3.0), number(0.0), number(6.0), number(most));
    let a = net.op("Add", &[x, three]);
    let a = net.op("Clip", &[a, zero, most]);
    let a = net.op("Mul", &[x, a]);
    let y = net.op("Div", &[a, six]);
    ops(net, y)
}

#[test]
fn hard_swish_is_seen() {
    assert_eq!(swish(14, 6.0), ["HardSwish"]);
    assert_eq!(swish(13, 6.0).len(), 4);
    assert_eq!(swish(14, 7.0).len(), 4);
}

fn half(net: &mut Net, x: f64) -> aten2onnx_onnx::graph::Value {
    net.builder.scalar(&Scalar::Float(x), Dtype::Float16).unwrap()
}

fn half_gelu(root: f64) -> Vec<&'static str> {
    let mut net = Net::new(20);
    let x = net.typed(Type::sized(Dtype::Float16, &[2, 3]));
    let (one_half, one, root) = (half(&mut net, 0.5), half(&mut net, 1.0), half(&mut net, root));
    let a = net.op("Mul", &[x, root]);
    let a = net.op("Erf", &[a]);
    let a = net.op("Add", &[a, one]);
    let a = net.op("Mul", &[x, a]);
    let y = net.op("Mul", &[a, one_half]);
    ops(net, y)
}

fn half_swish(slope: f64) -> Vec<&'static str> {
    let mut net = Net::new(14);
    let x = net.typed(Type::sized(Dtype::Float16, &[2, 3]));
    let (three, zero, six) = (half(&mut net, 3.0), half(&mut net, 0.0), half(&mut net, 6.0));
    let slope = half(&mut net, slope);
    let a = net.op("Add", &[x, three]);
    let a = net.op("Clip", &[a, zero, six]);
    let a = net.op("Mul", &[a, slope]);
    let y = net.op("Mul", &[x, a]);
    ops(net, y)
}

#[test]
fn the_constants_of_float16_are_rounded() {
    assert_eq!(half_gelu(std::f64::consts::FRAC_1_SQRT_2), ["Gelu"]);
    assert_eq!(half_gelu(0.71).len(), 5);
    assert_eq!(half_swish(1.0 / 6.0), ["HardSwish"]);
    assert_eq!(half_swish(0.17).len(), 4);
}
