//! Computes a mixture of quantized experts by ONNX Runtime's `QMoE`, if the target has it: each token is multiplied with the weights of its own
//! experts only, and these never become floats in memory. Without it the weights of all experts are dequantized, and those of each token copied.
//!
//! Recognized is what transformers calls `batched_mm`: the weights of a token's experts are gathered, gate and up are the halves of one product,
//! and the results are added with the weights that the router gives. It must not choose other experts, nor weigh them otherwise.

use std::ops::RangeInclusive;

use super::super::rewriter::Rewriter;
use super::rows::Rows;
use super::{Dequantized, stored};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::graph::{Attr, Node, Value};

const OPERATOR: &str = "com.microsoft::QMoE";
/// The numbers of integers that may have a common scale, unless it is a whole row.
const BLOCKS: RangeInclusive<i64> = 16..=256;
/// Of blocks with more bits, the operator rounds the other operand to 8 bits.
const MOST_BITS_OF_BLOCKS: u32 = 4;

pub(in super::super) fn fuse_experts(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let widths = cx.builder.quantized().experts;
    if cx.passes.keep_weights || widths.is_empty() || node.op != "ReduceSum" || node.int("keepdims") != Some(0) {
        return None;
    }
    let result = node.outputs.first().copied().flatten()?;
    let parts = Parts::of(cx, node)?;
    let &[experts, outputs, inner] = parts.down.codes.sizes.as_slice() else { return None };
    let &[_, both, inputs] = parts.gate_up.codes.sizes.as_slice() else { return None };
    let fits = parts.gate_up.codes.sizes.first() == Some(&experts) && both == 2 * inner && inputs == outputs;
    let is_float = |dequantized: &Dequantized| dequantized.scale.dtype == Dtype::Float32;
    if !fits || !is_float(&parts.gate_up) || !is_float(&parts.down) || cx.dtype(result) != Dtype::Float32 {
        return None;
    }
    // A row of the gate, then the row of up that it is multiplied with.
    let gate_up = parts.gate_up.reshaped(&[experts, 2, inner, inputs])?.transposed(Some(&[0, 2, 1, 3]))?;
    let [gate_up, down] = Matrix::both(widths, gate_up, parts.down)?;
    let (bits, block) = (down.bits, down.block);
    let gate_up = gate_up.written(cx, &[experts, both, inputs])?;
    let down = down.written(cx, &[experts, outputs, inner])?;
    let sizes = cx.builder.ints(&[-1, inputs]);
    let x = cx.make("Reshape", &[parts.x, sizes], vec![])?;
    let Routing { scores, weights, is_normalized } = parts.routing.written(cx)?;
    let mut given = vec![Some(x), Some(scores), gate_up[0], gate_up[1], None, down[0], down[1], None];
    given.extend([None, None, None, gate_up[2], down[2], None, weights]);
    while given.last().is_some_and(Option::is_none) {
        given.pop();
    }
    let mut attrs = vec![
        ("activation_type", Attr::Str("swiglu".to_owned())),
        ("expert_weight_bits", Attr::Int(bits.into())),
        ("k", Attr::Int(parts.k)),
        ("normalize_routing_weights", Attr::Int(is_normalized.into())),
        ("swiglu_fusion", Attr::Int(1)),
    ];
    attrs.extend(block.map(|block| ("block_size", Attr::Int(block))));
    cx.make_own(OPERATOR, given, attrs, result)
}

/// The parts of a mixture of experts.
struct Parts {
    /// The tokens, in any shape.
    x: Value,
    gate_up: Dequantized,
    down: Dequantized,
    routing: Routes,
    /// The number of experts of each token.
    k: i64,
}

impl Parts {
    /// `sum(down[experts] @ (silu(gate) * up) * weights)`.
    fn of(cx: &Rewriter<'_>, sum: &Node) -> Option<Parts> {
        let axes = sum.ints("axes").map(<[i64]>::to_vec).or_else(|| cx.ints(sum.input(1)?))?;
        let added = sum.input(0)?;
        let tokens_first = cx.rank(added)? == 3 && matches!(axes.as_slice(), [1 | -2]);
        let product = cx.made_by(reshaped(cx, added), "Mul").filter(|_| tokens_first)?;
        let (a, b) = (product.input(0)?, product.input(1)?);
        let (projection, weights) =
            [(a, b), (b, a)].into_iter().find_map(|(a, b)| Some((Projection::of(cx, a)?, reshaped(cx, b))))?;
        let (gate, up) = gated(cx, projection.x)?;
        let split = cx.made_by(gate, "Split")?;
        let halves = [Some(gate), Some(up)];
        let last = split.int("axis").unwrap_or(0);
        let is_last = last == -1 || usize::try_from(last).ok() == Some(cx.rank(gate)?.checked_sub(1)?);
        if split.outputs != halves || !is_last || cx.shape(gate) != cx.shape(up) {
            return None;
        }
        let first = Projection::of(cx, split.input(0)?)?;
        let top = cx.made_by(projection.experts, "TopK")?;
        let is_top = first.experts == projection.experts
            && top.outputs.get(1).copied().flatten() == Some(projection.experts)
            && top.int("largest").unwrap_or(1) == 1
            && cx.rank(projection.experts)? == 2
            && matches!(top.int("axis").unwrap_or(-1), 1 | -1);
        is_top.then_some(())?;
        let &[k] = cx.ints(top.input(1)?)?.as_slice() else { return None };
        if cx.shape(added)?.get(1)?.known() != Some(k) {
            return None;
        }
        let x = repeated(cx, first.x, k)?;
        let routing = Routes { top, weights };
        Some(Parts { x, gate_up: first.weight, down: projection.weight, routing, k })
    }
}

/// Rows of a product with the weights of an expert for each row.
struct Projection {
    weight: Dequantized,
    /// The expert of each row, before reshapes.
    experts: Value,
    /// The other operand, before reshapes.
    x: Value,
}

impl Projection {
    fn of(cx: &Rewriter<'_>, value: Value) -> Option<Projection> {
        let product = cx.made_by(reshaped(cx, value), "MatMul")?;
        let (chosen, x) = (product.input(0)?, product.input(1)?);
        let gather = cx.made_by(chosen, "Gather").filter(|gather| gather.int("axis").unwrap_or(0) == 0)?;
        let weight = Dequantized::of(cx, gather.input(0)?)?;
        // Each row is a column here.
        let is_column = cx.rank(x)? == 3 && cx.shape(x)?.last()?.known() == Some(1);
        let experts = reshaped(cx, gather.input(1)?);
        (is_column && cx.rank(chosen)? == 3).then(|| Projection { weight, experts, x: reshaped(cx, x) })
    }
}

/// What is only given another shape.
fn reshaped(cx: &Rewriter<'_>, mut value: Value) -> Value {
    while let Some(node) =
        cx.producer(value).filter(|node| matches!(node.op, "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze"))
    {
        let Some(inner) = node.input(0) else { break };
        value = inner;
    }
    value
}

/// The parts of `x * sigmoid(x) * y`.
fn gated(cx: &Rewriter<'_>, value: Value) -> Option<(Value, Value)> {
    let product = cx.made_by(value, "Mul")?;
    let (a, b) = (product.input(0)?, product.input(1)?);
    [(a, b), (b, a)].into_iter().find_map(|(silu, up)| {
        if let Some(swish) = cx.made_by(silu, "Swish").filter(|swish| swish.float("alpha").unwrap_or(1.0) == 1.0) {
            return Some((swish.input(0)?, up));
        }
        let silu = cx.made_by(silu, "Mul")?;
        let (a, b) = (silu.input(0)?, silu.input(1)?);
        let is_sigmoid = |of: Value, x: Value| cx.made_by(of, "Sigmoid").and_then(|node| node.input(0)) == Some(x);
        [(a, b), (b, a)].into_iter().find(|(x, sigmoid)| is_sigmoid(*sigmoid, *x)).map(|(x, _)| (x, up))
    })
}

/// The rows of which each is repeated `k` times.
fn repeated(cx: &Rewriter<'_>, value: Value, k: i64) -> Option<Value> {
    if k == 1 && cx.made_by(value, "Expand").is_none() {
        return Some(value);
    }
    let expand = cx.made_by(value, "Expand")?;
    let (rows, made) = (expand.input(0)?, expand.outputs.first().copied().flatten()?);
    let (from, to) = (cx.shape(rows)?, cx.shape(made)?);
    let ([rows_of, one, width], [made_of, times, same]) = (from, to) else { return None };
    let is_repeat = rows_of == made_of && width == same && one.known() == Some(1) && times.known() == Some(k);
    is_repeat.then(|| reshaped(cx, rows))
}

/// How a model chooses and weighs experts.
struct Routes {
    top: Node,
    /// The weight of each chosen expert.
    weights: Value,
}

/// How the operator does.
struct Routing {
    /// What experts are chosen by.
    scores: Value,
    /// The weights of all experts.
    weights: Option<Value>,
    /// Whether the weights are the softmax of the chosen scores.
    is_normalized: bool,
}

impl Routes {
    fn written(self, cx: &mut Rewriter<'_>) -> Option<Routing> {
        let (scores, indices) = (self.top.input(0)?, self.top.outputs.get(1).copied().flatten()?);
        let chosen = self.top.outputs.first().copied().flatten();
        if Some(self.weights) == chosen {
            return Some(Routing { scores, weights: Some(scores), is_normalized: false });
        }
        if let Some(logits) = self.softmax(cx) {
            return Some(Routing { scores: logits, weights: None, is_normalized: true });
        }
        if cx.shape(self.weights) != cx.shape(indices) || cx.dtype(self.weights) != cx.dtype(scores) {
            return None;
        }
        let sizes = cx.make("Shape", &[scores], vec![])?;
        let none = cx.make("ConstantOfShape", &[sizes], vec![])?;
        let weights = cx.make("ScatterElements", &[none, indices, self.weights], vec![("axis", Attr::Int(1))])?;
        Some(Routing { scores, weights: Some(weights), is_normalized: false })
    }

    /// The scores whose softmax is divided by the sum of the chosen ones.
    fn softmax(&self, cx: &Rewriter<'_>) -> Option<Value> {
        let chosen = self.top.outputs.first().copied().flatten()?;
        let softmax = cx.made_by(self.top.input(0)?, "Softmax")?;
        let quotient = cx.made_by(self.weights, "Div").filter(|node| node.input(0) == Some(chosen))?;
        let sum = cx.made_by(quotient.input(1)?, "ReduceSum").filter(|node| node.input(0) == Some(chosen))?;
        let axes = sum.ints("axes").map(<[i64]>::to_vec).or_else(|| cx.ints(sum.input(1)?))?;
        let is_last = |axis: i64| matches!(axis, 1 | -1);
        let fits = sum.int("keepdims").unwrap_or(1) == 1
            && matches!(axes.as_slice(), [axis] if is_last(*axis))
            && is_last(softmax.int("axis").unwrap_or(-1));
        softmax.input(0).filter(|_| fits)
    }
}

/// The weights of all experts, as the operator reads them.
struct Matrix {
    rows: Rows,
    bits: u32,
    /// None: a scale for each row.
    block: Option<i64>,
}

impl Matrix {
    /// Both with the same bits and blocks, as the operator demands.
    fn both(widths: &[u32], first: Dequantized, second: Dequantized) -> Option<[Matrix; 2]> {
        let is_row = |parts: &Dequantized| parts.scale.sizes.last() == Some(&1);
        let by_row = is_row(&first) && is_row(&second);
        let rows = |widths: &[u32], parts: &Dequantized| {
            let parts =
                Dequantized { codes: parts.codes.clone(), scale: parts.scale.clone(), zero: parts.zero.clone() };
            if by_row { Rows::whole(widths, parts) } else { Rows::of(widths, parts, &BLOCKS) }
        };
        let bits = rows(widths, &first)?.bits.max(rows(widths, &second)?.bits);
        let (first, second) = (rows(&[bits], &first)?, rows(&[bits], &second)?);
        let fits = by_row || (first.block == second.block && bits <= MOST_BITS_OF_BLOCKS);
        let block = (!by_row).then_some(first.block);
        fits.then(|| [first, second].map(|rows| Matrix { rows, bits, block }))
    }

    /// The bytes of the integers, the scales and the zero points.
    fn written(self, cx: &mut Rewriter<'_>, &[experts, rows, columns]: &[i64; 3]) -> Option<[Option<Value>; 3]> {
        let Matrix { rows: parts, bits, block } = self;
        let codes = parts.codes.bytes(bits, &[experts, rows, columns * i64::from(bits) / 8])?;
        let codes = stored(cx, codes);
        let counts = block.map(|block| columns / block);
        let mut sizes = vec![experts, rows];
        sizes.extend(counts);
        let scale = shaped(cx, parts.scale, &sizes)?;
        let zero = match parts.zero {
            Some(zero) => {
                let mut sizes = vec![experts];
                let of_row = zero.sizes.last().copied()?;
                match block {
                    Some(_) => sizes.extend([rows, of_row]),
                    None => sizes.push(zero.sizes.iter().product::<i64>() / experts),
                }
                Some(shaped(cx, zero, &sizes)?)
            }
            None => None,
        };
        Some([Some(codes), Some(scale), zero])
    }
}

/// A weight in another shape; a node gives it if the weight is strided.
fn shaped(cx: &mut Rewriter<'_>, weight: Weight, sizes: &[i64]) -> Option<Value> {
    if let Some(weight) = weight.reshaped(sizes) {
        return Some(stored(cx, weight));
    }
    let (weight, sizes) = (stored(cx, weight), cx.builder.ints(sizes));
    cx.make("Reshape", &[weight, sizes], vec![])
}
