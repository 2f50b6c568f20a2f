//! Fuses Attention (opset 23): `softmax(scale * q k' + mask) v` per head, and repeated key and value heads.
//!
//! It must not fuse products that broadcast, a mask that is scaled too, or scores that something else uses.

use super::super::fuse::ATTENTION;
use super::super::rewriter::Rewriter;
use super::super::transposes::{joined, perm, transposed};
use super::{cast_again, number, own_input, takes, uncast};
use aten2onnx_onnx::graph::{Attr, Node, Value};

pub(in super::super) fn fuse_attention(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    cx.fusions.has(ATTENTION).then_some(())?;
    match node.op {
        "MatMul" if cx.has("Attention") => unfused(cx, node),
        "Attention" => grouped(cx, node),
        _ => None,
    }
}

fn unfused(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let values = node.input(1)?;
    let weights = own_input(cx, node.input(0)?, "Softmax")?;
    if !is_last_axis(cx, &weights) || !takes(cx, "Attention", values) {
        return None;
    }
    let scores = weights.input(0)?;
    let (scores, mask) = masked(cx, scores).map_or((scores, None), |(scores, mask)| (scores, Some(mask)));
    let (scores, after) = scaled(cx, scores);
    let product = cx.made_by(scores, "MatMul").filter(|_| cx.is_read_once(scores))?;
    let (queries, of_queries) = scaled(cx, product.input(0)?);
    let (turned, of_turned) = scaled(cx, product.input(1)?);
    let turn = cx.made_by(turned, "Transpose")?;
    let perm = joined(&perm(cx, &turn)?, &[0, 1, 3, 2])?;
    let keys = transposed(cx, turn.input(0)?, perm)?;
    let (keys, of_keys) = scaled(cx, keys);
    let [batch, heads, length, features] = cx.shape(queries)?.to_vec().try_into().ok()?;
    let [.., total, of_value] = cx.shape(values)?.to_vec().try_into().ok().filter(|sizes: &[_; 4]| sizes.len() == 4)?;
    let fits = *cx.shape(keys)? == [batch.clone(), heads.clone(), total.clone(), features]
        && *cx.shape(values)? == [batch.clone(), heads.clone(), total.clone(), of_value];
    if !fits {
        return None;
    }
    let mut inputs = vec![queries, keys, values];
    if let Some(mask) = mask {
        let wanted = [batch, heads, length, total];
        let sizes = cx.shape(mask)?.to_vec();
        let own = wanted.get(4usize.checked_sub(sizes.len())?..)?;
        let is_broadcast = sizes.iter().zip(own).all(|(n, wanted)| *n == 1 || n == wanted);
        if !is_broadcast || !matches!(sizes.len(), 2 | 4) {
            return None;
        }
        // Runtimes require the last two sizes to be equal, without broadcasting.
        let last = sizes.len() - 2;
        let full: Vec<_> = sizes.iter().take(last).chain(own.iter().skip(last)).cloned().collect();
        inputs.push(cx.builder.expand(mask, &full).ok()?);
    }
    let scale = after * of_queries * of_turned * of_keys;
    cx.make("Attention", &inputs, vec![("scale", Attr::Float(scale))])
}

fn is_last_axis(cx: &Rewriter<'_>, softmax: &Node) -> bool {
    let axis = softmax.int("axis").unwrap_or(-1);
    let rank = softmax.input(0).and_then(|x| cx.rank(x));
    rank == Some(4) && matches!(axis, -1 | 3)
}

/// Matches a sum of scores and a mask.
fn masked(cx: &Rewriter<'_>, value: Value) -> Option<(Value, Value)> {
    let sum = cx.made_by(value, "Add").filter(|_| cx.is_read_once(value))?;
    let (a, b) = (sum.input(0)?, sum.input(1)?);
    [(a, b), (b, a)].into_iter().find(|(scores, _)| {
        let (product, _) = scaled(cx, *scores);
        cx.made_by(product, "MatMul").is_some() && cx.same_type(*scores, value)
    })
}

/// The base of a scaled value, and the factor.
fn scaled(cx: &Rewriter<'_>, value: Value) -> (Value, f64) {
    let found = || {
        let node = cx.producer(value).filter(|_| cx.is_read_once(value))?;
        let (a, b) = (node.input(0)?, node.input(1)?);
        let (x, factor) = match node.op {
            "Div" => (a, number(cx, b)?.recip()),
            "Mul" => [(a, b), (b, a)].into_iter().find_map(|(x, y)| Some((x, number(cx, y)?)))?,
            _ => return None,
        };
        (cx.same_type(x, value) && factor.is_finite()).then_some((x, factor))
    };
    found().unwrap_or((value, 1.0))
}

/// Removes the repetition of key and value heads for their groups.
fn grouped(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let mut inputs: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
    if inputs.len() > 4 || cx.rank(*inputs.first()?) != Some(4) {
        return None;
    }
    let ((keys, key_cast), (values, value_cast)) = (uncast(cx, *inputs.get(1)?)?, uncast(cx, *inputs.get(2)?)?);
    let (keys, values) = (repeated(cx, keys)?, repeated(cx, values)?);
    if cx.shape(keys)?.get(1) != cx.shape(values)?.get(1) {
        return None;
    }
    *inputs.get_mut(1)? = cast_again(cx, keys, key_cast)?;
    *inputs.get_mut(2)? = cast_again(cx, values, value_cast)?;
    cx.remade(node, &inputs)
}

/// Matches `[N, heads, ...]` expanded through `[N, heads, 1, ...]` and `[N, heads, groups, ...]` to `[N, heads *
/// groups, ...]`.
fn repeated(cx: &Rewriter<'_>, value: Value) -> Option<Value> {
    let flat = cx.made_by(value, "Reshape")?;
    let wide = cx.input_node(&flat, 0, "Expand")?;
    let ones = wide.input(0)?;
    let x = cx.producer(ones).filter(|node| matches!(node.op, "Unsqueeze" | "Reshape"))?.input(0)?;
    let [batch, heads, length, features] = cx.shape(x)?.to_vec().try_into().ok()?;
    let groups = cx.shape(flat.input(0)?)?.get(2)?.clone();
    let (rest, one) = ([length, features], aten2onnx_core::sym::SymInt::from(1));
    let with = |middle: &[aten2onnx_core::sym::SymInt]| [&[batch.clone()][..], middle, &rest[..]].concat();
    let steps = [
        (ones, with(&[heads.clone(), one])),
        (flat.input(0)?, with(&[heads.clone(), groups.clone()])),
        (value, with(&[heads.mul(&groups)])),
    ];
    steps.iter().all(|(value, sizes)| cx.shape(*value) == Some(sizes)).then_some(x)
}
