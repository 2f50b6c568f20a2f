//! RotaryEmbedding (opset 23): `x * cos + rotated(x) * sin`, where the halves of the last dimension are rotated as in Llama.
//!
//! It must not take angles that differ between the halves: cosines and sines are followed to where the halves were joined.

use super::super::constants::known;
use super::super::rewriter::Rewriter;
use crate::dtype::Dtype;
use crate::graph::{Constant, Node, Source, Value};
use crate::sym::SymInt;

/// How far cosines are followed.
const DEPTH: usize = 12;

pub(in super::super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if node.op != "Add" || !cx.has("RotaryEmbedding") {
        return None;
    }
    let (a, b) = (cx.input_node(node, 0, "Mul")?, cx.input_node(node, 1, "Mul")?);
    let Turned { x, sine, cosine } =
        [(&a, &b), (&b, &a)].into_iter().find_map(|(straight, crossed)| turned(cx, straight, crossed))?;
    let [batch, _, length, features] = cx.shape(x)?.to_vec().try_into().ok()?;
    let half = features.known().filter(|n| n % 2 == 0)? / 2;
    if !matches!(cx.dtype(x), Dtype::Float32 | Dtype::Float16) {
        return None;
    }
    let table = [batch, length, SymInt::from(half)];
    let cosine = halved(cx, cosine, &table)?;
    let sine = halved(cx, sine, &table)?;
    cx.make("RotaryEmbedding", &[x, cosine, sine], vec![])
}

struct Turned {
    x: Value,
    cosine: Value,
    sine: Value,
}

/// `x * cosine` and `Concat(-second half of x, first half of x) * sine`
fn turned(cx: &Rewriter<'_>, straight: &Node, crossed: &Node) -> Option<Turned> {
    for (rotated, sine) in operands(crossed)? {
        let Some(origin) = rotated_from(cx, rotated) else { continue };
        let found = operands(straight)?.into_iter().find(|(x, _)| *x == origin);
        return found.map(|(x, cosine)| Turned { x, cosine, sine });
    }
    None
}

fn operands(node: &Node) -> Option<[(Value, Value); 2]> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    Some([(a, b), (b, a)])
}

/// What a value is with the halves of its last dimension swapped, the new first one negated.
fn rotated_from(cx: &Rewriter<'_>, value: Value) -> Option<Value> {
    let joined = cx.made_by(value, "Concat")?;
    let [Some(negative), Some(first)] = *joined.inputs.as_slice() else { return None };
    let second = cx.made_by(negative, "Neg")?.input(0)?;
    let split = cx.made_by(first, "Split")?;
    let is_split = split.outputs == [Some(first), Some(second)] && same_sizes(cx, first, second);
    let x = split.input(0)?;
    (is_split && is_last(cx, x, joined.int("axis")?) && is_last(cx, x, split.int("axis").unwrap_or(0))).then_some(x)
}

fn same_sizes(cx: &Rewriter<'_>, a: Value, b: Value) -> bool {
    cx.shape(a).is_some() && cx.shape(a) == cx.shape(b)
}

fn is_last(cx: &Rewriter<'_>, x: Value, axis: i64) -> bool {
    cx.rank(x).is_some_and(|rank| axis == -1 || axis == rank as i64 - 1)
}

/// The first half of cosines or sines that are the same for all heads, as a table for each place of each sequence.
fn halved(cx: &mut Rewriter<'_>, value: Value, table: &[SymInt; 3]) -> Option<Value> {
    let [batch, length, half] = table;
    // [length, features] or [batch or 1, perhaps 1 for the heads, length, features].
    let sizes = cx.shape(value)?.to_vec();
    let (own_batch, own_length) = match sizes.as_slice() {
        [own_length, _] => (SymInt::from(1), own_length),
        [own_batch, own_length, _] => (own_batch.clone(), own_length),
        [own_batch, heads, own_length, _] if *heads == 1 => (own_batch.clone(), own_length),
        _ => return None,
    };
    // Three dimensions beside four: the first one is that of the heads.
    let is_fit = own_batch == 1 || (own_batch == *batch && sizes.len() == 4);
    let features = half.known()? * 2;
    if !is_fit || own_length != length || sizes.last()?.known() != Some(features) {
        return None;
    }
    let first = first_half(cx, value, DEPTH)?;
    let own = [own_batch.clone(), length.clone(), half.clone()];
    let flat = if sizes.len() == 3 { first } else { cx.builder.reshape(first, &own).ok()? };
    if own_batch == *batch { Some(flat) } else { cx.builder.expand(flat, table).ok() }
}

/// The first half of a value along its last dimension, whose halves are the same.
fn first_half(cx: &mut Rewriter<'_>, value: Value, depth: usize) -> Option<Value> {
    if let Source::Constant(_) | Source::Weight(_) = cx.builder.source(value) {
        return first_half_of_constant(cx, value);
    }
    let node = cx.producer(value).filter(|node| depth > 0 && node.outputs.len() == 1)?.clone();
    let mut inputs: Vec<Value> = node.inputs.iter().copied().collect::<Option<_>>()?;
    match node.op {
        "Concat" if is_last(cx, value, node.int("axis")?) => match *inputs.as_slice() {
            [a, b] if a == b => Some(a),
            _ => None,
        },
        "Cast" | "Cos" | "Sin" => {
            let first = inputs.first_mut()?;
            *first = first_half(cx, *first, depth - 1)?;
            cx.remade(&node, &inputs)
        }
        "Mul" => {
            let at = inputs.iter().position(|input| cx.rank(*input) != Some(0))?;
            if inputs.iter().enumerate().any(|(i, input)| i != at && cx.rank(*input) != Some(0)) {
                return None;
            }
            let main = inputs.get_mut(at)?;
            *main = first_half(cx, *main, depth - 1)?;
            cx.remade(&node, &inputs)
        }
        // Ones put before the last dimension.
        "Unsqueeze" | "Reshape" => {
            let x = *inputs.first()?;
            let (from, to) = (cx.shape(x)?.to_vec(), cx.shape(value)?.to_vec());
            let wide = |sizes: &[SymInt]| sizes.iter().filter(|n| **n != 1).cloned().collect::<Vec<_>>();
            if from.last() != to.last() || wide(&from) != wide(&to) {
                return None;
            }
            let first = first_half(cx, x, depth - 1)?;
            let mut sizes = to;
            *sizes.last_mut()? = cx.shape(first)?.last()?.clone();
            cx.builder.reshape(first, &sizes).ok()
        }
        _ => None,
    }
}

fn first_half_of_constant(cx: &mut Rewriter<'_>, value: Value) -> Option<Value> {
    let constant = known(cx, value)?;
    let last = usize::try_from(*constant.sizes.last()?).ok()?;
    let width = usize::try_from(constant.dtype.bits() / 8).ok()?;
    let half = (last / 2).checked_mul(width).filter(|bytes| *bytes > 0 && last % 2 == 0)?;
    let mut first = Vec::with_capacity(constant.bytes().len() / 2);
    for row in constant.bytes().chunks_exact(2 * half) {
        let (a, b) = row.split_at(half);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::super::testing::{Net, ops};
    use crate::graph::{Attr, Value};

    /// As Transformers writes it: angles twice along the last dimension, and one set of heads.
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
        // An angle for each head.
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
}
