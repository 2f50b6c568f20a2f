//! Builds the model of an example at an opset, like the exporter.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::tree::{Example, Target};

use super::call::call;
use aten2onnx_builder::passes::Passes;
use aten2onnx_builder::{Builder, Event, ExternRecord, NamedCall, OperatorForm};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Kind, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::ModelOptions;
use aten2onnx_onnx::facts::MIN_OPSET;
use aten2onnx_onnx::graph::{Graph, Value};
use aten2onnx_onnx::schema;
use aten2onnx_onnx::targets::Target as Runtime;
use aten2onnx_rules::{self, Rules};

/// The result of building an example.
#[derive(Debug)]
pub enum Outcome {
    /// A model.
    Built(Built),
    /// The rule refuses.
    Refused {
        /// The opset that would work.
        needs: Option<u32>,
        /// The reason.
        reason: String,
    },
    /// An error of the input, such as sizes that do not fit each other.
    Failed(String),
    /// An error of the exporter itself.
    Broken(String),
}

/// Which kernels ONNX Runtime lacks on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacks {
    /// Those that an export avoids.
    Usual,
    /// All: those of bfloat16 too, of which other devices have many.
    All,
    /// As usual, and the operator of the example.
    Operator,
}

/// A model.
#[derive(Debug)]
pub struct Built {
    /// Its opset.
    pub opset: u32,
    /// The file.
    pub bytes: Vec<u8>,
    /// The same without its opset and IR version, for comparison.
    pub unversioned: Vec<u8>,
}

/// Builds an example without the kernels that a runtime lacks; also returns the branches that it reached.
pub fn build(
    example: &Example,
    checked: &Checked,
    rules: &Rules,
    opset: u32,
    passes: Passes,
    lacks: Lacks,
) -> (Outcome, BTreeSet<u32>) {
    let mut cx = rules.builder(opset);
    // The native operator is the reference, so its own lowering must not be used there.
    if reference_opset(&example.target) != Some(opset) || lacks == Lacks::Operator {
        match lacks {
            Lacks::Usual | Lacks::Operator => cx.avoid_missing_kernels(),
            Lacks::All => cx.avoid_all_missing_kernels(),
        }
    }
    if let (Lacks::Operator, Target::Lower(op)) = (lacks, &example.target)
        && let Some(op) = schema::find(op)
    {
        cx.avoid_operator(op.name);
    }
    let made = call(&mut cx, example, checked, rules);
    let arms = cx.trace().reached().iter().copied().collect();
    (outcome(made.and_then(|_| model(cx, opset, passes))), arms)
}

/// What building an example does, for the proof.
#[derive(Debug)]
pub struct Observed {
    /// The result.
    pub outcome: Outcome,
    /// The branches that it reached.
    pub arms: BTreeSet<u32>,
    /// What each `extern fn` emitted and refused.
    pub externs: BTreeMap<String, ExternRecord>,
    /// The operators that the builder emitted without a rule.
    pub implicit: BTreeSet<&'static str>,
    /// The calls that interpreted rules name.
    pub named: Vec<NamedCall>,
}

/// Builds an example by ONNX's standard alone, whatever kernels a runtime has, and records what it does.
pub fn observe(example: &Example, checked: &Checked, rules: &Rules, opset: u32) -> Observed {
    let mut cx = rules.builder(opset);
    cx.trace().record_emitted();
    let made = call(&mut cx, example, checked, rules);
    let arms = cx.trace().reached().iter().copied().collect();
    let emitted = cx.trace().emitted();
    let externs = emitted.map(|emitted| emitted.externs.clone()).unwrap_or_default();
    let implicit = emitted.map(|emitted| emitted.implicit.clone()).unwrap_or_default();
    let named = emitted.map(|emitted| emitted.named.clone()).unwrap_or_default();
    let outcome = outcome(made.and_then(|_| model(cx, opset, Passes::NONE)));
    Observed { outcome, arms, externs, implicit, named }
}

/// The dtypes and shapes of the results of a call, without a model.
#[derive(Debug)]
pub struct Typed {
    /// Of each result: its dtype, and its sizes if their number is known; or why there is none.
    pub results: Result<Vec<(Dtype, Option<Vec<SymInt>>)>>,
    /// The branches that it reached.
    pub arms: BTreeSet<u32>,
}

/// The types that a rule gives to its results.
pub fn types(example: &Example, checked: &Checked, rules: &Rules, opset: u32) -> Typed {
    let mut cx = rules.builder(opset);
    let made = call(&mut cx, example, checked, rules);
    let arms = cx.trace().reached().iter().copied().collect();
    let of = |value: &Value| (cx.dtype(*value), cx.shape(*value).ok());
    Typed { results: made.map(|values| values.iter().map(of).collect()), arms }
}

fn outcome(made: Result<Built>) -> Outcome {
    match made {
        Ok(built) => Outcome::Built(built),
        Err(e) if e.kind == Kind::Unsupported => Outcome::Refused { needs: e.needs_opset, reason: e.to_string() },
        Err(e) if e.kind == Kind::Internal => Outcome::Broken(e.to_string()),
        Err(e) => Outcome::Failed(e.to_string()),
    }
}

/// The graph of an example as an export builds it.
///
/// # Errors
/// The error of the rule.
pub fn graph(example: &Example, checked: &Checked, rules: &Rules, opset: u32) -> Result<Graph> {
    traced(example, checked, rules, opset, None).0
}

/// The graph of an example as an export for a runtime builds it, and the branches that it reached.
pub fn traced(
    example: &Example,
    checked: &Checked,
    rules: &Rules,
    opset: u32,
    target: Option<&Runtime>,
) -> (Result<Graph>, BTreeSet<u32>) {
    let mut cx = exporting(rules, opset, target);
    let made = call(&mut cx, example, checked, rules);
    let arms = cx.trace().reached().iter().copied().collect();
    (made.and_then(|_| cx.finish()), arms)
}

/// A builder as an export has it.
fn exporting(rules: &Rules, opset: u32, target: Option<&Runtime>) -> Builder {
    let mut cx = rules.builder(opset);
    match target {
        Some(target) => cx.set_target(target),
        None => cx.avoid_missing_kernels(),
    }
    cx
}

/// The lowerings that an example needs in an export: operators, each with N of `before N`, or `AVOIDED`.
pub fn lowerings(
    example: &Example,
    checked: &Checked,
    rules: &Rules,
    opset: u32,
    target: Option<&Runtime>,
) -> BTreeSet<(&'static str, u32)> {
    let mut cx = exporting(rules, opset, target);
    cx.trace().enable();
    // One that is refused needs some before that.
    let _ = call(&mut cx, example, checked, rules);
    let of = |event| match event {
        Event::Lower(op, before) => Some((op, before)),
        _ => None,
    };
    cx.trace().take().into_iter().filter_map(of).collect()
}

/// Builds an example as an export for a runtime does. Also returns what the export notes of it.
///
/// # Errors
/// The runtime cannot express it, or the error of the rule.
pub(super) fn for_runtime(
    example: &Example,
    checked: &Checked,
    rules: &Rules,
    runtime: &Runtime,
) -> Result<(Built, Vec<String>)> {
    let opset = runtime.opset(None)?;
    let mut cx = rules.builder(opset);
    cx.set_target(runtime);
    call(&mut cx, example, checked, rules)?;
    let graph = cx.finish_after(|builder| Passes::ALL.run(builder))?;
    runtime.check_values(&graph)?;
    let dims = runtime.unnamed(&graph).into_iter().collect();
    let built = written(
        &graph,
        opset,
        &ModelOptions { dims, explicit_attributes: runtime.explicit_attributes, ..ModelOptions::default() },
    )?;
    Ok((built, runtime.notes(&graph)))
}

/// The operator of an example of a lowering, in the form that the example has; at the first opset with this form.
///
/// # Errors
/// The example is no call of the operator.
pub(super) fn native(example: &Example, checked: &Checked, rules: &Rules) -> Result<Option<Built>> {
    let (op, form) = match &example.target {
        Target::Map(_) => return Ok(None),
        Target::Lower(op) => (op, OperatorForm::NEWEST),
        Target::Raise(op, from) => (op, OperatorForm::before(*from)),
    };
    let version = schema::find(op).and_then(|op| form.version(op)).map_or(MIN_OPSET, |version| version.since);
    let opset = version.max(MIN_OPSET);
    let mut cx = rules.builder(opset);
    call(&mut cx, example, checked, rules)?;
    model(cx, opset, Passes::NONE).map(Some)
}

fn model(cx: Builder, opset: u32, passes: Passes) -> Result<Built> {
    let graph = cx.finish_after(|builder| passes.run(builder))?;
    written(&graph, opset, &ModelOptions::default())
}

fn written(graph: &Graph, opset: u32, options: &ModelOptions) -> Result<Built> {
    let mut model = aten2onnx_onnx::model::build(graph, options)?;
    let mut bytes = Vec::new();
    aten2onnx_onnx::write_to(&model, &mut bytes, &mut |_, _| Ok(()))?;
    model.proto.opset_import.clear();
    model.proto.ir_version = None;
    let mut unversioned = Vec::new();
    aten2onnx_onnx::write_to(&model, &mut unversioned, &mut |_, _| Ok(()))?;
    Ok(Built { opset, bytes, unversioned })
}

/// The opset at which the operator itself is what an example is compared with: for a `lower` the newest of ONNX Runtime, if it
/// has the newest form; for a `raise` the last one with the older form. `None` if the example is compared with PyTorch.
pub fn reference_opset(target: &Target) -> Option<u32> {
    match target {
        Target::Map(_) => None,
        Target::Lower(op) => Some(native_opset(op)),
        Target::Raise(_, from) => Some(from.saturating_sub(1)),
    }
}

fn native_opset(op: &str) -> u32 {
    let newest = schema::find(op).and_then(|op| op.versions.last()).map_or(0, |v| v.since);
    if newest <= super::newest_run() { super::newest_run() } else { aten2onnx_onnx::facts::MAX_OPSET }
}
