//! The rules that a program needs: what an exporter for one opset has to have for it.

use std::collections::BTreeSet;

use aten2onnx_core::error::Result;
use aten2onnx_prepare::{Keep, prepare};
use aten2onnx_program::Program;
use aten2onnx_rules::Rules;
use aten2onnx_translate::{Blocker, called, preflight};

/// What a program needs.
#[derive(Debug)]
pub struct Needed {
    /// The overloads whose rules it calls: as it is, which front ends may ask for, and as it is prepared for export.
    pub rules: BTreeSet<String>,
    /// What has no rule at the opset.
    pub missing: Vec<Blocker>,
}

/// What a program needs at an opset.
///
/// # Errors
/// A damaged program.
pub fn needed(mut program: Program, rules: &Rules, opset: u32) -> Result<Needed> {
    let mut found = called(&program, rules);
    let source = program.source.clone();
    prepare(&mut program, Keep::default()).map_err(|error| error.at(source))?;
    found.extend(called(&program, rules));
    Ok(Needed { rules: found, missing: preflight(&program, rules, opset) })
}
