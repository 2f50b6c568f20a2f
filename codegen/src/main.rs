//! The opmap compiler as a command: `cargo run -p aten2onnx-codegen -- check`.

use std::path::PathBuf;
use std::process::ExitCode;

use aten2onnx_codegen as codegen;

fn main() -> ExitCode {
    let mappings = std::env::args().nth(2).map_or_else(|| PathBuf::from("mappings"), PathBuf::from);
    match codegen::check_dir(&mappings) {
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
        Ok(checked) => {
            eprint!("{}", codegen::render::render(&checked.sources, &checked.diagnostics, false));
            eprintln!(
                "{} rules, {} lowerings, {} errors",
                checked.program.maps.len(),
                checked.program.lowers.len(),
                checked.diagnostics.len()
            );
            if checked.diagnostics.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}
