//! What build scripts call.

use std::path::Path;

use aten2onnx_opmap::schema::Schemas;
use aten2onnx_opmap::{Checked, check_dir, render};

use crate::generate::{generate_with_base, interpreted_files, rule_files, schema_files};

/// Writes the tables of schemas and facts of `mappings` into `out` (only files that changed).
///
/// # Errors
/// A damaged snapshot, or what could not be read or written.
pub fn build_schemas(mappings: &Path, out: &Path) -> Result<(), String> {
    write_all(schema_files(&Schemas::load(mappings)?, None), out)
}

/// Checks `mappings` and writes the rules as Rust into `out` (only files that changed).
///
/// # Errors
/// The rendered diagnostics, or what could not be read or written.
pub fn build_rules(mappings: &Path, out: &Path) -> Result<(), String> {
    let checked = check_sound(mappings)?;
    write_all(rule_files(&checked.program, &checked.matrix, &checked.sources, &checked.schemas, None)?, out)
}

/// Checks `mappings` and writes what a program needs that interprets the rules: their facts, and empty tables of functions.
///
/// # Errors
/// The rendered diagnostics, or what could not be read or written.
pub fn build_interpreted(mappings: &Path, out: &Path) -> Result<(), String> {
    write_all(interpreted_files(&check_sound(mappings)?)?, out)
}

/// The rules of `mappings`, or the rendered diagnostics.
fn check_sound(mappings: &Path) -> Result<Checked, String> {
    let checked = check_dir(mappings)?;
    if !checked.diagnostics.is_empty() {
        return Err(render::render(&checked.sources, &checked.diagnostics, false));
    }
    Ok(checked)
}

/// Fills `OUT_DIR` by `build`, or with the files that `aten2onnx-codegen exporter` wrote into the folder that the variable
/// `ATEN2ONNX_GENERATED` names.
///
/// # Errors
/// Those of `build`, or what could not be copied.
pub fn fill_out_dir(out: &Path, build: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    println!("cargo::rerun-if-env-changed=ATEN2ONNX_GENERATED");
    match std::env::var_os("ATEN2ONNX_GENERATED") {
        Some(folder) => copy_generated(Path::new(&folder), out),
        None => build(out),
    }
}

fn copy_generated(folder: &Path, out: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let failed = |e: std::io::Error| format!("ATEN2ONNX_GENERATED={}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|e| e == "rs")) {
            std::fs::copy(&path, out.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

fn write_all(files: Vec<(String, String)>, out: &Path) -> Result<(), String> {
    files.into_iter().try_for_each(|(name, text)| write_if_changed(&out.join(name), &text))
}

/// What the build script of a crate with mapping files of its own calls: checks `own` over the rules of aten2onnx, on which the
/// crate depends, and writes `mappings.rs` into `OUT_DIR`. `aten2onnx::include_mappings!()` takes it from there.
///
/// # Errors
/// The rendered diagnostics, or what could not be read or written.
///
/// ```no_run
/// // build.rs
/// if let Err(report) = aten2onnx_codegen::build_mappings("mappings".as_ref()) {
///     eprintln!("{report}");
///     std::process::exit(1);
/// }
/// ```
pub fn build_mappings(own: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", own.display());
    let variable = |name: &str, why: &str| std::env::var(name).map_err(|_| format!("{name} is not set: {why}"));
    let base = aten2onnx_mappings::FOLDER;
    let package = variable("CARGO_PKG_NAME", "call this from build.rs")?;
    let out = variable("OUT_DIR", "call this from build.rs")?;
    println!("cargo::rerun-if-changed={base}");
    let text = generate_with_base(Path::new(base), own, &package)?;
    write_if_changed(&Path::new(&out).join("mappings.rs"), &text)
}

fn write_if_changed(path: &Path, text: &str) -> Result<(), String> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
