//! Series of special functions.

use super::nodes::MakeNodes;
use aten2onnx_builder::{Builder, In};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Value;

/// Evaluates a polynomial by its coefficients, lowest first.
pub fn horner(cx: &mut Builder, x: Value, coefficients: &[f64]) -> Result<Value> {
    let Some((last, rest)) = coefficients.split_last() else {
        return Err(cx.fault("a polynomial needs coefficients"));
    };
    let mut result: In = (*last).into();
    for coefficient in rest.iter().rev() {
        let product = cx.mul(x, result)?;
        result = cx.add(product, *coefficient)?.into();
    }
    match result {
        In::Value(value) => Ok(value),
        // A single coefficient is expanded to the shape of the argument.
        constant => {
            let zero = cx.mul(x, 0.0)?;
            cx.add(zero, constant)
        }
    }
}

/// The Bernoulli numbers 2, 4, ..., 24, each divided by the factorial of its index.
const BERNOULLI: [f64; 12] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43867.0 / 5_109_094_217_170_944_000.0,
    -174_611.0 / 802_857_662_698_291_200_000.0,
    77683.0 / 14_101_100_039_391_805_440_000.0,
    -236_364_091.0 / 1_693_824_136_731_743_669_452_800_000.0,
];

/// `s / w (b1 + (s + 1)(s + 2) / w^2 (b2 + (s + 3)(s + 4) / w^2 (b3 + ...)))`
pub fn zeta_rest(cx: &mut Builder, s: Value, w: Value) -> Result<Value> {
    let square = cx.mul(w, w)?;
    let mut sum: In = 0.0.into();
    for (k, b) in BERNOULLI.iter().enumerate().rev() {
        let inner = match sum {
            In::Value(value) => {
                let first = cx.add(s, (2 * k + 1) as f64)?;
                let second = cx.add(s, (2 * k + 2) as f64)?;
                let factor = cx.mul(first, second)?;
                let factor = cx.div(factor, square)?;
                let product = cx.mul(factor, value)?;
                cx.add(product, *b)?
            }
            _ => cx.scalar(&aten2onnx_builder::Scalar::Float(*b), cx.dtype(s))?,
        };
        sum = inner.into();
    }
    let ratio = cx.div(s, w)?;
    cx.mul(ratio, sum)
}
