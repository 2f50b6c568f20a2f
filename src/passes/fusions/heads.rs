//! Attention of three dimensions: it takes and gives heads side by side in the last dimension, so that nobody has to move them.
//!
//! It must not take heads that something else reads as well, nor dimensions that change places in another way.

use super::super::rewriter::Rewriter;
use super::super::transposes::perm;
use crate::graph::{Attr, Node, Value};

/// From `[N, length, heads, features]` to `[N, heads, length, features]`, and back.
const SWAP: [i64; 4] = [0, 2, 1, 3];

pub(in super::super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let joined = node.outputs.first().copied().flatten().filter(|_| node.op == "Reshape")?;
    let turned = own_input(cx, node.input(0)?, "Transpose").filter(|turned| is_swap(cx, turned))?;
    let y = turned.input(0)?;
    let attention = own_input(cx, y, "Attention")?;
    let [Some(q), Some(k), Some(v), ref mask @ ..] = *attention.inputs.as_slice() else { return None };
    let is_plain = mask.len() <= 1 && attention.outputs.iter().skip(1).all(Option::is_none);
    if !is_plain || q == k || k == v || q == v || !is_joined(cx, y, joined) {
        return None;
    }
    let (of_q, of_k, of_v) = (heads(cx, q)?, heads(cx, k)?, heads(cx, v)?);
    if of_k.number != of_v.number {
        return None;
    }
    let mut attrs = attention.attrs.clone();
    attrs.push(("q_num_heads", Attr::Int(of_q.number)));
    attrs.push(("kv_num_heads", Attr::Int(of_k.number)));
    let mut inputs = vec![of_q.flat(cx)?, of_k.flat(cx)?, of_v.flat(cx)?];
    inputs.extend(mask.iter().flatten());
    cx.make("Attention", &inputs, attrs)
}

/// Heads that were moved before their positions.
struct Heads {
    number: i64,
    /// `[N, length, heads, features]`
    before: Value,
    /// What turned their features afterwards.
    rotary: Option<Node>,
}

impl Heads {
    /// They, side by side, and turned. Where they lay so before they were set apart, the reshapes meet.
    fn flat(self, cx: &mut Rewriter<'_>) -> Option<Value> {
        let [batch, length, heads, features] = cx.shape(self.before)?.to_vec().try_into().ok()?;
        let joined = cx.builder.reshape(self.before, &[batch, length, heads.mul(&features)]).ok()?;
        let Some(rotary) = self.rotary else { return Some(joined) };
        let mut attrs = rotary.attrs.clone();
        attrs.push(("num_heads", Attr::Int(self.number)));
        cx.make("RotaryEmbedding", &[joined, rotary.input(1)?, rotary.input(2)?], attrs)
    }
}

fn heads(cx: &Rewriter<'_>, value: Value) -> Option<Heads> {
    let rotary = own_input(cx, value, "RotaryEmbedding").filter(|rotary| rotary.inputs.len() == 3);
    let value = rotary.as_ref().map_or(Some(value), |rotary| rotary.input(0))?;
    let number = cx.shape(value)?.get(1)?.known()?;
    let turned = own_input(cx, value, "Transpose").filter(|turned| is_swap(cx, turned))?;
    Some(Heads { number, before: turned.input(0)?, rotary })
}

/// The node of this operator that makes a value that nothing else reads.
fn own_input(cx: &Rewriter<'_>, value: Value, op: &str) -> Option<Node> {
    cx.made_by(value, op).filter(|_| cx.is_read_once(value))
}

fn is_swap(cx: &Rewriter<'_>, node: &Node) -> bool {
    perm(cx, node).is_some_and(|perm| perm == SWAP)
}

/// Is the one `[N, heads, length, features]` and the other `[N, length, heads * features]`?
fn is_joined(cx: &Rewriter<'_>, apart: Value, joined: Value) -> bool {
    match (cx.shape(apart), cx.shape(joined)) {
        (Some([batch, heads, length, features]), Some([n, l, all])) => {
            (n, l) == (batch, length) && *all == heads.mul(features)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::super::testing::{Net, ops};
    use crate::graph::Value;

    /// Attention of heads that lay side by side.
    fn attention(net: &mut Net, is_rotary: bool, reads_keys: bool) -> Value {
        let apart = net.ints(&[0, 0, -1, 8]);
        let mut set_apart = |heads: i64| {
            let x = net.open_input(&[-1, 5, heads * 8]);
            let x = net.op("Reshape", &[x, apart]);
            net.transposed(x, &[0, 2, 1, 3])
        };
        let (mut q, k, v) = (set_apart(6), set_apart(2), set_apart(2));
        if is_rotary {
            let table = net.open_input(&[-1, 5, 4]);
            q = net.op("RotaryEmbedding", &[q, table, table]);
        }
        let y = net.op("Attention", &[q, k, v]);
        let y = net.transposed(y, &[0, 2, 1, 3]);
        let joined = net.ints(&[0, 0, -1]);
        let y = net.op("Reshape", &[y, joined]);
        if !reads_keys {
            return y;
        }
        let greatest = net.op("ReduceMax", &[k]);
        net.op("Add", &[y, greatest])
    }

    fn left(opset: u32, is_rotary: bool, reads_keys: bool) -> Vec<&'static str> {
        let mut net = Net::new(opset);
        let y = attention(&mut net, is_rotary, reads_keys);
        ops(net, y)
    }

    #[test]
    fn heads_side_by_side_stay_there() {
        assert_eq!(left(23, false, false), ["Attention"]);
        assert_eq!(left(24, true, false), ["RotaryEmbedding", "Attention"]);
    }

    #[test]
    fn heads_that_never_lay_so_are_joined_without_a_move() {
        let mut net = Net::new(23);
        let [q, k, v] = [6, 2, 2].map(|heads| {
            let x = net.open_input(&[-1, 5, heads, 8]);
            let x = net.op("Relu", &[x]);
            net.transposed(x, &[0, 2, 1, 3])
        });
        let y = net.op("Attention", &[q, k, v]);
        let y = net.transposed(y, &[0, 2, 1, 3]);
        let joined = net.ints(&[0, 0, -1]);
        let y = net.op("Reshape", &[y, joined]);
        let left = ops(net, y);
        assert!(!left.contains(&"Transpose"), "{left:?}");
        assert_eq!(left.len(), 7);
    }

    #[test]
    fn heads_that_something_else_reads_stay_apart() {
        assert_eq!(left(23, false, true).iter().filter(|op| **op == "Transpose").count(), 4);
    }
}
