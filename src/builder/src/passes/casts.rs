//! Removes casts to the same dtype, and merges consecutive ones.
//!
//! It must not remove a cast that rounds, truncates or wraps.

use super::rewriter::Rewriter;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Node, Value};

pub(super) fn merge_casts(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
    if node.op != "Cast" {
        return None;
    }
    let x = node.input(0)?;
    let to = Dtype::from_onnx(i32::try_from(node.int("to")?).ok()?)?;
    if cx.dtype(x) == to {
        return Some(x);
    }
    let inner = cx.made_by(x, "Cast")?;
    let source = inner.input(0)?;
    if !holds(cx.dtype(source), cx.dtype(x)) {
        return None;
    }
    if cx.dtype(source) == to {
        return Some(source);
    }
    cx.make("Cast", &[source], vec![("to", Attr::Int(to.onnx().into()))])
}

/// Whether a dtype holds every value of another.
fn holds(from: Dtype, to: Dtype) -> bool {
    use Dtype::{Bfloat16, Bool, Float16, Float32, Float64};
    let integer = |dtype: Dtype| dtype.is_int().then(|| (dtype.bits() - u32::from(dtype.is_signed_int()), dtype));
    let digits = match to {
        Bfloat16 => 8,
        Float16 => 11,
        Float32 => 24,
        Float64 => 53,
        _ => 0,
    };
    match (integer(from), integer(to)) {
        _ if from == Bool => to.is_int() || digits > 0,
        (Some((bits, from)), Some((wide, to))) => bits <= wide && (!from.is_signed_int() || to.is_signed_int()),
        (Some((bits, _)), None) => bits <= digits,
        _ => matches!((from, to), (Float16 | Bfloat16, Float32 | Float64) | (Float32, Float64)),
    }
}
