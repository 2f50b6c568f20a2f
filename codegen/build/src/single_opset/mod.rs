//! The rules of an exporter for a single opset, with the operators that it supports: the Rust of a crate.
//!
//! Conditions on the opset are decided, short lowerings are inlined, and what no supported operator reaches is left out: rules, lowerings,
//! upward rules, helpers and rewrites. Its models equal those of the full exporter at this opset byte for byte: the builder takes the same
//! steps, only the look-up of inlined lowerings is gone.

mod decide;
mod reach;
mod wanted;

use std::collections::BTreeSet;
use std::sync::Arc;

use aten2onnx_operators::pattern::is_fusion;
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::Matrix;
use aten2onnx_opmap::tree::{Function, Program, is_replaced};
use aten2onnx_schemas::Schemas;

use crate::emit::{Single, emit_single};
use crate::generate::fact_files;
pub use wanted::resolve;

/// The rules of an exporter for one opset.
#[derive(Debug)]
pub struct Cut {
    /// The files in `src/` of their crate: name and text, sorted.
    pub files: Vec<(String, String)>,
    /// The facts about PyTorch's operators, which are those of all: name and text.
    pub facts: Vec<(String, String)>,
    /// The overloads that it supports, sorted.
    pub overloads: Vec<String>,
    /// How many overloads with a rule were left out.
    pub left_out: usize,
    /// The lowerings that it has: the operators, and N of `before N` or `AVOIDED`.
    pub lowerings: BTreeSet<(String, u32)>,
}

/// What an exporter is for.
#[derive(Debug, Clone, Copy)]
pub struct Aim<'a> {
    /// The opset.
    pub opset: u32,
    /// The runtime without its release: `tensorrt`; None for any.
    pub runtime: Option<&'a str>,
}

/// The rules for an opset, of the overloads that are wanted and of what they reach, or of all.
///
/// # Errors
/// An unknown opset, a function in Rust that the exporter would not have, or a bug of the compiler.
pub fn generate(checked: &Checked, aim: &Aim<'_>, wanted: Option<&BTreeSet<String>>) -> Result<Cut, String> {
    let opset = aim.opset;
    let opsets = &checked.schemas.opsets;
    if !opsets.range().contains(&opset) {
        return Err(format!("unknown opset {opset}: supported are {} to {}", opsets.min, opsets.max));
    }
    if let Some(own) =
        checked.program.externs.iter().find(|function| checked.base > 0 && checked.is_own(function.span.file))
    {
        let place = checked.sources.place(own.span);
        let text = format!(
            "{place}: `extern fn {}` is a function in Rust, which an exporter for one opset does not have",
            own.name
        );
        return Err(text + ": write it as a `fn` in the mapping file");
    }
    let program = program_at(&checked.program, &checked.schemas, aim, wanted);
    let matrix = matrix_at(&checked.matrix, opset);
    let has = |name: &str| program.map(name).is_some();
    let names = checked.program.operator_maps().map(|map| map.function.name.clone());
    let (overloads, left_out): (Vec<String>, Vec<String>) = names.partition(|name| has(name));
    let single = Single { checked, program: &program, matrix: &matrix, opset, left_out: &left_out };
    let lowerings = program.lowers.iter().map(|lower| (lower.op.clone(), lower.before)).collect();
    let facts = fact_files(&checked.program, &checked.schemas);
    Ok(Cut { files: emit_single(&single)?.files, facts, overloads, left_out: left_out.len(), lowerings })
}

/// The rules as they are at an opset, with only what is reached there.
fn program_at(program: &Program, schemas: &Schemas, aim: &Aim<'_>, wanted: Option<&BTreeSet<String>>) -> Program {
    let opset = aim.opset;
    let mut program = program.clone();
    program.maps.retain(|map| !is_replaced(&map.function.name));
    program.raises.retain(|raise| raise.before <= opset);
    program.arms.clear();
    each_function(&mut program, &mut |function| decide::fold_opset(Arc::make_mut(&mut function.body), opset));
    let all = || program.operator_maps().map(|map| map.function.name.clone()).collect();
    let reached = reach::reached(&program, schemas, aim, wanted.cloned().unwrap_or_else(all));
    let has = |function: &Function| reached.contains(&function.name);
    program.maps.retain(|map| has(&map.function));
    program.lowers.retain(|lower| has(&lower.function));
    program.raises.retain(|raise| has(&raise.function));
    program.fns.retain(has);
    program.fuses.retain(|fuse| reached.contains(&fuse.fusion.rule));
    let kept: BTreeSet<&String> = program.maps.iter().map(|map| &map.function.name).collect();
    program.examples.retain(|example| match &example.target {
        aten2onnx_opmap::tree::Target::Map(name) => kept.contains(name) && !is_fusion(name),
        _ => false,
    });
    program
}

fn each_function(program: &mut Program, f: &mut dyn FnMut(&mut Function)) {
    program.maps.iter_mut().for_each(|map| f(&mut map.function));
    let lowers = program.lowers.iter_mut().chain(&mut program.raises);
    lowers.for_each(|lower| f(&mut lower.function));
    program.fns.iter_mut().for_each(f);
}

/// The support matrix of the opset alone.
fn matrix_at(matrix: &Matrix, opset: u32) -> Matrix {
    let index = opset.saturating_sub(matrix.oldest) as usize;
    let mut matrix = matrix.clone();
    matrix.oldest = opset;
    for row in matrix.rows.values_mut() {
        *row = row.drain(..).skip(index).take(1).collect();
    }
    matrix
}
