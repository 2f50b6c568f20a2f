//! What the wanted rules reach at an opset: rules, helpers, lowerings, upward rules and rewrites.
//!
//! Nothing is left out that an export may call: an operator counts as reached if a rule that is reached names it, if a function in Rust
//! declares that it may emit it, or if the builder makes it of itself. What the builder decides by dtypes is not followed: all lowerings of a
//! reached operator that can run at the opset are kept.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_opmap::tree::{AVOIDED, Expr, Function, Kind, Lower, Program};
use aten2onnx_opmap::visit;
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::avoid::Avoid;
use aten2onnx_schemas::targets::{Lack, Runtime};

use super::Aim;

/// The names of the functions that are reached.
pub(super) fn reached(
    program: &Program,
    schemas: &Schemas,
    aim: &Aim<'_>,
    wanted: BTreeSet<String>,
) -> BTreeSet<String> {
    let mut walk = Walk::new(program, schemas, aim.opset, &Lacked::of(schemas, aim));
    wanted.iter().for_each(|name| walk.function(name));
    let of_itself = schemas.opsets.without_rules().chain(&schemas.opsets.passes);
    of_itself.for_each(|op| walk.operator(op, schemas.opsets.max));
    walk.finish();
    walk.reached
}

struct Walk<'a> {
    program: &'a Program,
    opset: u32,
    functions: BTreeMap<&'a str, &'a Function>,
    /// By operator: those that can run at the opset.
    lowers: BTreeMap<&'a str, Vec<&'a Lower>>,
    /// By operator.
    raises: BTreeMap<&'a str, Vec<&'a Lower>>,
    reached: BTreeSet<String>,
    operators: BTreeSet<&'a str>,
    open: Vec<&'a Expr>,
}

impl<'a> Walk<'a> {
    fn new(program: &'a Program, schemas: &Schemas, opset: u32, lacked: &Lacked<'_>) -> Self {
        let maps = program.maps.iter().map(|map| &map.function);
        let functions = maps.chain(&program.fns).map(|function| (function.name.as_str(), function)).collect();
        let can_run = |lower: &&Lower| {
            let is_older = lower.before != AVOIDED && schemas.opsets.lowered_below(&lower.op, lower.before) > opset;
            is_older || lacked.calls(schemas, lower, opset)
        };
        let mut walk = Walk {
            program,
            opset,
            functions,
            lowers: BTreeMap::new(),
            raises: BTreeMap::new(),
            reached: BTreeSet::new(),
            operators: BTreeSet::new(),
            open: Vec::new(),
        };
        for lower in program.lowers.iter().filter(can_run) {
            walk.lowers.entry(&lower.op).or_default().push(lower);
        }
        for raise in &program.raises {
            walk.raises.entry(&raise.op).or_default().push(raise);
        }
        walk
    }

    /// A rule or a helper.
    fn function(&mut self, name: &str) {
        if let Some(function) = self.functions.get(name).copied() {
            self.enter(function);
        }
    }

    fn enter(&mut self, function: &'a Function) {
        if self.reached.insert(function.name.clone()) {
            self.open.push(&function.body);
        }
    }

    /// A call of an operator in the form of an opset. Forms older than the opset are raised.
    fn operator(&mut self, op: &str, form: u32) {
        let opset = self.opset;
        let raises = self.raises.get(op).cloned().unwrap_or_default();
        raises.into_iter().filter(|r| form < r.before && r.before <= opset).for_each(|r| self.enter(&r.function));
        let Some((op, lowers)) = self.lowers.get_key_value(op) else { return };
        let (op, lowers) = (*op, lowers.clone());
        if self.operators.insert(op) {
            lowers.into_iter().for_each(|lower| self.enter(&lower.function));
        }
    }

    fn expression(&mut self, expr: &'a Expr) {
        match &expr.kind {
            Kind::Fn(name, _) | Kind::Rule(name, _) => self.function(name),
            Kind::Node(node) => self.operator(&node.op, node.form),
            Kind::Extern(name, _) => {
                let program = self.program;
                let emitted = program.emits.get(name).into_iter().flat_map(|emits| &emits.ops);
                emitted.for_each(|op| self.operator(op, u32::MAX));
            }
            _ => {}
        }
    }

    /// Follows all calls, then adds the rewrites.
    fn finish(&mut self) {
        for fuse in &self.program.fuses {
            self.function(&fuse.fusion.rule);
        }
        while let Some(body) = self.open.pop() {
            visit::walk(body, &mut |expr| self.expression(expr));
        }
    }
}

/// What a runtime lacks: it is lowered even if the opset has it.
#[derive(Default)]
struct Lacked<'s> {
    /// Operators that it lacks, or that it is not given in some form or with some dtypes: any of their lowerings may replace them.
    whole: BTreeSet<&'s str>,
    /// Operators without kernels for some dtypes: the lowering of the version in force replaces them.
    kernels: BTreeSet<&'s str>,
}

impl<'s> Lacked<'s> {
    /// Without a runtime, an export avoids what the newest release of ONNX Runtime lacks.
    fn of(schemas: &'s Schemas, aim: &Aim<'_>) -> Self {
        let mut found = Lacked::default();
        let mut has_kernels = aim.runtime.is_none();
        for runtime in schemas.runtimes.iter().filter(|one| one.runtime == aim.runtime.unwrap_or("onnxruntime")) {
            has_kernels |= runtime.kernels;
            match aim.runtime {
                Some(_) => found.add_all(runtime),
                None => found.add_newest(schemas, runtime, aim.opset),
            }
        }
        let is_meant = |lack: &&Lack| has_kernels && is_in_force(schemas, aim.opset, &lack.op, lack.since);
        found.kernels.extend(schemas.onnxruntime.lacks.iter().filter(is_meant).map(|lack| lack.op.as_str()));
        found
    }

    /// What some release of a runtime lacks at some opset.
    fn add_all(&mut self, runtime: &'s Runtime) {
        self.whole.extend(runtime.avoid.iter().map(|avoid| avoid.op.as_str()));
        for release in &runtime.release {
            self.whole.extend(release.lacks.iter().map(String::as_str));
            self.whole.extend(release.dtypes.iter().map(|dtypes| dtypes.op.as_str()));
            self.whole.extend(release.forms.iter().map(|form| form.op.as_str()));
        }
    }

    /// The forms that the newest release of a runtime is not given at an opset.
    fn add_newest(&mut self, schemas: &Schemas, runtime: &'s Runtime, opset: u32) {
        let newest = runtime.release.first().map(|release| release.name.as_str()).unwrap_or_default();
        let has_version = |avoid: &&Avoid| {
            avoid.since.is_empty() || avoid.since.iter().any(|since| is_in_force(schemas, opset, &avoid.op, *since))
        };
        let avoided = runtime.avoid.iter().filter(|avoid| avoid.is_in(newest)).filter(has_version);
        self.whole.extend(avoided.map(|avoid| avoid.op.as_str()));
    }

    /// Whether a lowering may replace a call of an operator that the opset has.
    fn calls(&self, schemas: &Schemas, lower: &Lower, opset: u32) -> bool {
        let op = lower.op.as_str();
        self.whole.contains(op) || self.kernels.contains(op) && is_in_force(schemas, opset, op, lower.before)
    }
}

/// Whether an opset has this version of an operator.
fn is_in_force(schemas: &Schemas, opset: u32, op: &str, since: u32) -> bool {
    schemas.onnx.at(op, opset).is_some_and(|version| version.since == since)
}
