//! Imports between floors go one way, in each crate: the tables of floors are in the documentation of each `lib.rs`.
#![allow(clippy::unwrap_used)]

use std::path::Path;

/// The crates under `src/`, and that of `src/` itself.
const CRATES: [(&str, &str); 5] = [
    ("aten2onnx_core", "src/core"),
    ("aten2onnx_onnx", "src/onnx"),
    ("aten2onnx_builder", "src/builder"),
    ("aten2onnx_rules", "src/rules"),
    ("aten2onnx", "src"),
];

#[test]
fn modules_import_lower_floors_only() {
    let mut lines = Vec::new();
    for (name, folder) in CRATES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        match xtask::layers::check(name, &folder) {
            Ok(violations) => lines.extend(violations.iter().map(ToString::to_string)),
            Err(error) => lines.push(error),
        }
    }
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
