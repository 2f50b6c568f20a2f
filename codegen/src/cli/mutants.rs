//! `mutants`: changes rules in the exporter as it was last built, which interprets the rule files as they are now.

use std::path::Path;

use super::report::Stop;
use super::try_rules;

/// Change one place of the rules at a time, and say what finds it
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Overloads, operators, helpers and options of `aten2onnx mutants`: `mutants --help` lists them
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the command.
pub fn test_mutants(mappings: &Path, args: &Args) -> Result<(), Stop> {
    try_rules::exporter(mappings, "mutants", &args.rest)
}
