//! `examples`: all checked examples as JSON, for test runners.

use std::path::Path;

use aten2onnx_opmap::examples;

use super::report::{Stop, print, sound_rules};

/// Print all checked examples as JSON, one per line
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn print_examples(mappings: &Path, _args: &Args) -> Result<(), Stop> {
    let checked = sound_rules(mappings)?;
    print(&examples::json_lines(&checked))
}
