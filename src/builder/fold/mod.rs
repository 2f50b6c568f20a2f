//! Constant folding of what rules make from small constants. Only results that are the same to the bit on every runtime.

mod layout;
mod numbers;

use super::{Builder, Call};
use crate::graph::{Attr, Constant, Type, Value};

impl Builder {
    /// The results of calls that need no node whatever their inputs hold.
    pub(super) fn elided(&self, call: &Call) -> Option<Value> {
        if call.outputs != 1 {
            return None;
        }
        match (call.op, call.optional(0)) {
            ("Identity", Some(input)) => Some(input),
            ("Cast", Some(input)) => {
                (call.int("to") == Some(self.dtype(input).onnx().into()) && self.ty(input).is_tensor()).then_some(input)
            }
            ("Constant", _) => call.tensor("value").filter(|v| self.constant_of(*v).is_some()),
            _ => None,
        }
    }

    /// The constant that a call on small constants gives.
    pub(super) fn folded(&self, call: &Call, ty: &Type) -> Option<Constant> {
        if call.outputs != 1 || call.inputs.is_empty() {
            return None;
        }
        let sizes: Vec<i64> = ty.shape()?.iter().map(|n| n.known()).collect::<Option<_>>()?;
        let inputs: Vec<&Constant> =
            call.inputs.iter().map(|v| self.small_constant((*v)?)).collect::<Option<Vec<_>>>()?;
        let first = *inputs.first()?;
        let bytes = match (call.op, inputs.as_slice()) {
            ("Reshape" | "Squeeze" | "Unsqueeze" | "Flatten", _) => first.bytes().to_vec(),
            ("Cast", [x]) => numbers::cast(x, ty.dtype())?,
            ("Neg", [x]) => numbers::negate(x)?,
            ("Add" | "Sub" | "Mul" | "Div", [a, b]) => numbers::binary(call.op, a, b, &sizes)?,
            ("Concat", _) => layout::concat(&inputs, call.int("axis")?)?,
            ("Gather", [x, indices]) => layout::gather(x, indices, call.int("axis").unwrap_or(0))?,
            ("Transpose", [x]) => layout::transpose(x, call.attr("perm"))?,
            ("Slice", [x, bounds @ ..]) => layout::slice(x, bounds, &sizes)?,
            _ => return None,
        };
        let constant = Constant::new(ty.dtype(), sizes, bytes);
        constant.is_consistent().then_some(constant)
    }
}

/// The axes of a transposition; all reversed where none are given.
fn permutation(attr: Option<&Attr>, rank: usize) -> Option<Vec<usize>> {
    match attr {
        Some(Attr::Ints(perm)) => perm.iter().map(|axis| usize::try_from(*axis).ok().filter(|a| *a < rank)).collect(),
        _ => Some((0..rank).rev().collect()),
    }
}
