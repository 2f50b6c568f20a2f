//! Fuses RotaryEmbedding (opset 23): `x * cos + rotated(x) * sin`, where halves of the last dimension are rotated as in
//! Llama, or adjacent pairs as in GPT-J; also if only the first features are rotated and joined with the others.
//!
//! It must not fuse angles that differ between the halves or within a pair: cosines and sines are traced to the node
//! that repeats them.

use super::super::constants::known;
use super::super::fuse::ROTARY_EMBEDDING;
use super::super::rewriter::Rewriter;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Constant, Node, Source, Value};

/// How many nodes are followed from the cosines.
const DEPTH: usize = 12;

/// Which features are rotated together.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// One of the first half with one of the second.
    Halves,
    /// Each with its neighbor.
    Pairs,
}

pub(in super::super) fn fuse_rotary_embedding(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    cx.fusions.has(ROTARY_EMBEDDING).then_some(())?;
    match node.op {
        "Add" if cx.has("RotaryEmbedding") => whole(cx, node),
        "Concat" if cx.has("RotaryEmbedding") => partial(cx, node),
        _ => None,
    }
}

fn whole(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let (a, b) = (cx.input_node(node, 0, "Mul")?, cx.input_node(node, 1, "Mul")?);
    let Turned { x, sine, cosine, order } =
        [(&a, &b), (&b, &a)].into_iter().find_map(|(straight, crossed)| turned(cx, straight, crossed))?;
    let [batch, _, length, features] = cx.shape(x)?.to_vec().try_into().ok()?;
    let half = features.known().filter(|n| n % 2 == 0)? / 2;
    if !matches!(cx.dtype(x), Dtype::Float32 | Dtype::Float16) {
        return None;
    }
    let table = [batch, length, SymInt::from(half)];
    let cosine = halved(cx, cosine, order, &table)?;
    let sine = halved(cx, sine, order, &table)?;
    let attrs = match order {
        Order::Halves => vec![],
        Order::Pairs => vec![("interleaved", Attr::Int(1))],
    };
    cx.make("RotaryEmbedding", &[x, cosine, sine], attrs)
}

/// Matches rotated first features joined with unchanged ones.
fn partial(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let [Some(first), Some(rest)] = *node.inputs.as_slice() else { return None };
    let rotary = cx.made_by(first, "RotaryEmbedding").filter(|_| cx.is_read_once(first))?;
    let source = rotary.input(0)?;
    let split = cx.made_by(rest, "Split")?;
    let x = split.input(0)?;
    let is_split = split.outputs == [Some(source), Some(rest)];
    let is_along_last = is_last(cx, x, node.int("axis")?) && is_last(cx, x, split.int("axis").unwrap_or(0));
    if !is_split || !is_along_last || cx.rank(x) != Some(4) || rotary.int("rotary_embedding_dim").unwrap_or(0) != 0 {
        return None;
    }
    let features = cx.shape(source)?.last()?.known()?;
    let mut attrs = rotary.attrs.clone();
    attrs.retain(|(name, _)| *name != "rotary_embedding_dim");
    attrs.push(("rotary_embedding_dim", Attr::Int(features)));
    cx.make("RotaryEmbedding", &[x, rotary.input(1)?, rotary.input(2)?], attrs)
}

struct Turned {
    x: Value,
    cosine: Value,
    sine: Value,
    order: Order,
}

/// `x * cosine` and `rotated(x) * sine`
fn turned(cx: &Rewriter<'_>, straight: &Node, crossed: &Node) -> Option<Turned> {
    for (rotated, sine) in operands(crossed)? {
        let origin = halves_rotated(cx, rotated).map(|x| (x, Order::Halves));
        let Some((origin, order)) = origin.or_else(|| Some((pairs_rotated(cx, rotated)?, Order::Pairs))) else {
            continue;
        };
        let found = operands(straight)?.into_iter().find(|(x, _)| *x == origin);
        return found.map(|(x, cosine)| Turned { x, cosine, sine, order });
    }
    None
}

fn operands(node: &Node) -> Option<[(Value, Value); 2]> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    Some([(a, b), (b, a)])
}

/// The input of a rotation that swaps the halves of the last dimension and negates the new first one.
fn halves_rotated(cx: &Rewriter<'_>, value: Value) -> Option<Value> {
    let joined = cx.made_by(value, "Concat")?;
    let [Some(negative), Some(first)] = *joined.inputs.as_slice() else { return None };
    let second = cx.made_by(negative, "Neg")?.input(0)?;
    let split = cx.made_by(first, "Split")?;
    let is_split = split.outputs == [Some(first), Some(second)] && same_sizes(cx, first, second);
    let x = split.input(0)?;
    (is_split && is_last(cx, x, joined.int("axis")?) && is_last(cx, x, split.int("axis").unwrap_or(0))).then_some(x)
}

/// The input of a rotation that swaps the elements of each pair and negates the new first one.
fn pairs_rotated(cx: &Rewriter<'_>, value: Value) -> Option<Value> {
    let flat = cx.made_by(value, "Reshape")?;
    let joined = cx.input_node(&flat, 0, "Concat")?;
    let [Some(first), Some(second)] = *joined.inputs.as_slice() else { return None };
    let negative = cx.made_by(on_its_own(cx, first)?, "Neg")?.input(0)?;
    let (x, second_of_each) = every_other(cx, negative)?;
    let (origin, first_of_each) = every_other(cx, on_its_own(cx, second)?)?;
    let is_paired = is_last(cx, flat.input(0)?, joined.int("axis")?) && cx.shape(value).is_some();
    let fits = x == origin && (first_of_each, second_of_each) == (0, 1) && cx.shape(value) == cx.shape(x);
    (is_paired && fits).then_some(x)
}

/// The input of a node that adds a last dimension of 1.
fn on_its_own(cx: &Rewriter<'_>, value: Value) -> Option<Value> {
    let x = cx.producer(value).filter(|node| matches!(node.op, "Unsqueeze" | "Reshape"))?.input(0)?;
    let (one, rest) = cx.shape(value)?.split_last()?;
    (*one == 1 && cx.shape(x)? == rest).then_some(x)
}

/// The input of a slice with step 2 along the last dimension, and the start.
fn every_other(cx: &Rewriter<'_>, value: Value) -> Option<(Value, i64)> {
    let slice = cx.made_by(value, "Slice")?;
    let x = slice.input(0)?;
    let only = |i: usize| match *cx.ints(slice.input(i)?)?.as_slice() {
        [n] => Some(n),
        _ => None,
    };
    let (start, step) = (only(1)?, only(4)?);
    let (size, taken) = (cx.shape(x)?.last()?.known()?, cx.shape(value)?.last()?.known()?);
    (is_last(cx, x, only(3)?) && step == 2 && 2 * taken == size).then_some((x, start))
}

fn same_sizes(cx: &Rewriter<'_>, a: Value, b: Value) -> bool {
    cx.shape(a).is_some() && cx.shape(a) == cx.shape(b)
}

fn is_last(cx: &Rewriter<'_>, x: Value, axis: i64) -> bool {
    cx.rank(x).is_some_and(|rank| axis == -1 || axis == rank as i64 - 1)
}

/// Half of the cosines or sines, which all heads share, as a table by sequence and position.
fn halved(cx: &mut Rewriter<'_>, value: Value, order: Order, table: &[SymInt; 3]) -> Option<Value> {
    let [batch, length, half] = table;
    // [length, features] or [batch or 1, optional 1 for the heads, length, features].
    let sizes = cx.shape(value)?.to_vec();
    let (own_batch, own_length) = match sizes.as_slice() {
        [own_length, _] => (SymInt::from(1), own_length),
        [own_batch, own_length, _] => (own_batch.clone(), own_length),
        [own_batch, heads, own_length, _] if *heads == 1 => (own_batch.clone(), own_length),
        _ => return None,
    };
    // With three dimensions against four, the first one is for the heads.
    let is_fit = own_batch == 1 || (own_batch == *batch && sizes.len() == 4);
    let features = half.known()? * 2;
    if !is_fit || own_length != length || sizes.last()?.known() != Some(features) {
        return None;
    }
    let first = half_of(cx, value, order, DEPTH)?;
    let own = [own_batch.clone(), length.clone(), half.clone()];
    let flat = if sizes.len() == 3 { first } else { cx.builder.reshape(first, &own).ok()? };
    if own_batch == *batch { Some(flat) } else { cx.builder.expand(flat, table).ok() }
}

/// The half that a value repeats along its last dimension.
fn half_of(cx: &mut Rewriter<'_>, value: Value, order: Order, depth: usize) -> Option<Value> {
    if let Source::Constant(_) | Source::Weight(_) = cx.builder.source(value) {
        return half_of_constant(cx, value, order);
    }
    let node = cx.producer(value).filter(|node| depth > 0 && node.outputs.len() == 1)?.clone();
    let mut inputs: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
    match node.op {
        "Concat" if order == Order::Halves && is_last(cx, value, node.int("axis")?) => match *inputs.as_slice() {
            [a, b] if a == b => Some(a),
            _ => None,
        },
        "Cast" | "Cos" | "Sin" => {
            let first = inputs.first_mut()?;
            *first = half_of(cx, *first, order, depth - 1)?;
            cx.remade(&node, &inputs)
        }
        "Mul" => {
            let at = inputs.iter().position(|input| cx.rank(*input) != Some(0))?;
            if inputs.iter().enumerate().any(|(i, input)| i != at && cx.rank(*input) != Some(0)) {
                return None;
            }
            let main = inputs.get_mut(at)?;
            *main = half_of(cx, *main, order, depth - 1)?;
            cx.remade(&node, &inputs)
        }
        "Reshape" if order == Order::Pairs && doubled(cx, *inputs.first()?, value).is_some() => {
            let half = doubled(cx, *inputs.first()?, value)?;
            let sizes = cx.shape(half)?.split_last()?.1.to_vec();
            cx.builder.reshape(half, &sizes).ok()
        }
        // The dimensions of size 1 are added before the last one.
        "Unsqueeze" | "Reshape" => {
            let x = *inputs.first()?;
            let (from, to) = (cx.shape(x)?.to_vec(), cx.shape(value)?.to_vec());
            let wide = |sizes: &[SymInt]| sizes.iter().filter(|n| **n != 1).cloned().collect::<Vec<_>>();
            if from.last() != to.last() || wide(&from) != wide(&to) {
                return None;
            }
            let first = half_of(cx, x, order, depth - 1)?;
            let mut sizes = to;
            *sizes.last_mut()? = cx.shape(first)?.last()?.clone();
            cx.builder.reshape(first, &sizes).ok()
        }
        _ => None,
    }
}

/// Matches `[.., n, 1]` repeated to `[.., n, 2]` and reshaped to `[.., 2 * n]`, returns the first.
fn doubled(cx: &Rewriter<'_>, pairs: Value, flat: Value) -> Option<Value> {
    let node = cx.producer(pairs)?;
    let half = match (node.op, node.inputs.as_slice()) {
        ("Expand", [Some(x), _]) => *x,
        ("Concat", [Some(a), Some(b)]) if a == b && is_last(cx, pairs, node.int("axis")?) => *a,
        _ => return None,
    };
    let (last, outer) = cx.shape(half)?.split_last()?;
    let (two, paired) = cx.shape(pairs)?.split_last()?;
    let (size, before) = outer.split_last()?;
    let (all, front) = cx.shape(flat)?.split_last()?;
    let is_double = all.known()? == size.known()?.checked_mul(2)?;
    (*last == 1 && *two == 2 && outer == paired && before == front && is_double).then_some(half)
}

fn half_of_constant(cx: &mut Rewriter<'_>, value: Value, order: Order) -> Option<Value> {
    let constant = known(cx, value)?;
    let last = usize::try_from(*constant.sizes.last()?).ok()?;
    let width = usize::try_from(constant.dtype.bits() / 8).ok()?;
    let half = (last / 2).checked_mul(width).filter(|bytes| *bytes > 0 && last % 2 == 0)?;
    let mut first = Vec::with_capacity(constant.bytes().len() / 2);
    // The repeated run: half a row, or one element.
    let run = if order == Order::Halves { half } else { width };
    for both in constant.bytes().chunks_exact(2 * run) {
        let (a, b) = both.split_at(run);
        if a != b {
            return None;
        }
        first.extend_from_slice(a);
    }
    let mut sizes = constant.sizes.clone();
    *sizes.last_mut()? = (last / 2) as i64;
    let made = Constant::new(constant.dtype, sizes, first);
    made.is_consistent().then(|| cx.builder.intern(made))
}
