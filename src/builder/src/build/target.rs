//! Limits of the target: the opset, and the operators and dtypes that the runtime supports.

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::schema;
use aten2onnx_onnx::targets::{self, Avoid, Kernels, Missing, Quantized, Target};

use crate::build::Builder;
use crate::build::node::avoided::EVERY_FORM;

/// In place of dtypes: the runtime has no kernel for an operator, which has no inputs.
pub(crate) const ABSENT: u64 = u64::MAX;

/// The limits of the target.
#[derive(Default)]
pub(crate) struct Limits {
    /// The target opset of the default domain.
    pub(crate) opset: u32,
    /// The dtypes that the runtime has no kernel for, by operator: bit `Dtype as u32`.
    pub(crate) avoided: FxHashMap<&'static str, u64>,
    /// The measured dtypes among them, of versions that are in force. A call that no wider dtype helps is refused.
    pub(crate) measured: FxHashMap<&'static str, Vec<&'static Missing>>,
    /// Operators that the runtime does not have.
    pub(crate) lacking: FxHashSet<&'static str>,
    /// Forms of operators that the runtime does not have or gets wrong.
    pub(crate) forms: FxHashMap<&'static str, Vec<&'static Avoid>>,
    /// Forms of operators of which a note tells.
    pub(crate) warns: FxHashMap<&'static str, Vec<&'static Avoid>>,
    /// Whether maxima, minima, pools and orders keep NaN as PyTorch does.
    pub(crate) exact_nan: bool,
    /// How the runtime computes with quantized weights and activations.
    pub(crate) quantized: Quantized,
    /// Whether float64 is computed in float32 where the runtime has no kernel for it.
    pub(crate) narrows_float64: bool,
    /// Whether the runtime keeps int32 as int64, and so converts it to all that it converts int64 to.
    pub(crate) widens_int32: bool,
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

    /// How the runtime computes with quantized weights and activations.
    pub fn quantized(&self) -> Quantized {
        self.limits.quantized
    }

    /// Whether the nodes are for a runtime by name.
    pub(crate) fn has_target(&self) -> bool {
        self.limits.for_runtime
    }

    /// Records that a newer opset would store integers in fewer bits, and so many bytes less.
    pub(crate) fn could_save(&mut self, opset: u32, bits: u32, bytes: u64) {
        let (count, sum) = self.savings.entry((opset, bits)).or_default();
        (*count, *sum) = (*count + 1, *sum + bytes);
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

    /// Whether the runtime has no form of an operator.
    pub fn lacks(&self, op: &str) -> bool {
        let is_whole = |form: &&Avoid| form.conditions.is_empty() && form.since.is_empty();
        self.limits.lacking.contains(op) || self.limits.forms.get(op).is_some_and(|forms| forms.iter().any(is_whole))
    }

    /// Declares that the runtime does not have a form of an operator, or gets it wrong: nodes of this form are replaced, or refused.
    pub fn avoid_form(&mut self, form: &'static Avoid) {
        self.limits.forms.entry(form.op).or_default().push(form);
    }

    /// Avoids an operator in every form, to test its `lower OP avoided`.
    pub fn avoid_operator(&mut self, op: &'static str) {
        self.limits.forms.entry(op).or_default().push(&EVERY_FORM);
    }

    /// Avoids what a runtime does not support, even in nodes of a converted model.
    pub fn set_target(&mut self, target: &Target) {
        if target.kernels {
            self.avoid_all_missing_kernels();
        }
        let opset = self.limits.opset;
        for missing in target.avoids.iter().filter(|missing| is_in_force(missing.op, missing.since, opset)) {
            self.avoid_dtypes(missing.op, missing.dtypes);
            self.limits.measured.entry(missing.op).or_default().push(missing);
        }
        target.lacks.iter().for_each(|op| self.lack(op));
        target.forms.iter().for_each(|form| self.avoid_form(form));
        target.warns.iter().for_each(|form| self.limits.warns.entry(form.op).or_default().push(form));
        self.limits.quantized = target.quantized;
        self.limits.narrows_float64 = target.narrows_float64;
        self.limits.widens_int32 = target.widens_int32;
        self.limits.for_runtime = true;
    }

    /// Avoids what ONNX Runtime's CPU provider has no kernel for. A missing bfloat16 kernel alone does not count: such
    /// models run on hardware with bfloat16. Also the forms that its newest release gets wrong.
    pub fn avoid_missing_kernels(&mut self) {
        let newest = targets::find("onnxruntime").ok();
        newest.iter().flat_map(|target| target.forms).for_each(|form| self.avoid_form(form));
        self.avoid_missing(|dtype, all| dtype != Dtype::Bfloat16 || all.contains(&Dtype::Float32));
    }

    /// Avoids what ONNX Runtime's CPU provider has no kernel for, also bfloat16.
    pub fn avoid_all_missing_kernels(&mut self) {
        self.avoid_missing(|_, _| true);
    }

    /// Avoids the dtypes that ONNX Runtime has no kernels for, of the versions that are in force.
    fn avoid_missing(&mut self, is_missing: impl Fn(Dtype, &[Dtype]) -> bool) {
        let opset = self.limits.opset;
        let in_force = |lacks: &&Kernels| is_in_force(lacks.op, lacks.since, opset);
        for Kernels { op, dtypes, .. } in targets::onnxruntime_lacks().iter().filter(in_force) {
            let avoided: Vec<Dtype> = dtypes.iter().copied().filter(|dtype| is_missing(*dtype, dtypes)).collect();
            if avoided.len() == dtypes.len() {
                self.avoid_dtypes(op, dtypes);
            } else {
                self.avoid(op, &avoided);
            }
        }
    }

    /// Avoids dtypes of an operator; without any, the operator, which has no inputs.
    fn avoid_dtypes(&mut self, op: &'static str, dtypes: &[Dtype]) {
        if dtypes.is_empty() {
            self.limits.avoided.insert(op, ABSENT);
        } else {
            self.avoid(op, dtypes);
        }
    }
}

/// Whether a version of an operator is that of an opset.
fn is_in_force(op: &str, since: u32, opset: u32) -> bool {
    schema::find(op).and_then(|op| op.at(opset)).is_some_and(|version| version.since == since)
}
