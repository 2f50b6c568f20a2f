//! `try`: runs the examples of rules in the exporter as it was last built, which interprets the rule files as they are now.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::report::Stop;

/// Run examples of the rule files as they are, without a build, and compare the results with PyTorch
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Overloads (aten::elu), ONNX operators (Gelu) or .opmap files
    #[arg(value_name = "OP|FILE", required = true)]
    wanted: Vec<String>,
    /// Try again whenever a file of the rules is saved, until Ctrl-C: a second or two each
    #[arg(long)]
    watch: bool,
}

/// Runs the command.
pub fn try_examples(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let watch = args.watch.then(|| "--watch".to_owned());
    exporter(mappings, "try", &args.wanted.iter().cloned().chain(watch).collect::<Vec<_>>())
}

/// Runs a command of the exporter that was built with this program, on the rules in a folder.
pub fn exporter(mappings: &Path, command: &str, args: &[String]) -> Result<(), Stop> {
    let exporter = program()?;
    let status = Command::new(&exporter).arg(command).arg("--rules").arg(mappings).args(args).status();
    match status.map_err(|e| format!("{}: {e}", exporter.display()))?.code() {
        Some(0) => Ok(()),
        _ => Err(Stop::Wrong),
    }
}

/// The exporter that was built with this program.
pub fn program() -> Result<PathBuf, Stop> {
    let here = std::env::current_exe().map_err(|e| format!("the path of this program is unknown: {e}"))?;
    let exporter = here.with_file_name(format!("aten2onnx{}", std::env::consts::EXE_SUFFIX));
    match exporter.exists() {
        true => Ok(exporter),
        false => Err(Stop::Unable(format!("{} does not exist: run `cargo build`", exporter.display()))),
    }
}
