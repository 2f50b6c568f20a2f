//! What the graph may use: the opset, and the operators and dtypes that the runtime has.

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::schema;
use aten2onnx_onnx::targets::{ONNXRUNTIME_LACKS, Target};

use crate::build::Builder;

/// The limits of the target.
#[derive(Default)]
pub(crate) struct Limits {
    /// The target opset of the default domain.
    pub(crate) opset: u32,
    /// The dtypes that the runtime has no kernel for, by operator: bit `Dtype as u32`.
    pub(crate) avoided: FxHashMap<&'static str, u64>,
    /// Operators that the runtime does not have.
    pub(crate) lacking: FxHashSet<&'static str>,
    /// Nodes of a model are converted for the sake of a runtime's kernels too.
    pub(crate) for_runtime: bool,
}

impl Limits {
    /// Those of an opset, for any runtime.
    pub(crate) fn of(opset: u32) -> Limits {
        Limits { opset, ..Limits::default() }
    }
}

impl Builder {
    /// The target opset.
    pub fn opset(&self) -> i64 {
        self.limits.opset.into()
    }

    /// States that the runtime has no kernel for an operator on these dtypes. The operator then computes in a wider dtype, or
    /// is expressed as in an older opset, where that is possible.
    pub fn avoid(&mut self, op: &'static str, dtypes: &[Dtype]) {
        let mask = dtypes.iter().fold(0u64, |mask, dtype| mask | 1 << *dtype as u32);
        *self.limits.avoided.entry(op).or_default() |= mask;
    }

    /// States that the runtime does not have an operator: it is expressed as in an older opset, or refused.
    pub fn lack(&mut self, op: &'static str) {
        self.limits.lacking.insert(op);
    }

    /// Avoids what a runtime cannot do, also in nodes of a model that could stay as they are.
    pub fn set_target(&mut self, target: &Target) {
        if target.kernels {
            self.avoid_missing(|_, _| true);
        }
        target.lacks.iter().for_each(|op| self.lack(op));
        self.limits.for_runtime = true;
    }

    /// Avoids what ONNX Runtime's CPU provider has no kernel for, as the default profile says. A missing bfloat16 kernel alone is
    /// no reason: such a model is for processors that compute in bfloat16.
    pub fn avoid_missing_kernels(&mut self) {
        self.avoid_missing(|dtype, all| dtype != Dtype::Bfloat16 || all.contains(&Dtype::Float32));
    }

    fn avoid_missing(&mut self, counts: impl Fn(Dtype, &[Dtype]) -> bool) {
        for (op, since, dtypes) in ONNXRUNTIME_LACKS {
            let in_force = schema::find(op).and_then(|op| op.at(self.limits.opset));
            if in_force.is_some_and(|version| version.since == *since) {
                let avoided: Vec<Dtype> = dtypes.iter().copied().filter(|dtype| counts(*dtype, dtypes)).collect();
                self.avoid(op, &avoided);
            }
        }
    }
}
