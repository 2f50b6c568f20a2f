//! `site` and `serve`: pages about the rules, which the program `aten2onnx-explorer` makes. It interprets rules, so it is above
//! this crate.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::report::Stop;

/// Write pages about all rules and ONNX operators: a static site
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  aten2onnx-codegen site --out target/site")]
pub struct SiteArgs {
    /// What `aten2onnx-explorer site --help` lists: --out DIR, --only OP
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

/// Show these pages on this machine, and the graphs of a rule while its file is edited
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  aten2onnx-codegen serve --port 8013")]
pub struct ServeArgs {
    /// What `aten2onnx-explorer serve --help` lists: --port N, --python PATH
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

/// Writes the site.
pub fn site(mappings: &Path, args: &SiteArgs) -> Result<(), Stop> {
    explorer(mappings, "site", &args.options)
}

/// Serves the pages.
pub fn serve(mappings: &Path, args: &ServeArgs) -> Result<(), Stop> {
    explorer(mappings, "serve", &args.options)
}

/// Runs the explorer that was built with this program.
fn explorer(mappings: &Path, command: &str, options: &[OsString]) -> Result<(), Stop> {
    let here = std::env::current_exe().map_err(|e| format!("the path of this program is unknown: {e}"))?;
    let explorer = here.with_file_name(format!("aten2onnx-explorer{}", std::env::consts::EXE_SUFFIX));
    if !explorer.exists() {
        let text = format!("{} does not exist: run `cargo build -p aten2onnx-explorer`", explorer.display());
        return Err(Stop::Unable(text));
    }
    let status = Command::new(&explorer).arg("--rules").arg(mappings).arg(command).args(options).status();
    match status.map_err(|e| format!("{}: {e}", explorer.display()))?.code() {
        Some(0) => Ok(()),
        _ => Err(Stop::Wrong),
    }
}
