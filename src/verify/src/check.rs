//! Whether a call is exported right: the types of its results, and their values.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use aten2onnx_builder::passes::Passes;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Kind};
use aten2onnx_core::sym::SymInt;
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;
use serde::{Deserialize, Serialize};

use super::moves;
use aten2onnx_examples::{self as examples, Built, Lacks, Outcome};

/// Why a call is left out whose number of results depends on a symbolic size.
pub(super) const SYMBOLIC_RESULTS: &str = "the number of results depends on a symbolic size";

/// What is wrong with a call.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// The opset; 0 if that does not matter.
    pub opset: u32,
    /// What was expected and what happened.
    pub what: String,
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// The exporter ends in a panic.
    Panic,
    /// An internal error of the exporter.
    Internal,
    /// The exporter says that the input is wrong, but PyTorch takes it.
    Input,
    /// The exporter refuses what the support matrix says that it takes.
    Refusal,
    /// The number, the dtype or the shape of the results is another than PyTorch's.
    Type,
    /// Values differ, or the model cannot be run.
    Value,
}

/// What the exporter makes of a call.
#[derive(Debug)]
pub(super) enum Made {
    /// It is as PyTorch says.
    Right,
    /// It is refused, for this reason.
    Refused(String),
    /// It is wrong.
    Wrong(Fault),
}

/// The rules, and how they are checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exporter<'a> {
    pub checked: &'a Checked,
    pub rules: &'a Rules,
}

thread_local! {
    /// Where the last panic of this thread happened.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Notes where a panic happens, in place of printing it: here it is a result.
pub(super) fn note_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        PLACE.with(|last| *last.borrow_mut() = place);
    }));
}

fn quietly<T>(opset: u32, run: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let what = format!("{}, in {}", text.unwrap_or_default(), PLACE.with(|place| place.borrow().clone()));
        Fault { kind: FaultKind::Panic, opset, what }
    })
}

impl Exporter<'_> {
    /// How the print of a call begins that is refused.
    pub const REFUSED: &'static str = "refused: ";
    /// How the print of a call begins whose sizes or numbers do not fit.
    pub const FAILED: &'static str = "failed: ";
    /// How the print of a call begins at which the exporter itself is wrong.
    pub const BROKEN: &'static str = "broken: ";

    /// The types of the results against those of PyTorch. Also gives the branches that were reached.
    pub fn typed(self, call: &Example, wanted: &[(String, Vec<i64>)], opset: u32) -> (Made, Vec<u32>) {
        let typed = match quietly(opset, || examples::types(call, self.checked, self.rules, opset)) {
            Ok(typed) => typed,
            Err(fault) => return (Made::Wrong(fault), Vec::new()),
        };
        let arms = typed.arms.into_iter().collect();
        let made = match typed.results {
            Err(error) => refused(&error, opset),
            // torch.export fixes their number, and with it the size.
            Ok(types) if types.len() != wanted.len() && !call.with.is_empty() => {
                Made::Refused(SYMBOLIC_RESULTS.to_owned())
            }
            Ok(types) => match difference(call, &types, wanted) {
                None => Made::Right,
                Some(what) => Made::Wrong(Fault { kind: FaultKind::Type, opset, what }),
            },
        };
        (made, arms)
    }

    /// Whether the exporter gives an answer at all for a call that PyTorch refuses.
    pub fn survives(self, call: &Example, opset: u32) -> Option<Fault> {
        quietly(opset, || examples::types(call, self.checked, self.rules, opset)).err()
    }

    /// What a call is compared with if not with PyTorch, with its opset: the operator of a lowering, or what a `fuse` replaces.
    pub fn native(self, call: &Example) -> Option<(u32, Vec<u8>)> {
        if let Some(before) = examples::replaced(call) {
            let opset = examples::newest_run();
            return self.model(&before, opset).ok().flatten().map(|built| (opset, built.bytes));
        }
        let opset = examples::reference_opset(&call.target)?;
        let built = self.model(call, opset).ok().flatten()?;
        // The operator does not take these dtypes: the builder casts around it.
        let casts = moves::operators(&built.bytes).iter().any(|op| op == "Cast");
        (!casts || call.text.contains("Cast")).then_some((opset, built.bytes))
    }

    /// What a call becomes at an opset, as a text that is another one for another graph: a digest of the model, or why there is none.
    /// `without`: for a runtime that does not have the operator of the call.
    pub fn print(self, call: &Example, opset: u32, without: bool) -> String {
        let lacks = if without { Lacks::Operator } else { Lacks::Usual };
        match quietly(opset, || examples::build(call, self.checked, self.rules, opset, Passes::NONE, lacks).0) {
            Ok(Outcome::Built(built)) => {
                let mut hasher = rustc_hash::FxHasher::default();
                built.unversioned.hash(&mut hasher);
                format!("{:016x}", hasher.finish())
            }
            Ok(Outcome::Refused { reason, .. }) => format!("{}{reason}", Self::REFUSED),
            Ok(Outcome::Failed(what)) => format!("{}{what}", Self::FAILED),
            Ok(Outcome::Broken(what)) => format!("{}{what}", Self::BROKEN),
            Err(fault) => format!("{}{}", Self::BROKEN, fault.what),
        }
    }

    /// The model of a call.
    pub fn model(self, call: &Example, opset: u32) -> Result<Option<Built>, Fault> {
        // onnx's reference evaluator, which runs what ONNX Runtime has no kernels for, takes few operators with bfloat16.
        let lacks = if call.text.contains("bf16") { Lacks::All } else { Lacks::Usual };
        match quietly(opset, || examples::build(call, self.checked, self.rules, opset, Passes::NONE, lacks).0)? {
            Outcome::Built(built) => Ok(Some(built)),
            Outcome::Refused { .. } => Ok(None),
            Outcome::Failed(what) | Outcome::Broken(what) => Err(Fault { kind: FaultKind::Internal, opset, what }),
        }
    }
}

fn refused(error: &Error, opset: u32) -> Made {
    let kind = match error.kind {
        Kind::Unsupported => return Made::Refused(error.to_string()),
        Kind::Internal => FaultKind::Internal,
        _ => FaultKind::Input,
    };
    Made::Wrong(Fault { kind, opset, what: error.to_string() })
}

/// How the types of results differ from those that PyTorch gives: `(dtype, sizes)`.
fn difference(call: &Example, have: &[(Dtype, Option<Vec<SymInt>>)], wanted: &[(String, Vec<i64>)]) -> Option<String> {
    if have.len() != wanted.len() {
        return Some(format!("{} results, wanted {}", have.len(), wanted.len()));
    }
    let symbols: HashMap<String, i64> = call.with.iter().cloned().collect();
    have.iter().zip(wanted).enumerate().find_map(|(i, ((dtype, sizes), (name, want)))| {
        if dtype.torch_name() != name {
            return Some(format!("result {i}: dtype {}, wanted {name}", dtype.torch_name()));
        }
        let sizes = sizes.as_ref()?;
        let fits = |(have, want): (&SymInt, &i64)| have.eval(&symbols).is_none_or(|have| have == *want);
        let same = sizes.len() == want.len() && sizes.iter().zip(want).all(fits);
        let shown: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        (!same).then(|| format!("result {i}: shape [{}], wanted {want:?}", shown.join(", ")))
    })
}
