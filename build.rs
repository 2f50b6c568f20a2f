//! Compiles the rules under `mappings/` to Rust, and gathers what the program takes with it as text: the pages of the
//! compiler's error codes, and the mappings themselves for those who bring files of their own.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use aten2onnx_codegen::explain;

fn main() {
    println!("cargo::rerun-if-changed=mappings");
    // For crates with rules of their own: `DEP_ATEN2ONNX_MAPPINGS`.
    if let Ok(root) = std::env::current_dir() {
        println!("cargo::metadata=mappings={}", root.join("mappings").display());
    }
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let built =
        aten2onnx_codegen::build(Path::new("mappings"), &out).and_then(|()| pages(&out)).and_then(|()| mappings(&out));
    if let Err(report) = built {
        eprintln!("{report}");
        std::process::exit(1);
    }
}

/// `errors.rs`: a slice of each error code and its page, for `explain-error`.
fn pages(out: &Path) -> Result<(), String> {
    let mut text = String::from("&[\n");
    for code in explain::codes() {
        let _ = writeln!(text, "    ({code:?}, {:?}),", explain::explain(code).unwrap_or_default());
    }
    text.push_str("]\n");
    std::fs::write(out.join("errors.rs"), text).map_err(|e| e.to_string())
}

/// `mappings.rs`: a slice of each file of the mappings that the checker reads, and its text.
fn mappings(out: &Path) -> Result<(), String> {
    let root = std::env::current_dir().map_err(|e| e.to_string())?;
    let mut files = Vec::new();
    gather(Path::new("mappings"), &mut files).map_err(|e| format!("mappings: {e}"))?;
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix("mappings").unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let _ = writeln!(text, "    ({name:?}, include_str!({:?})),", root.join(&file));
    }
    text.push_str("]\n");
    std::fs::write(out.join("mappings.rs"), text).map_err(|e| e.to_string())
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if path.is_dir() {
            gather(&path, files)?;
        } else if matches!(kind, "opmap" | "txt" | "toml") {
            files.push(path);
        }
    }
    Ok(())
}
