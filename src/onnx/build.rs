//! Compiles the snapshots of schemas and the facts about opsets and runtimes to static tables.
#![expect(clippy::print_stderr, reason = "a build script talks to Cargo and to the user")]

use std::path::{Path, PathBuf};

fn main() {
    let folder = aten2onnx_mappings::FOLDER;
    println!("cargo::rerun-if-changed={folder}/schemas");
    for file in ["opsets.toml", "dtypes.toml", "targets"] {
        println!("cargo::rerun-if-changed={folder}/{file}");
    }
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let built = aten2onnx_codegen::fill_out_dir(&out, |out| aten2onnx_codegen::build_schemas(Path::new(folder), out));
    if let Err(report) = built {
        eprintln!("{report}");
        std::process::exit(1);
    }
}
