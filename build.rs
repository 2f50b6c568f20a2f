//! Compiles the rules under `mappings/` to Rust, and gathers the pages of the compiler's error codes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=mappings");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let built = aten2onnx_codegen::build(Path::new("mappings"), &out).and_then(|()| pages(&out));
    if let Err(report) = built {
        eprintln!("{report}");
        std::process::exit(1);
    }
}

/// `errors.rs`: a slice of each code and its page, `codegen/src/errors/E0301.md`, for `explain-error`.
fn pages(out: &Path) -> Result<(), String> {
    println!("cargo:rerun-if-changed=codegen/src/errors");
    let files = std::fs::read_dir("codegen/src/errors").into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        files.map(|file| file.path()).filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let page = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let code = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let _ = writeln!(text, "    ({code:?}, {page:?}),");
    }
    text.push_str("]\n");
    std::fs::write(out.join("errors.rs"), text).map_err(|e| e.to_string())
}
