//! Elements of small tensors of known numbers, where the builder does not fold: models compute scales of images so.

use super::recorder::Recorder;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_program::{Arg, Node};

/// Larger tensors are left to the graph.
const MOST: usize = 64;

impl Recorder<'_> {
    /// Makes the result of a node known, if its operands are.
    pub(super) fn evaluate(&mut self, node: &Node, result: &str) -> Option<()> {
        let meta = self.metas.get(result)?.clone();
        if self.scratch.content(result).is_some() || self.scratch.floats(result).is_some() {
            return None;
        }
        let sizes: Vec<i64> = meta.sizes.iter().map(|size| size.known()).collect::<Option<_>>()?;
        let operand = |this: &Self, index: usize| match node.args.get(index).map(|(_, arg)| arg) {
            Some(Arg::Tensor(name)) => this.elements(name),
            Some(Arg::Float(number)) => Some(vec![*number]),
            Some(Arg::Int(number)) => Some(vec![*number as f64]),
            _ => None,
        };
        let count = node.args.len();
        let all = |of: fn(f64, f64) -> f64, values: Vec<f64>| values.into_iter().reduce(of).map(|value| vec![value]);
        let both = |of: fn(f64, f64) -> f64, a: &[f64], b: &[f64]| -> Option<Vec<f64>> {
            let len = a.len().max(b.len());
            let at = |values: &[f64], index: usize| values.get(if values.len() == 1 { 0 } else { index }).copied();
            (0..len).map(|index| Some(of(at(a, index)?, at(b, index)?))).collect()
        };
        let values = match (node.target.as_str(), count) {
            ("aten::min", 1) => all(f64::min, operand(self, 0)?)?,
            ("aten::max", 1) => all(f64::max, operand(self, 0)?)?,
            ("aten::min.other" | "aten::minimum", 2) => both(f64::min, &operand(self, 0)?, &operand(self, 1)?)?,
            ("aten::max.other" | "aten::maximum", 2) => both(f64::max, &operand(self, 0)?, &operand(self, 1)?)?,
            ("aten::floor" | "aten::ceil" | "aten::round" | "aten::log2" | "aten::log" | "aten::exp", 1) => {
                let of = match node.target.as_str() {
                    "aten::floor" => f64::floor,
                    "aten::ceil" => f64::ceil,
                    "aten::round" => f64::round_ties_even,
                    "aten::log2" => f64::log2,
                    "aten::log" => f64::ln,
                    _ => f64::exp,
                };
                operand(self, 0)?.into_iter().map(of).collect()
            }
            _ => return None,
        };
        let len = sizes.iter().try_fold(1_usize, |len, size| len.checked_mul(usize::try_from(*size).ok()?))?;
        if values.len() != len || len > MOST || values.iter().any(|value| value.is_nan()) {
            return None;
        }
        let bytes = values.iter().map(|value| encoded(*value, meta.dtype)).collect::<Option<Vec<_>>>()?.concat();
        self.scratch.define_constant(result, meta.dtype, &sizes, bytes).ok()
    }

    /// The known elements of a small tensor.
    fn elements(&self, name: &str) -> Option<Vec<f64>> {
        let known = match self.scratch.floats(name) {
            Some(floats) => floats,
            None => {
                self.scratch.content(name)?.iter().map(|size| size.known().map(|n| n as f64)).collect::<Option<_>>()?
            }
        };
        (known.len() <= MOST).then_some(known)
    }
}

fn encoded(value: f64, dtype: Dtype) -> Option<Vec<u8>> {
    Some(match dtype {
        Dtype::Float32 => (value as f32).to_le_bytes().to_vec(),
        Dtype::Float64 => value.to_le_bytes().to_vec(),
        Dtype::Int64 => (value as i64).to_le_bytes().to_vec(),
        Dtype::Int32 => (value as i32).to_le_bytes().to_vec(),
        _ => return None,
    })
}
