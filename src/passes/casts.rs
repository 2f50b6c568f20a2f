//! Casts: to the dtype that is there already, and one after another.
//!
//! It must not leave out a cast that rounds, cuts or wraps.

use super::rewriter::Rewriter;
use crate::dtype::Dtype;
use crate::graph::{Attr, Node, Value};

pub(super) fn apply(cx: &mut Rewriter<'_>, node: &Node) -> Option<Value> {
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

/// Does a dtype hold every value of another?
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{Net, ops};
    use super::*;
    use crate::graph::Type;

    fn chain(dtypes: &[Dtype]) -> Vec<&'static str> {
        let mut net = Net::new(18);
        let x = net.typed(Type::sized(dtypes[0], &[2]));
        let y = dtypes[1..].iter().fold(x, |x, to| net.cast(x, *to));
        ops(net, y)
    }

    #[test]
    fn casts_through_a_wider_dtype_are_one() {
        use Dtype::*;
        assert_eq!(chain(&[Float16, Float32, Float16]), ["Identity"]);
        assert_eq!(chain(&[Int32, Int64, Float32]), ["Cast"]);
        assert_eq!(chain(&[Bool, Int64, Bool]), ["Identity"]);
        assert_eq!(chain(&[Uint8, Bfloat16, Int32]), ["Cast"]);
    }

    #[test]
    fn casts_that_lose_something_stay() {
        use Dtype::*;
        assert_eq!(chain(&[Float32, Float16, Float32]), ["Cast", "Cast"]);
        assert_eq!(chain(&[Int64, Int32, Int64]), ["Cast", "Cast"]);
        assert_eq!(chain(&[Int64, Float64, Int64]), ["Cast", "Cast"]);
        assert_eq!(chain(&[Int8, Uint8, Int32]), ["Cast", "Cast"]);
        assert_eq!(chain(&[Int32, Bool, Int32]), ["Cast", "Cast"]);
        assert_eq!(chain(&[Float16, Bfloat16, Float32]), ["Cast", "Cast"]);
    }
}
