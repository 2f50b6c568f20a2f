//! `mappings/fuse/norms.opmap`.

use super::net::{Net, ops};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Type, Value};

fn mean(net: &mut Net, x: Value, axis: i64) -> Value {
    let axes = net.ints(&[axis]);
    net.with("ReduceMean", &[x, axes], vec![("keepdims", Attr::Int(1))])
}

fn root(net: &mut Net, v: Value, axis: i64) -> Value {
    let (two, epsilon) = (net.floats(&[], &[2.0]), net.floats(&[], &[1e-5]));
    let a = net.op("Pow", &[v, two]);
    let a = mean(net, a, axis);
    let a = net.op("Add", &[a, epsilon]);
    net.op("Sqrt", &[a])
}

fn rms(opset: u32, axis: i64) -> Vec<&'static str> {
    let mut net = Net::new(opset);
    let (x, w) = (net.input(&[2, 3, 3]), net.weight(&[3]));
    let root = root(&mut net, x, axis);
    let a = net.op("Reciprocal", &[root]);
    let a = net.op("Mul", &[x, a]);
    let y = net.op("Mul", &[w, a]);
    ops(net, y)
}

#[test]
fn the_root_mean_square_is_normalised() {
    assert_eq!(rms(23, -1), ["RMSNormalization"]);
    assert_eq!(rms(23, 2), ["RMSNormalization"]);
    assert_eq!(rms(23, 1).len(), 6);
    assert_eq!(rms(22, -1).len(), 6);
}

/// As in Llama: in float32 up to the scale.
fn half_rms(rounded: bool) -> Vec<&'static str> {
    let mut net = Net::new(23);
    let x = net.typed(Type::sized(Dtype::Float16, &[2, 3, 3]));
    let w = net.typed(Type::sized(if rounded { Dtype::Float16 } else { Dtype::Float32 }, &[3]));
    let wide = net.cast(x, Dtype::Float32);
    let root = root(&mut net, wide, -1);
    let mut a = net.op("Div", &[wide, root]);
    if rounded {
        a = net.cast(a, Dtype::Float16);
    }
    let y = net.op("Mul", &[w, a]);
    ops(net, y)
}

#[test]
fn float16_is_widened_by_the_operator() {
    assert_eq!(half_rms(true), ["RMSNormalization"]);
    // The result is float32, so the input must be as well.
    assert_eq!(half_rms(false), ["Cast", "RMSNormalization"]);
}

fn layer(opset: u32, axis: i64) -> Vec<&'static str> {
    let mut net = Net::new(opset);
    let (x, w, b) = (net.input(&[2, 3, 3]), net.weight(&[3]), net.input(&[3]));
    let m = mean(&mut net, x, axis);
    let centred = net.op("Sub", &[x, m]);
    let root = root(&mut net, centred, -1);
    let a = net.op("Div", &[centred, root]);
    let a = net.op("Mul", &[w, a]);
    let y = net.op("Add", &[a, b]);
    ops(net, y)
}

/// In float32 up to the scale, which has dtype float16 like the input, or not.
fn half_layer(of_x: Dtype) -> Vec<&'static str> {
    let mut net = Net::new(18);
    let half = Dtype::Float16;
    let (x, w, b) = (Type::sized(of_x, &[2, 3, 3]), Type::sized(half, &[3]), Type::sized(half, &[3]));
    let (x, w, b) = (net.typed(x), net.typed(w), net.typed(b));
    let wide = net.cast(x, Dtype::Float32);
    let m = mean(&mut net, wide, -1);
    let centred = net.op("Sub", &[wide, m]);
    let root = root(&mut net, centred, -1);
    let a = net.op("Div", &[centred, root]);
    let a = net.cast(a, half);
    let a = net.op("Mul", &[a, w]);
    let y = net.op("Add", &[b, a]);
    ops(net, y)
}

#[test]
fn layers_of_float16_are_widened_by_the_operator() {
    assert_eq!(half_layer(Dtype::Float16), ["LayerNormalization"]);
    assert!(!half_layer(Dtype::Float32).contains(&"LayerNormalization"));
    assert!(!half_layer(Dtype::Float64).contains(&"LayerNormalization"));
}

#[test]
fn layers_are_normalised() {
    assert_eq!(layer(18, -1), ["LayerNormalization"]);
    // In opset 17 the axes of a mean are an attribute; from 23 on the norm without a mean is found first.
    assert_eq!(layer(17, -1), ["LayerNormalization"]);
    assert_eq!(layer(23, -1), ["LayerNormalization"]);
    assert_eq!(layer(18, 1).len(), 9);
    assert_eq!(layer(16, -1).len(), 9);
}
