//! `stats`: how long rules are, and how many of them Rust carries.

use std::path::Path;

use aten2onnx_codegen::stats::Stats;

use super::report::{Stop, print, sound_rules};

/// Count rules, their lines, and those that are an `extern fn` in all but name
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn run(mappings: &Path) -> Result<(), Stop> {
    print(&Stats::of(&sound_rules(mappings)?).text())
}
