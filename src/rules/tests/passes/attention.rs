//! `passes/fusions/attention.rs`.

use super::net::{Net, ops};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Value};

struct Case {
    opset: u32,
    keys: i64,
    mask: &'static [i64],
    late: bool,
}

const USUAL: Case = Case { opset: 23, keys: 2, mask: &[2, 1, 5, 6], late: false };

fn attention(case: &Case) -> Vec<&'static str> {
    let mut net = Net::new(case.opset);
    let (q, k) = (net.input(&[2, 3, 5, 8]), net.input(&[case.keys, 6, 3, 8]));
    let (v, mask) = (net.input(&[2, 3, 6, 4]), net.input(case.mask));
    let k = net.transposed(k, &[0, 2, 3, 1]);
    let scale = net.floats(&[], &[0.25]);
    let mut scores = net.op("MatMul", &[q, k]);
    let scaled = |net: &mut Net, x: Value| net.op("Mul", &[x, scale]);
    if !case.late {
        scores = scaled(&mut net, scores);
    }
    scores = net.op("Add", &[scores, mask]);
    if case.late {
        scores = scaled(&mut net, scores);
    }
    let weights = net.with("Softmax", &[scores], vec![("axis", Attr::Int(-1))]);
    let y = net.op("MatMul", &[weights, v]);
    ops(net, y)
}

#[test]
fn attention_is_seen() {
    assert_eq!(attention(&USUAL), ["Transpose", "Attention"]);
    assert_eq!(attention(&Case { mask: &[5, 6], ..USUAL }), ["Transpose", "Attention"]);
    assert_eq!(attention(&Case { mask: &[2, 1, 1, 6], ..USUAL }), ["Transpose", "Expand", "Attention"]);
}

#[test]
fn other_sums_and_opsets_stay() {
    assert!(!attention(&Case { opset: 22, ..USUAL }).contains(&"Attention"));
    assert!(!attention(&Case { keys: 1, ..USUAL }).contains(&"Attention"));
    assert!(!attention(&Case { late: true, ..USUAL }).contains(&"Attention"));
}

fn groups(of_keys: i64, of_values: i64, cast: Dtype) -> Vec<&'static str> {
    let mut net = Net::new(23);
    let q = net.open_input(&[-1, 4, 5, 8]);
    let mut repeated = |heads: i64| {
        let x = net.open_input(&[-1, heads, 5, 8]);
        let (axes, shape) = (net.ints(&[2]), net.ints(&[1, 1, 4 / heads, 1, 1]));
        let a = net.op("Unsqueeze", &[x, axes]);
        let a = net.op("Expand", &[a, shape]);
        let shape = net.ints(&[0, 4, 5, 8]);
        let a = net.op("Reshape", &[a, shape]);
        net.cast(a, cast)
    };
    let (k, v) = (repeated(of_keys), repeated(of_values));
    let q = net.cast(q, cast);
    let y = net.op("Attention", &[q, k, v]);
    ops(net, y)
}

#[test]
fn heads_of_groups_are_repeated_by_the_operator() {
    assert_eq!(groups(2, 2, Dtype::Float32), ["Attention"]);
    assert_eq!(groups(2, 2, Dtype::Float16), ["Cast", "Cast", "Cast", "Attention"]);
    assert_eq!(groups(2, 1, Dtype::Float32).len(), 7);
}
