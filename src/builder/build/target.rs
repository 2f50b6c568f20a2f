//! Limits of the target: the opset, and the operators and dtypes that the runtime supports.

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::schema;
use aten2onnx_onnx::targets::{ONNXRUNTIME_LACKS, Target};

use crate::build::Builder;

/// In place of dtypes: the runtime has no kernel for an operator, which has no inputs.
pub(crate) const ABSENT: u64 = u64::MAX;

/// The limits of the target.
#[derive(Default)]
pub(crate) struct Limits {
    /// The target opset of the default domain.
    pub(crate) opset: u32,
    /// The dtypes that the runtime has no kernel for, by operator: bit `Dtype as u32`.
    pub(crate) avoided: FxHashMap<&'static str, u64>,
    /// Operators that the runtime does not have.
    pub(crate) lacking: FxHashSet<&'static str>,
    /// Whether maxima, minima, pools and orders keep NaN as PyTorch does.
    pub(crate) exact_nan: bool,
    /// Whether nodes of a converted model also change where the runtime has no kernel.
    pub(crate) for_runtime: bool,
}

impl Limits {
    /// The limits of an opset without a runtime.
    pub(crate) fn of(opset: u32) -> Limits {
        Limits { opset, ..Limits::default() }
    }
}

impl Builder {
    /// The target opset.
    pub fn opset(&self) -> i64 {
        self.limits.opset.into()
    }

    /// Sets the target opset for nodes that are thrown away. Returns the one before, which is to be set again.
    pub fn replace_opset(&mut self, opset: u32) -> u32 {
        std::mem::replace(&mut self.limits.opset, opset)
    }

    /// Whether maxima, minima, pools and orders keep NaN as PyTorch does, at the price of looking for it. ONNX leaves open
    /// what they do with it.
    pub fn exact_nan(&self) -> bool {
        self.limits.exact_nan
    }

    /// Sets whether NaN is kept.
    pub fn set_exact_nan(&mut self, exact: bool) {
        self.limits.exact_nan = exact;
    }

    /// Declares that the runtime has no kernel for an operator on these dtypes. The operator then computes in a wider
    /// dtype, or is lowered as in an older opset, where possible.
    pub fn avoid(&mut self, op: &'static str, dtypes: &[Dtype]) {
        let mask = dtypes.iter().fold(0u64, |mask, dtype| mask | 1 << *dtype as u32);
        *self.limits.avoided.entry(op).or_default() |= mask;
    }

    /// Declares that the runtime does not have an operator: it is lowered as in an older opset, or refused.
    pub fn lack(&mut self, op: &'static str) {
        self.limits.lacking.insert(op);
    }

    /// Avoids what a runtime does not support, even in nodes of a converted model.
    pub fn set_target(&mut self, target: &Target) {
        if target.kernels {
            self.avoid_missing(|_, _| true);
        }
        target.lacks.iter().for_each(|op| self.lack(op));
        self.limits.for_runtime = true;
    }

    /// Avoids what ONNX Runtime's CPU provider has no kernel for. A missing bfloat16 kernel alone does not count: such
    /// models run on hardware with bfloat16.
    pub fn avoid_missing_kernels(&mut self) {
        self.avoid_missing(|dtype, all| dtype != Dtype::Bfloat16 || all.contains(&Dtype::Float32));
    }

    fn avoid_missing(&mut self, is_missing: impl Fn(Dtype, &[Dtype]) -> bool) {
        for (op, since, dtypes) in ONNXRUNTIME_LACKS {
            let in_force = schema::find(op).and_then(|op| op.at(self.limits.opset));
            if in_force.is_none_or(|version| version.since != *since) {
                continue;
            }
            if dtypes.is_empty() {
                self.limits.avoided.insert(op, ABSENT);
            } else {
                let avoided: Vec<Dtype> = dtypes.iter().copied().filter(|dtype| is_missing(*dtype, dtypes)).collect();
                self.avoid(op, &avoided);
            }
        }
    }
}
