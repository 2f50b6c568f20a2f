//! Rules at run time: checks mapping files like the built-in ones, and interprets the checked tree.
//!
//! The interpreter calls the same builder functions in the same order as the generated Rust, so both emit the same
//! graph. An exporter for one opset has none (`absent.rs`).

mod builtins;
mod call;
mod eval;
mod facts;
mod graphs;
mod load;
mod node;
mod tables;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aten2onnx_opmap::coverage::Status;
use aten2onnx_opmap::source::FileId;
use aten2onnx_opmap::tree::{Kind, Lower, Map, Program};
use aten2onnx_opmap::{Checked, visit};
use rustc_hash::FxHashSet;

pub use crate::arguments::{CallArgs, ExternFn, FromVal, Val};
pub use load::{built_in, built_in_files, of_build, use_facts};

use self::tables::EXTERNS;
use crate::arguments::replacement;
use crate::level::Support;
use aten2onnx_builder::{Args, Builder, Lowerings, NodeCall, Out};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::facts::MIN_OPSET;
use aten2onnx_onnx::graph::Value;
use aten2onnx_onnx::schema::pattern::Fusion;

/// The number of the first branch of interpreted rules: those of compiled rules come before.
pub const FIRST_ARM: u32 = 500_000;

/// Which rules of a set of mapping files are run from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Those of the user's files; the others are compiled.
    Own,
    /// All.
    All,
}

/// Checked mapping files, on top of the rules of the build.
pub struct MappingFiles {
    checked: Arc<Checked>,
    run: Run,
    /// The overloads that this set runs: those of the files, and those that call one of them.
    maps: FxHashSet<String>,
    /// The lowerings of the files.
    lowers: FxHashSet<(String, u32)>,
    /// The upward rules of the files.
    raises: FxHashSet<(String, u32)>,
    /// What the `fuse` rules of the files look for.
    fusions: Vec<Fusion>,
    /// Functions behind `extern fn`s of the files, besides those of the build.
    externs: Vec<(String, ExternFn)>,
    /// The folder that takes the place of the rules, schemas and facts of the build.
    folder: Option<PathBuf>,
}

impl MappingFiles {
    fn new(checked: Arc<Checked>, externs: &[(&str, ExternFn)], run: Run) -> MappingFiles {
        let own = |file: FileId| is_run(&checked, run, file);
        let program = &checked.program;
        let mut maps: FxHashSet<String> =
            (program.maps.iter().filter(|m| own(m.function.span.file))).map(|m| m.function.name.clone()).collect();
        callers(program, &mut maps);
        let keys = |all: &[Lower]| -> FxHashSet<(String, u32)> {
            all.iter().filter(|l| own(l.function.span.file)).map(|l| (l.op.clone(), l.before)).collect()
        };
        let (lowers, raises) = (keys(&program.lowers), keys(&program.raises));
        let fuses = program.fuses.iter().filter(|fuse| own(fuse.span.file));
        let fusions = fuses.map(|fuse| fuse.fusion.clone()).collect();
        let externs = externs.iter().map(|(name, function)| ((*name).to_owned(), *function)).collect();
        MappingFiles { checked, run, maps, lowers, raises, fusions, externs, folder: None }
    }

    /// The function behind an `extern fn`.
    fn extern_fn(&self, name: &str) -> Option<ExternFn> {
        let own = self.externs.iter().find(|row| row.0 == name);
        own.map(|row| row.1).or_else(|| extern_of_build(name))
    }

    /// The folder that takes the place of the rules, schemas and facts of the build, if one does.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The checked files.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    fn program(&self) -> &Program {
        &self.checked.program
    }

    fn newest(&self) -> u32 {
        self.checked.schemas.opsets.max
    }

    /// The global number of an arm of this set.
    fn arm(&self, arm: u32) -> u32 {
        arm.saturating_add(FIRST_ARM)
    }

    /// The rule of an overload, if this set runs it.
    pub fn find(&self, name: &str) -> Option<InterpretedRule<'_>> {
        let map = self.maps.contains(name).then(|| self.program().map(name))??;
        Some(InterpretedRule { rules: self, map })
    }

    /// The overloads that this set runs, sorted.
    pub fn overloads(&self) -> impl Iterator<Item = &str> {
        self.program().maps.iter().map(|m| m.function.name.as_str()).filter(|name| self.maps.contains(*name))
    }

    /// Why ONNX cannot express an overload, if the files state it.
    pub fn unsupported(&self, name: &str) -> Option<&str> {
        let found =
            self.program().unsupported.iter().find(|u| u.name == name && is_run(&self.checked, self.run, u.span.file));
        found.map(|u| u.reason.as_str())
    }

    /// The overloads that ONNX cannot express, each with the reason, as the files state it.
    pub fn all_unsupported(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.program().unsupported.iter().filter(|u| is_run(&self.checked, self.run, u.span.file));
        own.map(|u| (u.name.as_str(), u.reason.as_str()))
    }

    /// The location and text of an arm.
    pub fn described(&self, arm: u32) -> Option<(String, &str)> {
        let arm = self.program().arms.get(arm.checked_sub(FIRST_ARM)? as usize)?;
        Some((self.checked.sources.place(arm.span), &arm.text))
    }
}

/// The function behind an `extern fn` of the build.
fn extern_of_build(name: &str) -> Option<ExternFn> {
    let at = EXTERNS.binary_search_by(|row| row.0.cmp(name)).ok()?;
    EXTERNS.get(at).map(|row| row.1)
}

fn is_run(checked: &Checked, run: Run, file: FileId) -> bool {
    run == Run::All || checked.is_own(file)
}

impl fmt::Debug for MappingFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappingFiles").field("maps", &self.maps).field("lowers", &self.lowers).finish_non_exhaustive()
    }
}

/// Adds the rules that call one of these, directly or indirectly.
fn callers(program: &Program, maps: &mut FxHashSet<String>) {
    let mut fns = FxHashSet::default();
    loop {
        let before = (maps.len(), fns.len());
        let calls = |body: &aten2onnx_opmap::tree::Expr, maps: &FxHashSet<String>, fns: &FxHashSet<String>| {
            let mut found = false;
            visit::walk(body, &mut |expr| {
                found |= match &expr.kind {
                    Kind::Rule(name, _) => maps.contains(name),
                    Kind::Fn(name, _) => fns.contains(name),
                    _ => false,
                }
            });
            found
        };
        for function in &program.fns {
            if calls(&function.body, maps, &fns) {
                fns.insert(function.name.clone());
            }
        }
        for map in &program.maps {
            if calls(&map.function.body, maps, &fns) {
                maps.insert(map.function.name.clone());
            }
        }
        if (maps.len(), fns.len()) == before {
            return;
        }
    }
}

/// A rule that the interpreter runs.
#[derive(Debug, Clone, Copy)]
pub struct InterpretedRule<'r> {
    rules: &'r MappingFiles,
    map: &'r Map,
}

impl<'r> InterpretedRule<'r> {
    /// The overload.
    pub fn name(&self) -> &'r str {
        &self.map.function.name
    }

    /// `my_ops.opmap:4`
    pub fn location(&self) -> String {
        self.rules.checked.sources.place(self.map.function.span)
    }

    /// The names of its parameters.
    pub fn params(&self) -> impl Iterator<Item = &'r str> {
        self.map.function.params.iter().map(|param| param.name.as_str())
    }

    /// Whether it may be called with complex numbers.
    pub fn takes_complex(&self) -> bool {
        self.rules.program().takes_complex(self.name())
    }

    fn status(&self, opset: u32) -> Option<&'r Status> {
        let row = self.rules.checked.matrix.rows.get(self.name())?;
        row.get(opset.checked_sub(MIN_OPSET)? as usize)
    }

    /// The support at an opset.
    pub fn support(&self, opset: u32) -> Support {
        match self.status(opset) {
            Some(Status::Full) => Support::Full,
            Some(Status::Partial(_)) => Support::Partial,
            Some(Status::No(_)) | None => Support::No,
        }
    }

    /// Why it is not supported at an opset.
    pub fn reasons(&self, opset: u32) -> Vec<&'r str> {
        match self.status(opset) {
            Some(Status::Partial(reasons)) => reasons.iter().collect(),
            Some(Status::No(reasons)) => reasons.iter().map(String::as_str).collect(),
            Some(Status::Full) | None => Vec::new(),
        }
    }

    /// Runs the rule.
    pub fn call(&self, cx: &mut Builder, args: &Args) -> Result<Vec<Out>> {
        self.rules.call_map(cx, self.map, args)
    }
}

impl Lowerings for MappingFiles {
    fn has(&self, op: &str, before: u32) -> bool {
        self.lowers.contains(&(op.to_owned(), before))
    }

    fn has_raise(&self, op: &str, from: u32) -> bool {
        self.raises.contains(&(op.to_owned(), from))
    }

    fn is_same(&self, op: &str, to: u32) -> bool {
        self.program().same(op, to)
    }

    fn call(&self, before: u32, cx: &mut Builder, call: &NodeCall) -> Result<Vec<Value>> {
        match self.program().lower(call.op, before) {
            Some(lower) => self.call_lower(cx, lower, call),
            None => {
                Err(aten2onnx_core::error::Error::internal(format!("there is no `lower {} before {before}`", call.op)))
            }
        }
    }

    fn raise(&self, from: u32, cx: &mut Builder, call: &NodeCall) -> Result<Vec<Value>> {
        match self.program().raise(call.op, from) {
            Some(raise) => self.call_lower(cx, raise, call),
            None => Err(aten2onnx_core::error::Error::internal(format!("there is no `raise {} from {from}`", call.op))),
        }
    }

    fn fusions(&self) -> &[Fusion] {
        &self.fusions
    }

    fn fuse(&self, rule: &str, cx: &mut Builder, args: &Args) -> Result<Value> {
        let outs = self.find(rule).map(|found| found.call(cx, args)).transpose()?;
        replacement(cx, rule, outs.as_deref())
    }
}
