//! Compiles the rules under `mappings/` to Rust.

fn main() {
    println!("cargo:rerun-if-changed=mappings");
    let out = std::env::var_os("OUT_DIR").map(std::path::PathBuf::from).unwrap_or_default();
    if let Err(report) = aten2onnx_codegen::build(std::path::Path::new("mappings"), &out) {
        eprintln!("{report}");
        std::process::exit(1);
    }
}
