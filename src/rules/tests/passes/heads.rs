//! `passes/fusions/heads.rs`.

use super::net::{Net, ops};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Value};

/// Attention whose heads are merged afterwards.
fn attention(net: &mut Net, [q, k, v]: [Value; 3]) -> Value {
    let y = net.op("Attention", &[q, k, v]);
    let y = net.transposed(y, &[0, 2, 1, 3]);
    let joined = net.ints(&[0, 0, -1]);
    net.op("Reshape", &[y, joined])
}

#[test]
fn casts_stay_at_their_places() {
    let mut net = Net::new(23);
    let apart = net.ints(&[0, 0, -1, 8]);
    let inputs = [0, 1, 2].map(|_| {
        let x = net.open_input(&[-1, 5, 16]);
        let x = net.cast(x, Dtype::Float16);
        let x = net.op("Reshape", &[x, apart]);
        let x = net.transposed(x, &[0, 2, 1, 3]);
        net.cast(x, Dtype::Float32)
    });
    let y = net.op("Attention", &inputs);
    let y = net.cast(y, Dtype::Float16);
    let y = net.transposed(y, &[0, 2, 1, 3]);
    let joined = net.ints(&[0, 0, -1]);
    let y = net.op("Reshape", &[y, joined]);
    let mut left = ops(net, y);
    left.dedup();
    assert_eq!(left, ["Cast", "Attention", "Cast"]);
}

/// With heads that were split from one dimension.
fn heads(opset: u32, is_rotary: bool, reads_keys: bool) -> Vec<&'static str> {
    let mut net = Net::new(opset);
    let apart = net.ints(&[0, 0, -1, 8]);
    let [mut q, k, v] = [6, 2, 2].map(|heads: i64| {
        let x = net.open_input(&[-1, 5, heads * 8]);
        let x = net.op("Reshape", &[x, apart]);
        net.transposed(x, &[0, 2, 1, 3])
    });
    if is_rotary {
        let table = net.open_input(&[-1, 5, 4]);
        q = net.op("RotaryEmbedding", &[q, table, table]);
    }
    let mut y = attention(&mut net, [q, k, v]);
    if reads_keys {
        let greatest = net.op("ReduceMax", &[k]);
        y = net.op("Add", &[y, greatest]);
    }
    ops(net, y)
}

#[test]
fn heads_side_by_side_stay_there() {
    assert_eq!(heads(23, false, false), ["Attention"]);
    assert_eq!(heads(24, true, false), ["RotaryEmbedding", "Attention"]);
}

#[test]
fn heads_that_something_else_reads_stay_apart() {
    assert_eq!(heads(23, false, true).iter().filter(|op| **op == "Transpose").count(), 4);
}

#[test]
fn heads_that_never_lay_so_are_joined_without_a_move() {
    let mut net = Net::new(23);
    let inputs = [6, 2, 2].map(|heads| {
        let x = net.open_input(&[-1, 5, heads, 8]);
        let x = net.op("Relu", &[x]);
        net.transposed(x, &[0, 2, 1, 3])
    });
    let y = attention(&mut net, inputs);
    let left = ops(net, y);
    assert!(!left.contains(&"Transpose"), "{left:?}");
    assert_eq!(left.len(), 7);
}

/// With heads that are parts of one product, transposed together or separately.
fn parts(together: bool) -> Vec<&'static str> {
    let mut net = Net::new(23);
    let x = net.open_input(&[-1, 5, 3 * 4 * 8]);
    let apart = net.ints(&[0, 0, 3, 4, 8]);
    let all = net.op("Reshape", &[x, apart]);
    let moved = if together { net.transposed(all, &[2, 0, 3, 1, 4]) } else { all };
    let axis = if together { 0 } else { 2 };
    let inputs = [0, 1, 2].map(|i| {
        let place = net.int(i);
        let part = net.with("Gather", &[moved, place], vec![("axis", Attr::Int(axis))]);
        if together { part } else { net.transposed(part, &[0, 2, 1, 3]) }
    });
    let y = attention(&mut net, inputs);
    ops(net, y)
}

#[test]
fn parts_of_one_product_are_split() {
    assert_eq!(parts(true), ["Split", "Attention"]);
    assert_eq!(parts(false), ["Split", "Attention"]);
}
