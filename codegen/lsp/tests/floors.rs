//! Modules import only modules of lower floors: the table in the documentation of `lib.rs`.
#![allow(clippy::unwrap_used)]

use std::path::Path;

#[test]
fn modules_import_lower_floors_only() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let violations = xtask::layers::check("aten2onnx_lsp", &folder).unwrap();
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
