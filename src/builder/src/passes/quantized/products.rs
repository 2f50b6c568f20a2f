//! Multiplies activations that are quantized while the model runs with weights of 8 bits as integers. torchao's `_int_mm` of activations that
//! are moved by 128 becomes one MatMulInteger with a zero point. For runtimes that are faster so, a product of floats that are dequantized
//! with one scale becomes MatMulInteger too.
//!
//! It must not change a rounded activation, nor a scale that PyTorch computes.

use super::super::rewriter::Rewriter;
use super::{Dequantized, has_integer_forms, is_plain, range, same_dtype, stored, weight};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Constant, Node, Value};

/// The first opset with MatMulInteger and QuantizeLinear.
const INTEGERS: i64 = 10;
/// The difference between an unsigned and a signed integer of 8 bits.
const MIDDLE: i64 = 128;

pub(in super::super) fn multiply_integers(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if cx.builder.opset() < INTEGERS {
        return None;
    }
    match node.op {
        "Sub" => with_zero_point(cx, node),
        "Cast" => moved(cx, node),
        "MatMul" => dynamic(cx, node, false, None),
        "Gemm" if is_plain(node) => dynamic(cx, node, node.int("transB").unwrap_or(0) != 0, node.input(2)),
        _ => None,
    }
}

/// `MatMulInteger(x, w) - zero * sum(w)` is a product with a zero point.
fn with_zero_point(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let product = node.input(0)?;
    let result = node.outputs.first().copied().flatten()?;
    let matmul = cx.made_by(product, "MatMulInteger").filter(|matmul| matmul.inputs.len() == 2)?;
    let (x, w) = (matmul.input(0)?, matmul.input(1)?);
    let scaled = cx.made_by(node.input(1)?, "Mul")?;
    let (a, b) = (scaled.input(0)?, scaled.input(1)?);
    let number = |value: Value| cx.builder.constant_scalar(value).and_then(|number| number.as_int());
    let (sum, zero) = number(b).map(|zero| (a, zero)).or_else(|| number(a).map(|zero| (b, zero)))?;
    let zero = u8::try_from(zero).ok().filter(|_| cx.dtype(x) == Dtype::Uint8)?;
    let is_sum = cx.rank(w)? == 2 && sum_of_columns(cx, sum)? == w && cx.same_type(product, result);
    is_sum.then_some(())?;
    let zero = cx.builder.intern(Constant::new(Dtype::Uint8, vec![], vec![zero]));
    cx.make("MatMulInteger", &[x, w, zero], vec![])
}

/// The matrix whose columns a value sums, cast to an integer of at least 32 bits.
fn sum_of_columns(cx: &Rewriter<'_>, value: Value) -> Option<Value> {
    let value = uncast(cx, value)?;
    let sum = cx.made_by(value, "ReduceSum")?;
    let axes = sum.ints("axes").map(<[i64]>::to_vec).or_else(|| cx.ints(sum.input(1)?))?;
    let x = uncast(cx, sum.input(0)?)?;
    (axes == [0] || axes == [-2]).then_some(x)
}

/// What is cast to integers of at least 32 bits, which hold all integers of 8 bits.
fn uncast(cx: &Rewriter<'_>, mut value: Value) -> Option<Value> {
    while let Some(cast) = cx.made_by(value, "Cast") {
        let is_wide = matches!(cx.dtype(value), Dtype::Int32 | Dtype::Int64);
        value = cast.input(0).filter(|_| is_wide)?;
    }
    Some(value)
}

/// Signed integers that are moved by 128 are quantized to unsigned ones.
fn moved(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    let result = node.outputs.first().copied().flatten()?;
    let add = cx.input_node(node, 0, "Add").filter(|_| cx.dtype(result) == Dtype::Uint8)?;
    let (a, b) = (add.input(0)?, add.input(1)?);
    let is_middle = |value: Value| cx.builder.constant_scalar(value).and_then(|number| number.as_int()) == Some(MIDDLE);
    let wide = if is_middle(b) { a } else { Some(b).filter(|_| is_middle(a))? };
    let signed = uncast(cx, wide).filter(|signed| *signed != wide)?;
    let reshape = cx.made_by(signed, "Reshape");
    let quantize = cx.made_by(reshape.as_ref().map_or(Some(signed), |node| node.input(0))?, "QuantizeLinear")?;
    let zero = quantize.input(2).filter(|zero| cx.dtype(*zero) == Dtype::Int8)?;
    let zero = unsigned(cx, zero)?;
    let quantized = cx.remade(&quantize, &[quantize.input(0)?, quantize.input(1)?, zero])?;
    match reshape {
        Some(reshape) => cx.remade(&reshape, &[quantized, reshape.input(1)?]),
        None => Some(quantized),
    }
}

/// A zero point of unsigned integers in place of one of signed integers.
fn unsigned(cx: &mut Rewriter<'_>, zero: Value) -> Option<Value> {
    if let Some(number) = cx.builder.constant_scalar(zero).and_then(|number| number.as_int()) {
        let number = u8::try_from(number + MIDDLE).ok()?;
        let sizes = cx.known_sizes(zero)?;
        return Some(cx.builder.intern(Constant::new(Dtype::Uint8, sizes, vec![number])));
    }
    let wide = cx.builder.cast(zero, Dtype::Int32).ok()?;
    let middle = cx.builder.intern(Constant::new(Dtype::Int32, vec![], (MIDDLE as i32).to_le_bytes().to_vec()));
    let sum = cx.make("Add", &[wide, middle], vec![])?;
    cx.builder.cast(sum, Dtype::Uint8).ok()
}

/// `x @ w`, both dequantized, or with the rows of `w` as its columns, and with a sum.
fn dynamic(cx: &mut Rewriter<'_>, node: &Node, is_transposed: bool, sum: Option<Value>) -> Option<Value> {
    if cx.passes.keep_weights {
        return None;
    }
    let (x, result) = (node.input(0)?, node.outputs.first().copied().flatten()?);
    let x = cx.made_by(x, "DequantizeLinear").filter(|node| node.attr("block_size").is_none())?;
    let quantize = cx.input_node(&x, 0, "QuantizeLinear").filter(|node| node.attr("block_size").is_none())?;
    let scale = x.input(1)?;
    let wanted = if weight(cx, scale).is_none() { cx.builder.quantized().dynamic } else { has_integer_forms(cx) };
    let is_dynamic = wanted
        && x.inputs.get(1..) == quantize.inputs.get(1..)
        && cx.known_sizes(scale)?.is_empty()
        && cx.dtype(result) == Dtype::Float32;
    is_dynamic.then_some(())?;
    let parts = Dequantized::of(cx, node.input(1)?)?;
    let parts = if is_transposed { parts.transposed(None)? } else { parts };
    let Dequantized { codes, scale: factors, zero } = parts;
    let (&[_, columns], &[1, count]) = (codes.sizes.as_slice(), factors.sizes.as_slice()) else { return None };
    let is_fit = matches!(codes.dtype, Dtype::Int8 | Dtype::Uint8) && factors.dtype == Dtype::Float32;
    if !is_fit || (count != 1 && count != columns) {
        return None;
    }
    let sizes: &[i64] = if count == 1 { &[] } else { &[columns] };
    let zero = match zero.filter(|zero| range(zero, (0, 0)).is_none()) {
        Some(zero) => Some(same_dtype(&zero, codes.dtype)?.reshaped(sizes)?),
        None => None,
    };
    let (x, x_zero) = match x.input(2) {
        Some(zero) if cx.dtype(zero) == Dtype::Int8 => {
            let zero = unsigned(cx, zero)?;
            (cx.remade(&quantize, &[quantize.input(0)?, scale, zero])?, zero)
        }
        Some(zero) => (x.input(0)?, zero),
        None => return None,
    };
    let mut inputs = vec![x, stored(cx, codes), x_zero];
    inputs.extend(zero.map(|zero| stored(cx, zero)));
    let product = cx.make("MatMulInteger", &inputs, vec![])?;
    let product = cx.builder.cast(product, Dtype::Float32).ok()?;
    let factors = stored(cx, factors.reshaped(sizes)?);
    let factors = cx.make("Mul", &[scale, factors], vec![])?;
    let product = cx.make("Mul", &[product, factors], vec![])?;
    match sum {
        Some(sum) => cx.make("Add", &[product, sum], vec![]),
        None => Some(product),
    }
}
