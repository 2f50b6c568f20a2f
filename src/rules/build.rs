//! Compiles the rules of `mappings/` to Rust, and embeds the files of `mappings/` that user mapping files are checked
//! against.
#![expect(clippy::print_stderr, reason = "a build script talks to Cargo and to the user")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let folder = Path::new(aten2onnx_mappings::FOLDER);
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let build = match std::env::var_os("CARGO_FEATURE_INTERPRETED") {
        Some(_) => aten2onnx_codegen::build_interpreted,
        None => aten2onnx_codegen::build_rules,
    };
    let built = aten2onnx_codegen::fill_out_dir(&out, |out| build(folder, out));
    let built = built.and_then(|()| list(folder, &out));
    if let Err(report) = built {
        eprintln!("{report}");
        std::process::exit(1);
    }
}

/// Writes `mappings.rs`: a slice of the paths and contents of all files that the checker reads.
fn list(folder: &Path, out: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    gather(folder, &mut files).map_err(|e| format!("{}: {e}", folder.display()))?;
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let _ = writeln!(text, "    ({name:?}, include_str!({file:?})),");
    }
    text.push_str("]\n");
    std::fs::write(out.join("mappings.rs"), text).map_err(|e| e.to_string())
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if path.is_dir() {
            gather(&path, files)?;
        } else if matches!(kind, "opmap" | "txt" | "toml") && !name.starts_with("Cargo") {
            files.push(path);
        }
    }
    Ok(())
}
