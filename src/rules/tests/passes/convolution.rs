//! `passes/convolution.rs`.

use super::net::{Net, floats_of, ops, ops_of};
use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Value};

fn normalised(net: &mut Net, x: Value) -> Value {
    let scale = net.floats(&[2], &[2.0, 3.0]);
    let shift = net.floats(&[2], &[0.5, -1.0]);
    let mean = net.floats(&[2], &[1.0, 2.0]);
    // With epsilon, 4 and 9.
    let variance = net.floats(&[2], &[3.0, 8.0]);
    net.with("BatchNormalization", &[x, scale, shift, mean, variance], vec![("epsilon", Attr::Float(1.0))])
}

#[test]
fn a_normalisation_goes_into_weights_and_bias() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[1, 2, 5, 5]), net.weight(&[2, 2, 1, 1]));
    let conv = net.op("Conv", &[x, w]);
    let y = normalised(&mut net, conv);
    let two = net.floats(&[2, 1, 1], &[2.0, 0.5]);
    let y = net.op("Mul", &[y, two]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph), ["Conv"]);
    let input = |i: usize| floats_of(&graph, graph.body.nodes[0].inputs[i].unwrap());
    // Weights 1, 1.25, 1.5, 1.75 by factors 1, 1 and then 2, 0.5; shifts 0.5 - 1 and -1 - 2.
    assert_eq!(input(1), [2.0, 2.5, 0.75, 0.875]);
    assert_eq!(input(2), [-1.0, -1.5]);
}

#[test]
fn transposed_convolutions_have_their_channels_second() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[1, 2, 5, 5]), net.weight(&[2, 2, 1, 1]));
    let conv = net.op("ConvTranspose", &[x, w]);
    let two = net.floats(&[2, 1, 1], &[2.0, 0.5]);
    let y = net.op("Mul", &[conv, two]);
    let graph = net.finished(Passes::ALL, y);
    assert_eq!(ops_of(&graph), ["ConvTranspose"]);
    assert_eq!(floats_of(&graph, graph.body.nodes[0].inputs[1].unwrap()), [2.0, 0.625, 3.0, 0.875]);
}

#[test]
fn what_others_read_and_what_is_not_by_channel_stays() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[1, 2, 5, 5]), net.weight(&[2, 2, 1, 1]));
    let conv = net.op("Conv", &[x, w]);
    let a = normalised(&mut net, conv);
    let y = net.op("Add", &[a, conv]);
    assert_eq!(ops(net, y), ["Conv", "BatchNormalization", "Add"]);
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[1, 2, 5, 2]), net.weight(&[2, 2, 1, 1]));
    let conv = net.op("Conv", &[x, w]);
    let columns = net.floats(&[2], &[2.0, 0.5]);
    let y = net.op("Mul", &[conv, columns]);
    assert_eq!(ops(net, y), ["Conv", "Mul"]);
}

#[test]
fn weights_that_are_to_stay_stay() {
    let mut net = Net::new(18);
    let (x, w) = (net.input(&[1, 2, 5, 5]), net.weight(&[2, 2, 1, 1]));
    let conv = net.op("Conv", &[x, w]);
    let two = net.floats(&[2, 1, 1], &[2.0, 0.5]);
    let y = net.op("Mul", &[conv, two]);
    let y = normalised(&mut net, y);
    let graph = net.finished(Passes { keep_weights: true, ..Passes::ALL }, y);
    assert_eq!(ops_of(&graph), ["Conv", "Mul", "BatchNormalization"]);
}

#[test]
fn who_asks_for_the_sizes_is_no_reader() {
    let mut net = Net::new(18);
    let (x, w) = (net.open_input(&[1, 2, -1, 5]), net.weight(&[2, 2, 1, 1]));
    let conv = net.op("Conv", &[x, w]);
    let sizes = net.op("Shape", &[conv]);
    let y = normalised(&mut net, conv);
    let y = net.op("Relu", &[y]);
    let y = net.op("Expand", &[y, sizes]);
    let ops = ops(net, y);
    assert!(!ops.contains(&"BatchNormalization"), "{ops:?}");
    assert_eq!(ops.iter().filter(|op| **op == "Conv").count(), 1, "{ops:?}");
}

#[test]
fn a_convolution_that_changed_is_not_taken_for_an_equal_one() {
    let mut net = Net::new(18);
    let (x, w) = (net.open_input(&[1, 2, -1, 5]), net.weight(&[2, 2, 1, 1]));
    let conv = net.op("Conv", &[x, w]);
    let size = net.op("Size", &[conv]);
    let shift = net.floats(&[2, 1, 1], &[2.0, 0.5]);
    let a = net.op("Add", &[conv, shift]);
    let again = net.op("Conv", &[x, w]);
    let b = net.op("Relu", &[again]);
    let y = net.op("Mul", &[a, b]);
    let size = net.cast(size, Dtype::Float32);
    let y = net.op("Mul", &[y, size]);
    let ops = ops(net, y);
    assert!(ops.iter().filter(|op| **op == "Conv").count() == 2 || ops.contains(&"Add"), "{ops:?}");
}
