//! `stats`: the length of rules, and how many of them reach Rust that makes nodes.

use std::path::Path;

use aten2onnx_codegen::stats::Stats;

use super::report::{Stop, print, sound_rules};

/// Print the number of rules and their lines, and the functions in Rust that make nodes, with the number of rules that reach them
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn print_stats(mappings: &Path) -> Result<(), Stop> {
    print(&Stats::of(&sound_rules(mappings)?).text())
}
