//! `passes/fusions/rotary.rs`.

use super::net::{Net, ops};
use aten2onnx_onnx::graph::{Attr, Value};

/// As in Transformers: angles repeated along the last dimension, shared by all heads.
fn angles(net: &mut Net, sizes: &[i64], twice: bool) -> (Value, Value) {
    let half = net.open_input(sizes);
    let other = if twice { half } else { net.op("Neg", &[half]) };
    let both = net.with("Concat", &[half, other], vec![("axis", Attr::Int(-1))]);
    let axes = net.ints(&[1]);
    let (a, b) = (net.op("Cos", &[both]), net.op("Sin", &[both]));
    (net.op("Unsqueeze", &[a, axes]), net.op("Unsqueeze", &[b, axes]))
}

fn turned(net: &mut Net, x: Value, cosine: Value, sine: Value) -> Value {
    let sizes = net.ints(&[4, 4]);
    let parts = net.many("Split", &[x, sizes], vec![("axis", Attr::Int(-1))], 2);
    let negative = net.op("Neg", &[parts[1]]);
    let rotated = net.with("Concat", &[negative, parts[0]], vec![("axis", Attr::Int(-1))]);
    let (a, b) = (net.op("Mul", &[x, cosine]), net.op("Mul", &[rotated, sine]));
    net.op("Add", &[a, b])
}

fn count(opset: u32, twice: bool, op: &str) -> usize {
    let mut net = Net::new(opset);
    let x = net.open_input(&[-1, 3, 5, 8]);
    let (cosine, sine) = angles(&mut net, &[1, 5, 4], twice);
    let y = turned(&mut net, x, cosine, sine);
    ops(net, y).iter().filter(|found| **found == op).count()
}

#[test]
fn halves_are_rotated_by_the_native_operator() {
    assert_eq!(count(23, true, "RotaryEmbedding"), 1);
    assert_eq!(count(23, true, "Concat") + count(23, true, "Split"), 1, "what is left makes a shape");
    let mut net = Net::new(23);
    let x = net.input(&[2, 3, 5, 8]);
    let (cosine, sine) = angles(&mut net, &[2, 5, 4], true);
    let y = turned(&mut net, x, cosine, sine);
    assert_eq!(ops(net, y), ["Cos", "Sin", "RotaryEmbedding"]);
}

#[test]
fn other_angles_opsets_and_tables_stay() {
    assert_eq!(count(22, true, "RotaryEmbedding"), 0);
    assert_eq!(count(23, false, "RotaryEmbedding"), 0);
    // One angle per head.
    let mut net = Net::new(23);
    let (x, half) = (net.input(&[2, 3, 5, 8]), net.input(&[2, 3, 5, 4]));
    let both = net.with("Concat", &[half, half], vec![("axis", Attr::Int(-1))]);
    let (cosine, sine) = (net.op("Cos", &[both]), net.op("Sin", &[both]));
    let y = turned(&mut net, x, cosine, sine);
    assert!(!ops(net, y).contains(&"RotaryEmbedding"));
}

#[test]
fn constant_tables_are_halved_if_their_halves_are_the_same() {
    for (last, native) in [(4.0, true), (5.0, false)] {
        let mut net = Net::new(23);
        let x = net.input(&[1, 3, 1, 8]);
        let table = net.floats(&[1, 8], &[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, last]);
        let y = turned(&mut net, x, table, table);
        assert_eq!(ops(net, y).contains(&"RotaryEmbedding"), native);
    }
}

/// As in GPT-J: adjacent pairs, and repeated angles.
fn pairs(opset: u32) -> Vec<&'static str> {
    let mut net = Net::new(opset);
    let (x, angle) = (net.input(&[2, 3, 5, 8]), net.input(&[2, 5, 4]));
    let (axis, step) = (net.ints(&[-1]), net.ints(&[2]));
    let mut part = |from: i64, to: i64| {
        let (from, to) = (net.ints(&[from]), net.ints(&[to]));
        net.op("Slice", &[x, from, to, axis, step])
    };
    let (even, odd) = (part(0, 8), part(1, 8));
    let negative = net.op("Neg", &[odd]);
    let (a, b) = (net.op("Unsqueeze", &[negative, axis]), net.op("Unsqueeze", &[even, axis]));
    let rotated = net.with("Concat", &[a, b], vec![("axis", Attr::Int(-1))]);
    let shape = net.ints(&[2, 3, 5, 8]);
    let rotated = net.op("Reshape", &[rotated, shape]);
    let mut table = |op: &'static str| {
        let (wide, flat, heads) = (net.ints(&[2, 1, 5, 4, 2]), net.ints(&[2, 1, 5, 8]), net.ints(&[1, 4]));
        let a = net.op(op, &[angle]);
        let a = net.op("Unsqueeze", &[a, heads]);
        let a = net.op("Expand", &[a, wide]);
        net.op("Reshape", &[a, flat])
    };
    let (cosine, sine) = (table("Cos"), table("Sin"));
    let (a, b) = (net.op("Mul", &[x, cosine]), net.op("Mul", &[rotated, sine]));
    let y = net.op("Add", &[a, b]);
    ops(net, y)
}

#[test]
fn pairs_are_rotated_by_the_native_operator() {
    assert_eq!(pairs(23), ["Cos", "Sin", "RotaryEmbedding"]);
    assert!(!pairs(22).contains(&"RotaryEmbedding"));
    // Rotated halves with angles per pair.
    let mut net = Net::new(23);
    let x = net.input(&[1, 3, 1, 8]);
    let table = net.floats(&[1, 8], &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
    let y = turned(&mut net, x, table, table);
    assert!(!ops(net, y).contains(&"RotaryEmbedding"));
}

/// Only the first 8 of 12 features are rotated; with `crossed`, something else is joined to them.
fn part(crossed: bool) -> Vec<&'static str> {
    let mut net = Net::new(23);
    let (whole, other) = (net.input(&[2, 3, 5, 12]), net.input(&[2, 3, 5, 4]));
    let sizes = net.ints(&[8, 4]);
    let parts = net.many("Split", &[whole, sizes], vec![("axis", Attr::Int(-1))], 2);
    let (cosine, sine) = angles(&mut net, &[2, 5, 4], true);
    let first = turned(&mut net, parts[0], cosine, sine);
    let rest = if crossed { other } else { parts[1] };
    let y = net.with("Concat", &[first, rest], vec![("axis", Attr::Int(3))]);
    ops(net, y)
}

#[test]
fn the_first_features_alone_may_be_rotated() {
    assert_eq!(part(false), ["Cos", "Sin", "RotaryEmbedding"]);
    assert_eq!(part(true), ["Split", "Cos", "Sin", "RotaryEmbedding", "Concat"]);
}
