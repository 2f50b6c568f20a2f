//! Compiles the rules under `mappings/` to Rust, and gathers the pages of the compiler's error codes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use aten2onnx_codegen::explain;

fn main() {
    println!("cargo:rerun-if-changed=mappings");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let built = aten2onnx_codegen::build(Path::new("mappings"), &out).and_then(|()| pages(&out));
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
