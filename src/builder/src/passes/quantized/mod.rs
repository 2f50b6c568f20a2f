//! Quantized weights: integers with a scale and a zero point for each block. The passes in this folder recognize how a model computes floats
//! from them, spelled out or not, and write it in as few bytes and as fast as the target can.
//!
//! They must not compute a float, nor write integers twice: what something else reads too stays as it is.

mod activations;
mod columns;
mod convolutions;
mod experts;
mod exponents;
mod integers;
mod lookup;
mod narrow;
mod nbits;
mod packed;
mod products;
mod raise;
mod rows;
mod spread;
mod tables;

pub(super) use activations::unsigned_activations;
pub(super) use columns::scale_columns;
pub(super) use convolutions::{floats, quantize_convolutions, whole_bias};
pub(super) use experts::fuse_experts;
pub(super) use exponents::raise_exponents;
pub(super) use lookup::look_up_rows;
pub(super) use narrow::narrow_integers;
pub(super) use nbits::multiply_nbits;
pub(super) use packed::pack_integers;
pub(super) use products::multiply_integers;
pub(super) use raise::raise_dequantization;
pub(super) use tables::look_up_tables;

use aten2onnx_core::axes::counted_from_start;
use std::sync::Arc;

use spread::Spread;

use super::rewriter::Rewriter;
use crate::build::{Scalar, decode};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Digits, Storage, Weight, row_major};
use aten2onnx_onnx::graph::{Node, Source, Value};

/// How many nodes between the weight and its user are looked through.
const DEPTH: usize = 6;

/// `(codes - zero) * scale`.
pub(super) struct Dequantized {
    /// The integers.
    codes: Weight,
    /// One number for each block: the rank is that of the integers, and each size divides theirs.
    scale: Weight,
    /// Integers with the sizes of the scale.
    zero: Option<Weight>,
}

impl Dequantized {
    /// What computes a value that has no other users, if it is a dequantized weight.
    pub(super) fn of(cx: &Rewriter<'_>, value: Value) -> Option<Dequantized> {
        value_of(cx, value, DEPTH)
    }

    /// What a node computes.
    fn of_node(cx: &Rewriter<'_>, node: &Node) -> Option<Dequantized> {
        of_node(cx, node, DEPTH)
    }

    /// The sizes of the blocks.
    fn blocks(&self) -> Vec<i64> {
        self.codes.sizes.iter().zip(&self.scale.sizes).map(|(n, count)| n / count.max(&1)).collect()
    }

    /// The parts in another shape of as many elements, if blocks stay blocks.
    fn reshaped(self, sizes: &[i64]) -> Option<Dequantized> {
        let grid = regrouped(&self.codes.sizes, &self.scale.sizes, sizes)?;
        Some(Dequantized {
            codes: self.codes.reshaped(sizes)?,
            scale: self.scale.reshaped(&grid)?,
            zero: self.zero.map(|zero| zero.reshaped(&grid).ok_or(())).transpose().ok()?,
        })
    }

    /// The dimensions in another order.
    fn transposed(self, perm: Option<&[i64]>) -> Option<Dequantized> {
        Some(Dequantized {
            codes: transposed(&self.codes, perm)?,
            scale: transposed(&self.scale, perm)?,
            zero: self.zero.map(|zero| transposed(&zero, perm).ok_or(())).transpose().ok()?,
        })
    }
}

fn transposed(weight: &Weight, perm: Option<&[i64]>) -> Option<Weight> {
    viewed(weight, |weight| weight.transposed(perm))
}

/// A view of a weight or, if its integers are computed, of what they are computed from.
fn viewed(weight: &Weight, view: impl Fn(&Weight) -> Option<Weight>) -> Option<Weight> {
    let Storage::Digits(digits) = &weight.storage else { return view(weight) };
    let made = (**digits).clone().viewed(&weight.sizes, view)?;
    let sizes = made.source().sizes.clone();
    made.weight(weight.dtype, &sizes)
}

fn value_of(cx: &Rewriter<'_>, value: Value, depth: usize) -> Option<Dequantized> {
    let node = cx.producer(value).filter(|_| cx.is_read_once(value))?.clone();
    of_node(cx, &node, depth)
}

fn of_node(cx: &Rewriter<'_>, node: &Node, depth: usize) -> Option<Dequantized> {
    let result = node.outputs.first().copied().flatten()?;
    let sizes = cx.known_sizes(result)?;
    let inner = |i: usize| depth.checked_sub(1).and_then(|depth| value_of(cx, node.input(i)?, depth));
    match node.op {
        "DequantizeLinear" => of_operator(cx, node, &sizes),
        "Mul" => of_product(cx, node, &sizes),
        "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => inner(0)?.reshaped(&sizes),
        "Transpose" => inner(0)?.transposed(node.ints("perm")),
        _ => None,
    }
}

fn of_operator(cx: &Rewriter<'_>, node: &Node, sizes: &[i64]) -> Option<Dequantized> {
    let result = node.outputs.first().copied().flatten()?;
    let codes = own_weight(cx, node.input(0)?).filter(|codes| codes.dtype.is_int())?;
    let scale = weight(cx, node.input(1)?).filter(|scale| scale.dtype == cx.dtype(result))?;
    let zero = match node.input(2) {
        Some(zero) => Some(weight(cx, zero)?),
        None => None,
    };
    let rank = sizes.len();
    let axis = node.int("axis").unwrap_or(1);
    let axis = counted_from_start(axis, rank)?;
    let grid = match (scale.sizes.as_slice(), node.int("block_size").unwrap_or(0)) {
        ([] | [1], 0) => vec![1; rank],
        ([n], 0) if sizes.get(axis) == Some(n) => (0..rank).map(|i| if i == axis { *n } else { 1 }).collect(),
        (grid, block)
            if block > 0 && grid.len() == rank && grid.get(axis)?.checked_mul(block).as_ref() == sizes.get(axis) =>
        {
            grid.to_vec()
        }
        _ => return None,
    };
    let zero = zero.map(|zero| zero.reshaped(&grid).ok_or(())).transpose().ok()?;
    Some(Dequantized { codes, scale: scale.reshaped(&grid)?, zero })
}

/// `scale * codes` or `scale * (codes - zero)` in floats.
fn of_product(cx: &Rewriter<'_>, node: &Node, sizes: &[i64]) -> Option<Dequantized> {
    let (a, b) = (node.input(0)?, node.input(1)?);
    [(a, b), (b, a)].into_iter().find_map(|(whole, scale)| {
        let Spread { value: scale, grid } = Spread::of(cx, scale, sizes)?;
        let scale = weight(cx, scale).filter(|scale| scale.dtype.is_float())?;
        let (codes, zero) = difference(cx, whole, sizes)?;
        let zero = match zero {
            Some((zero, own)) if own == grid => Some(zero.reshaped(&grid)?),
            Some(_) => return None,
            None => None,
        };
        Some(Dequantized { codes, scale: scale.reshaped(&grid)?, zero })
    })
}

/// Zero points, and the number of blocks along each axis.
type Zero = (Weight, Vec<i64>);

/// Integers as floats, and the zero points that are subtracted from them before or after they are cast.
fn difference(cx: &Rewriter<'_>, whole: Value, sizes: &[i64]) -> Option<(Weight, Option<Zero>)> {
    let node = cx.producer(whole).filter(|_| cx.is_read_once(whole))?.clone();
    let cast = |value: Value| own(cx, value, "Cast").and_then(|cast| cast.input(0));
    let codes = |value: Value| codes_of(cx, value).filter(|codes| codes.sizes == sizes);
    let spread = |value: Value| {
        let Spread { value, grid } = Spread::of(cx, value, sizes)?;
        Some((whole_numbers(cx, value)?, grid))
    };
    if node.op == "Sub" {
        return Some((codes(cast(node.input(0)?)?)?, Some(spread(node.input(1)?)?)));
    }
    let inner = node.input(0).filter(|_| node.op == "Cast")?;
    if let Some(found) = codes(inner).filter(|found| range(found, (-8, 15)).is_some() || !is_difference(cx, inner)) {
        return Some((found, None));
    }
    let difference = own(cx, inner, "Sub")?;
    Some((codes(difference.input(0)?)?, Some(spread(difference.input(1)?)?)))
}

/// Whether integers are subtracted that are not the same for all.
fn is_difference(cx: &Rewriter<'_>, value: Value) -> bool {
    cx.made_by(value, "Sub")
        .and_then(|node| node.input(1))
        .is_some_and(|zero| cx.builder.constant_scalar(zero).is_none())
}

/// The integers of a weight, or those that a model unpacks from one.
fn codes_of(cx: &Rewriter<'_>, value: Value) -> Option<Weight> {
    own_weight(cx, value).filter(|codes| codes.dtype.is_int()).or_else(|| integers::weight_of(cx, value))
}

/// Integers that a model casts to floats, or floats without fractions.
fn whole_numbers(cx: &Rewriter<'_>, value: Value) -> Option<Weight> {
    let inner = own(cx, value, "Cast").and_then(|cast| cast.input(0)).unwrap_or(value);
    if cx.dtype(inner).is_int() {
        return weight(cx, inner).filter(|zero| zero.dtype.is_int()).or_else(|| integers::weight_of(cx, inner));
    }
    let constant = super::constants::known(cx, value)?;
    let numbers = decode(constant.dtype, constant.bytes())?;
    let numbers: Vec<f64> = numbers.iter().map(Scalar::as_float).collect::<Option<_>>()?;
    let is_whole = |x: &f64| x.fract() == 0.0 && x.abs() <= f64::from(i32::MAX);
    let bytes: Vec<u8> =
        numbers.iter().all(is_whole).then(|| numbers.iter().flat_map(|x| (*x as i32).to_le_bytes()).collect())?;
    Some(owned(Dtype::Int32, &constant.sizes, bytes.into()))
}

/// The node with this operator that computes a value without other users.
fn own(cx: &Rewriter<'_>, value: Value, op: &str) -> Option<Node> {
    cx.made_by(value, op).filter(|_| cx.is_read_once(value))
}

/// A weight or constant.
fn weight(cx: &Rewriter<'_>, value: Value) -> Option<Weight> {
    match cx.builder.source(value) {
        Source::Weight(weight) => Some((**weight).clone()),
        Source::Constant(constant) if constant.is_consistent() && constant.dtype != Dtype::String => {
            Some(owned(constant.dtype, &constant.sizes, constant.bytes().into()))
        }
        _ => None,
    }
}

/// A weight or constant that nothing else reads.
fn own_weight(cx: &Rewriter<'_>, value: Value) -> Option<Weight> {
    weight(cx, value).filter(|_| cx.is_read_once(value))
}

/// Whether a Gemm has factors of 1, and its first operand as it is.
pub(super) fn is_plain(node: &Node) -> bool {
    let is_one = |name: &str| node.float(name).unwrap_or(1.0) == 1.0;
    is_one("alpha") && is_one("beta") && node.int("transA").unwrap_or(0) == 0
}

/// Whether operators of integers say what DequantizeLinear cannot before opset 13: a scale for each channel of a weight. Spelled out, ONNX Runtime
/// folds the floats of the weight, and quantizes them again with one scale. At opset 10 it even makes nodes that the opset lacks.
fn has_integer_forms(cx: &Rewriter<'_>) -> bool {
    let is_fused = cx.builder.quantized().unsigned;
    match cx.builder.opset() {
        10 => is_fused || !cx.builder.has_target(),
        11 | 12 => is_fused,
        _ => false,
    }
}

/// A weight as a value.
fn stored(cx: &mut Rewriter<'_>, weight: Weight) -> Value {
    cx.builder.weight(Arc::new(weight))
}

fn owned(dtype: Dtype, sizes: &[i64], bytes: Arc<[u8]>) -> Weight {
    let storage = Storage::Owned(bytes);
    Weight { name: String::new(), dtype, sizes: sizes.to_vec(), strides: row_major(sizes), offset: 0, storage }
}

/// The sizes of an operand that broadcasts to `sizes`, with as many dimensions.
fn aligned(operand: &[i64], sizes: &[i64]) -> Option<Vec<i64>> {
    let missing = sizes.len().checked_sub(operand.len())?;
    let grid: Vec<i64> = std::iter::repeat_n(1, missing).chain(operand.iter().copied()).collect();
    grid.iter().zip(sizes).all(|(a, b)| *a == 1 || a == b).then_some(grid)
}

/// The number of blocks along each axis when a tensor of sizes `from` with `grid` blocks gets the sizes `to`; None if blocks would be cut
/// or joined.
fn regrouped(from: &[i64], grid: &[i64], to: &[i64]) -> Option<Vec<i64>> {
    // Each axis is blocks and then elements of a block: a finer tensor, of which both shapes are groups.
    let mut parts: Vec<(i64, bool)> = Vec::new();
    for (n, count) in from.iter().zip(grid) {
        if *n < 1 || *count < 1 || n % count != 0 {
            return None;
        }
        parts.extend([(*count, true), (n / count, false)].into_iter().filter(|(size, _)| *size > 1));
    }
    let mut parts = parts.into_iter();
    let mut rest: Option<(i64, bool)> = None;
    let mut made = Vec::with_capacity(to.len());
    for n in to {
        let (mut left, mut count, mut inside) = (*n, 1, false);
        while left > 1 {
            let (size, is_block) = rest.take().or_else(|| parts.next())?;
            // Elements of a block before further blocks: no grid says that.
            if is_block && inside {
                return None;
            }
            inside |= !is_block;
            let taken = if left % size == 0 {
                size
            } else if size % left == 0 {
                rest = Some((size / left, is_block));
                left
            } else {
                return None;
            };
            left /= taken;
            count *= if is_block { taken } else { 1 };
        }
        made.push(count);
    }
    (rest.is_none() && parts.next().is_none()).then_some(made)
}

/// The integers of a weight, if all lie within these limits.
fn range(weight: &Weight, limits: (i64, i64)) -> Option<(i64, i64)> {
    Digits::of(weight)?.range(limits).ok().flatten()
}

/// Integers in another dtype, if they fit.
fn same_dtype(weight: &Weight, dtype: Dtype) -> Option<Weight> {
    if weight.dtype == dtype {
        return Some(weight.clone());
    }
    range(weight, limits(dtype)?)?;
    Digits::of(weight)?.weight(dtype, &weight.sizes)
}

/// The integers of a dtype of at most 8 bits.
fn limits(dtype: Dtype) -> Option<(i64, i64)> {
    let bits = dtype.bits();
    match dtype.is_signed_int() {
        true if bits <= 8 => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        false if bits <= 8 && dtype.is_unsigned() => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}
