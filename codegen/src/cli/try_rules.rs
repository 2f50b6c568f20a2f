//! `try`: the examples of some rules, as the files say now. The exporter runs them, as it was last built: it interprets the rules.

use std::path::Path;
use std::process::Command;

use super::report::Stop;

/// Run the examples of rules as they are on the disk, without a build, and compare them with PyTorch
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Overloads (aten::elu), ONNX operators (Gelu) or .opmap files
    #[arg(value_name = "OP|FILE", required = true)]
    wanted: Vec<String>,
}

/// Runs the command.
pub fn run(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let here = std::env::current_exe().map_err(|e| format!("this program does not know where it is: {e}"))?;
    let exporter = here.with_file_name(format!("aten2onnx{}", std::env::consts::EXE_SUFFIX));
    if !exporter.exists() {
        let text = format!("{} is not there yet: `cargo build` makes it, once", exporter.display());
        return Err(Stop::Unable(text));
    }
    let status = Command::new(&exporter).arg("try").arg("--rules").arg(mappings).args(&args.wanted).status();
    match status.map_err(|e| format!("{}: {e}", exporter.display()))?.code() {
        Some(0) => Ok(()),
        _ => Err(Stop::Wrong),
    }
}
