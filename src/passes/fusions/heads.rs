//! Attention of three dimensions: it takes and gives heads side by side in the last dimension, so that nobody has to move them.
//!
//! It must not take heads that something else reads as well, nor dimensions that change places in another way.

use super::super::rewriter::Rewriter;
use super::super::transposes::perm;
use super::{cast_again, own_input, uncast};
use crate::graph::{Attr, Node, Value};
use crate::sym::SymInt;

/// From `[N, length, heads, features]` to `[N, heads, length, features]`, and back.
const SWAP: [i64; 4] = [0, 2, 1, 3];

pub(in super::super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let joined = node.outputs.first().copied().flatten().filter(|_| node.op == "Reshape")?;
    let turned = own_input(cx, node.input(0)?, "Transpose").filter(|turned| is_swap(cx, turned))?;
    let (y, narrowed) = uncast(cx, turned.input(0)?)?;
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
    let y = cx.make("Attention", &inputs, attrs)?;
    cast_again(cx, y, narrowed)
}

/// Heads that were moved before their positions.
struct Heads {
    number: i64,
    source: Source,
    /// What turned their features afterwards.
    rotary: Option<Node>,
    /// The Cast after that, where the runtime has no kernel for their dtype.
    widened: Option<Node>,
}

/// Where heads come from.
enum Source {
    /// `[N, length, heads, features]`
    Apart(Value),
    /// A part of the last dimension of `[N, length, parts * heads * features]`: that for queries, keys or values.
    Part { of: Value, index: i64, size: i64 },
}

impl Heads {
    /// They, side by side, and turned. Where they lay so before they were set apart, the reshapes meet.
    fn flat(self, cx: &mut Rewriter<'_>) -> Option<Value> {
        let joined = match self.source {
            Source::Apart(x) => {
                let [batch, length, heads, features] = cx.shape(x)?.to_vec().try_into().ok()?;
                cx.builder.reshape(x, &[batch, length, heads.mul(&features)]).ok()?
            }
            Source::Part { of, index, size } => {
                let bounds = [index * size, (index + 1) * size, 2].map(|n| vec![n].into());
                cx.builder.node1("Slice", [of.into()].into_iter().chain(bounds).collect(), vec![]).ok()?
            }
        };
        let turned = match self.rotary {
            Some(rotary) => {
                let mut attrs = rotary.attrs.clone();
                attrs.push(("num_heads", Attr::Int(self.number)));
                cx.make("RotaryEmbedding", &[joined, rotary.input(1)?, rotary.input(2)?], attrs)?
            }
            None => joined,
        };
        cast_again(cx, turned, self.widened)
    }
}

fn heads(cx: &Rewriter<'_>, value: Value) -> Option<Heads> {
    let (value, widened) = uncast(cx, value)?;
    let rotary = own_input(cx, value, "RotaryEmbedding").filter(|rotary| rotary.inputs.len() == 3);
    let value = rotary.as_ref().map_or(Some(value), |rotary| rotary.input(0))?;
    let number = cx.shape(value)?.get(1)?.known()?;
    Some(Heads { number, source: source(cx, value)?, rotary, widened })
}

fn source(cx: &Rewriter<'_>, value: Value) -> Option<Source> {
    if let Some(turned) = own_input(cx, value, "Transpose").filter(|turned| is_swap(cx, turned)) {
        let x = turned.input(0)?;
        let gather = own_input(cx, x, "Gather");
        let part = gather.and_then(|gather| part(cx, &gather, 2, gather.input(0)?));
        return Some(part.unwrap_or(Source::Apart(x)));
    }
    // Queries, keys and values were moved together.
    let gather = own_input(cx, value, "Gather")?;
    let turned = cx.input_node(&gather, 0, "Transpose")?;
    let is_turned = perm(cx, &turned)? == [2, 0, 3, 1, 4];
    part(cx, &gather, 0, turned.input(0)?).filter(|_| is_turned)
}

/// What a Gather takes of one part of `all`, which is `[N, length, parts, heads, features]`.
fn part(cx: &Rewriter<'_>, gather: &Node, axis: i64, all: Value) -> Option<Source> {
    let place = gather.input(1).filter(|place| cx.rank(*place) == Some(0))?;
    let of = cx.made_by(all, "Reshape")?.input(0)?;
    let [batch, length, parts, heads, features] = cx.shape(all)?.to_vec().try_into().ok()?;
    let (parts, size) = (parts.known()?, heads.mul(&features).known()?);
    let index = *cx.ints(place)?.first()?;
    let index = if index < 0 { index + parts } else { index };
    let is_part = gather.int("axis").unwrap_or(0) == axis && (0..parts).contains(&index);
    let is_joined = *cx.shape(of)? == [batch, length, SymInt::from(parts * size)];
    (is_part && is_joined).then_some(Source::Part { of, index, size })
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
    use crate::dtype::Dtype;
    use crate::graph::{Attr, Value};

    /// Attention, whose heads go side by side.
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

    /// Of heads that lay side by side.
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

    /// Of heads that are parts of one product, moved together or each by itself.
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
}
