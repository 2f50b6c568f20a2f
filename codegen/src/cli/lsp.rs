//! `lsp`: the language server, which editors start.

use std::path::Path;

use aten2onnx_lsp::{Runner, Setup};

use super::report::Stop;

/// Serve an editor on stdin and stdout: errors while typing, completion, hover and more
#[derive(Debug, clap::Args)]
#[command(after_help = "Editors start it: docs/editors.md shows how.")]
pub struct Args {
    /// Talk on stdin and stdout, which is the only way: editors give this option
    #[arg(long)]
    stdio: bool,
}

/// Runs the command.
pub fn serve_editor(mappings: &Path, _args: &Args) -> Result<(), Stop> {
    let program = std::env::current_exe().map_err(|e| format!("the path of this program is unknown: {e}"))?;
    let setup = Setup { mappings: mappings.to_owned(), program: Some(Runner::Codegen(program)), ..Setup::default() };
    aten2onnx_lsp::serve_stdio(setup).map_err(Stop::Unable)
}
