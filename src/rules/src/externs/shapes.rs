//! Shapes, and what they broadcast to.

use aten2onnx_builder::Builder;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// Reshapes a tensor.
pub fn reshape(cx: &mut Builder, x: Value, size: &[SymInt]) -> Result<Value> {
    cx.reshape(x, size)
}

/// Broadcasts dimensions of size 1 and adds new leading ones.
pub fn expand(cx: &mut Builder, x: Value, size: &[SymInt]) -> Result<Value> {
    cx.expand(x, size)
}

/// The shape that shapes broadcast to. Of two unknown sizes the first is used, because PyTorch has checked that they
/// are equal.
pub fn broadcast_all(_: &mut Builder, shapes: &[Vec<SymInt>]) -> Result<Vec<SymInt>> {
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let mut result = vec![SymInt::from(1); rank];
    for shape in shapes {
        let missing = rank - shape.len();
        for (size, into) in shape.iter().zip(result.iter_mut().skip(missing)) {
            let replaces = *into == 1 || (into.known().is_none() && size.known().is_some_and(|n| n != 1));
            if replaces {
                *into = size.clone();
            }
        }
    }
    Ok(result)
}
