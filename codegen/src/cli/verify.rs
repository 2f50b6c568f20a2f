//! `verify`: makes calls of rules in the exporter as it was last built, which interprets the rule files as they are now.

use std::path::Path;

use super::report::Stop;
use super::try_rules;

/// Make calls of rules that nobody wrote, and compare what they become with PyTorch
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Overloads and options of `aten2onnx verify`: `verify --help` lists them
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the command.
pub fn verify_calls(mappings: &Path, args: &Args) -> Result<(), Stop> {
    try_rules::exporter(mappings, "verify", &args.rest)
}
