//! `stats`: the length of rules, and how many of them are written in Rust.

use std::path::Path;

use aten2onnx_codegen::stats::Stats;

use super::report::{Stop, print, sound_rules};

/// Print the number of rules and their lines, and the rules that only call an `extern fn`
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn run(mappings: &Path) -> Result<(), Stop> {
    print(&Stats::of(&sound_rules(mappings)?).text())
}
