//! `api`: the public interface of the library, one item a line, as rustdoc sees it.
//!
//! rustdoc gives it as JSON on nightly toolchains only; `xtask/rustdoc` makes the stable one do the same. Nothing but this command depends on it.

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// The file with the interface.
pub const TARGET: &str = "docs/api.txt";

/// The root package, and the crates that it gives to others as modules.
const PACKAGES: [&str; 6] = [
    "aten2onnx",
    "aten2onnx-convert",
    "aten2onnx-export",
    "aten2onnx-frontend",
    "aten2onnx-options",
    "aten2onnx-program",
];

/// The interface of the library.
pub fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    // All packages at once, and the Python package with the features of the whole workspace: otherwise Cargo chooses other features of what they
    // depend on, and compiles it again.
    let status = Command::new(env!("CARGO"))
        .args(["doc", "--quiet", "--no-deps", "--lib"])
        .args(["--package", "aten2onnx-python", "--features", "aten2onnx-python/as-in-workspace"])
        .args(PACKAGES.iter().flat_map(|package| ["--package", package]))
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .env("RUSTDOC", root.join("xtask/rustdoc"))
        .current_dir(root)
        .status()?;
    if !status.success() {
        return Err("rustdoc failed".into());
    }
    PACKAGES.iter().map(|package| interface(root, package)).collect()
}

/// The interface of a package, from the JSON that rustdoc has written.
fn interface(root: &Path, package: &str) -> Result<String, Box<dyn Error>> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    let api = public_api::Builder::from_rustdoc_json(
        target.join("doc").join(package.replace('-', "_")).with_extension("json"),
    )
    .omit_blanket_impls(true)
    .omit_auto_trait_impls(true)
    .omit_auto_derived_impls(true)
    .build()
    .map_err(|error| {
        format!("{error}\nthe JSON of rustdoc {} is not known to this `public-api`", env!("CARGO_PKG_RUST_VERSION"))
    })?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}
