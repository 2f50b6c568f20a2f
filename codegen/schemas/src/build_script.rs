//! What build scripts call, and those of the rule compiler are made of.

use std::path::Path;
use std::process::ExitCode;

use aten2onnx_mappings::FOLDER;

use crate::{Schemas, emit, targets_text};

/// The build script of `aten2onnx-onnx`: writes the tables of schemas, opsets, dtypes and runtimes.
pub fn compile_schemas() -> ExitCode {
    compile(&["schemas", "opsets.toml", "operators.toml", "dtypes.toml", "targets"], |mappings| {
        Ok(schema_files(&Schemas::load(mappings)?))
    })
}

/// The names and texts of the tables of facts about ONNX and its runtimes.
pub fn schema_files(schemas: &Schemas) -> Vec<(String, String)> {
    vec![
        ("schemas.rs".to_owned(), emit::schema_table::emit(schemas)),
        ("facts.rs".to_owned(), emit::facts::emit(schemas)),
        ("targets.txt".to_owned(), targets_text::text_of(schemas)),
    ]
}

/// Writes files into `OUT_DIR`, or says what is wrong. They are made again when one of `sources` in `mappings/` changes.
#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "Cargo reads the output of build scripts, and shows their errors"
)]
pub fn compile(sources: &[&str], files: impl FnOnce(&Path) -> Result<Vec<(String, String)>, String>) -> ExitCode {
    for source in sources {
        println!("cargo::rerun-if-changed={FOLDER}/{source}");
    }
    let out = std::env::var_os("OUT_DIR").map(std::path::PathBuf::from).unwrap_or_default();
    match files(Path::new(FOLDER)).and_then(|files| write_all(files, &out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => {
            eprintln!("{report}");
            ExitCode::FAILURE
        }
    }
}

fn write_all(files: Vec<(String, String)>, out: &Path) -> Result<(), String> {
    files.into_iter().try_for_each(|(name, text)| write_if_changed(&out.join(name), &text))
}

/// Writes a file, unless it has this text already: what includes it is then not compiled again.
///
/// # Errors
/// What could not be written.
pub fn write_if_changed(path: &Path, text: &str) -> Result<(), String> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
