//! `check`: the errors of the rules.

use std::path::Path;

use anstream::eprint;

use aten2onnx_opmap::{check_dir, render};

use super::report::{Stop, count, print, say};

/// Check all rules against the schemas of PyTorch and ONNX
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the errors as JSON to stdout, one per line
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn check_rules(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let checked = check_dir(mappings)?;
    let errors = &checked.diagnostics;
    if args.json {
        print(&render::render_json(&checked.sources, errors))?;
    } else if !errors.is_empty() {
        eprint!("{}\n", render::render(&checked.sources, errors, true));
    }
    let program = &checked.program;
    let counts = [
        count(program.operator_maps().count(), "rule"),
        count(program.lowers.len(), "lowering"),
        count(program.raises.len(), "upward rule"),
        count(program.fuses.len(), "fusion"),
        count(program.examples.len(), "example"),
        count(render::distinct(errors), "error"),
    ];
    say(&counts.join(", "));
    if errors.is_empty() { Ok(()) } else { Err(Stop::Wrong) }
}
