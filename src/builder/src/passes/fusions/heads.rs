//! Removes transposes around Attention by its three-dimensional form, where heads are adjacent in the last dimension.
//!
//! It must not fuse heads that something else uses, or other permutations.

use super::super::fuse::HEADS;
use super::super::rewriter::Rewriter;
use super::super::transposes::perm;
use super::{cast_again, own_input, uncast};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Node, Value};

/// From `[N, length, heads, features]` to `[N, heads, length, features]`, and back.
const SWAP: [i64; 4] = [0, 2, 1, 3];

pub(in super::super) fn fuse_heads(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    cx.fusions.has(HEADS).then_some(())?;
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

/// Heads before they were transposed.
struct Heads {
    number: i64,
    source: Source,
    /// The rotary embedding after the transpose.
    rotary: Option<Node>,
    /// The Cast after that, if the runtime has no kernel for their dtype.
    widened: Option<Node>,
}

/// The source of heads.
enum Source {
    /// `[N, length, heads, features]`
    Apart(Value),
    /// One part of the last dimension of `[N, length, parts * heads * features]`: queries, keys or values.
    Part { of: Value, index: i64, size: i64 },
}

impl Heads {
    /// The heads in three dimensions, rotated. Reshapes from and to this form cancel out.
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
    // Queries, keys and values were transposed together.
    let gather = own_input(cx, value, "Gather")?;
    let turned = cx.input_node(&gather, 0, "Transpose")?;
    let is_turned = perm(cx, &turned)? == [2, 0, 3, 1, 4];
    part(cx, &gather, 0, turned.input(0)?).filter(|_| is_turned)
}

/// The part that a Gather selects from `all`, which is `[N, length, parts, heads, features]`.
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

/// Whether the shapes are `[N, heads, length, features]` and `[N, length, heads * features]`.
fn is_joined(cx: &Rewriter<'_>, apart: Value, joined: Value) -> bool {
    match (cx.shape(apart), cx.shape(joined)) {
        (Some([batch, heads, length, features]), Some([n, l, all])) => {
            (n, l) == (batch, length) && *all == heads.mul(features)
        }
        _ => false,
    }
}
