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
    println!("cargo:rerun-if-env-changed=ATEN2ONNX_GENERATED");
    let rules = match std::env::var_os("ATEN2ONNX_GENERATED") {
        Some(folder) => copied(Path::new(&folder), &out),
        None => aten2onnx_codegen::build(Path::new("mappings"), &out),
    };
    let built = rules.and_then(|()| pages(&out)).and_then(|()| mappings(&out));
    if let Err(report) = built {
        eprintln!("{report}");
        std::process::exit(1);
    }
}

/// Rules that were compiled already, such as those for one opset by `aten2onnx-codegen exporter`.
fn copied(folder: &Path, out: &Path) -> Result<(), String> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let failed = |e: std::io::Error| format!("ATEN2ONNX_GENERATED={}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|e| e == "rs")) {
            std::fs::copy(&path, out.join(name)).map_err(failed)?;
        }
    }
    Ok(())
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
