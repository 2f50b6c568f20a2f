//! An exporter for a single opset: the Rust of [`crate::generate()`] without the parts that only other opsets need.
//!
//! Conditions on the opset are decided, lowerings and helpers that the opset does not need are removed, and short lowerings are
//! inlined. Its models equal those of the full exporter at this opset byte for byte: the builder takes the same steps, only the
//! look-up of inlined lowerings is gone.

mod decide;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aten2onnx_opmap::coverage::Matrix;
use aten2onnx_opmap::schema::Schemas;
use aten2onnx_opmap::tree::{Expr, Function, Kind, Lower, Program};
use aten2onnx_opmap::{Checked, visit};

use crate::generate::generate_from;

/// The generated files for an opset: name and text.
///
/// # Errors
/// An unknown opset, or a bug of the compiler.
pub fn generate(checked: &Checked, opset: u32) -> Result<Vec<(String, String)>, String> {
    let opsets = &checked.schemas.opsets;
    if !opsets.range().contains(&opset) {
        return Err(format!("unknown opset {opset}: supported are {} to {}", opsets.min, opsets.max));
    }
    let program = program_at(&checked.program, &checked.schemas, opset);
    let matrix = matrix_at(&checked.matrix, opset);
    generate_from(&program, &matrix, &checked.sources, &checked.schemas, Some(opset))
}

/// The rules as they are at an opset, with only what they need there.
fn program_at(program: &Program, schemas: &Schemas, opset: u32) -> Program {
    let mut program = program.clone();
    program.lowers.retain(|lower| lower.before > opset || is_lacked(lower, schemas));
    program.raises.retain(|raise| raise.before <= opset);
    each_function(&mut program, &mut |function| decide::fold_opset(Arc::make_mut(&mut function.body), opset));
    let needed = needed(&program);
    program.fns.retain(|function| needed.contains(&function.name));
    number_arms(&mut program);
    program
}

/// Whether some runtime lacks the operator, so that it is lowered even if the opset has it.
fn is_lacked(lower: &Lower, schemas: &Schemas) -> bool {
    let kernels = schemas.onnxruntime.lacks.iter().any(|lack| lack.op == lower.op);
    let avoided = schemas.runtimes.iter().flat_map(|r| &r.avoid).any(|avoid| avoid.op == lower.op);
    kernels
        || avoided
        || schemas.runtimes.iter().flat_map(|r| &r.release).any(|release| release.lacks.contains(&lower.op))
}

fn each_function(program: &mut Program, f: &mut dyn FnMut(&mut Function)) {
    program.maps.iter_mut().for_each(|map| f(&mut map.function));
    let lowers = program.lowers.iter_mut().chain(&mut program.raises);
    lowers.for_each(|lower| f(&mut lower.function));
    program.fns.iter_mut().for_each(f);
}

/// The helpers that rules, lowerings and upward rules call, directly or indirectly.
fn needed(program: &Program) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    let maps = program.maps.iter().map(|map| &*map.function.body);
    let lowers = program.lowers.iter().chain(&program.raises);
    let mut open: Vec<&Expr> = maps.chain(lowers.map(|lower| &*lower.function.body)).collect();
    while let Some(body) = open.pop() {
        visit::walk(body, &mut |expr| {
            if let Kind::Fn(name, _) = &expr.kind
                && needed.insert(name.clone())
            {
                open.extend(program.fns.iter().find(|function| function.name == *name).map(|function| &*function.body));
            }
        });
    }
    needed
}

/// Renumbers the remaining branches from 0: a branch's number is its index in the table.
fn number_arms(program: &mut Program) {
    let mut left = BTreeSet::new();
    each_function(program, &mut |function| {
        decide::arms(Arc::make_mut(&mut function.body), &mut |arm| left.extend([*arm]))
    });
    let numbers: HashMap<u32, u32> = left.iter().zip(0..).map(|(old, new)| (*old, new)).collect();
    let mut number = 0;
    program.arms.retain(|_| {
        number += 1;
        left.contains(&(number - 1))
    });
    each_function(program, &mut |function| {
        decide::arms(Arc::make_mut(&mut function.body), &mut |arm| *arm = numbers.get(arm).copied().unwrap_or(*arm));
    });
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
