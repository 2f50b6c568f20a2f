//! What build scripts call.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aten2onnx_mappings::FOLDER;
use aten2onnx_opmap::{Checked, check_dir, render};
use aten2onnx_schemas::build_script::{compile, write_if_changed};

use crate::generate::{extern_file, fact_files, generate_with_base, no_rules, rule_files};

/// The build script of `aten2onnx`: parses and proves the rules in `mappings/`, and writes each as a Rust function.
///
/// `ATEN2ONNX_RULES=interpreted` leaves the functions out: the program then interprets the rules, and an edit is built faster.
pub fn compile_rules() -> ExitCode {
    println!("cargo::rerun-if-env-changed=ATEN2ONNX_RULES");
    let is_interpreted = std::env::var_os("ATEN2ONNX_RULES").is_some_and(|value| value == "interpreted");
    compile(&["."], |mappings| {
        if is_interpreted {
            return Ok(no_rules());
        }
        let checked = check_sound(mappings)?;
        rule_files(&checked)
    })
}

/// The build script of `aten2onnx-rules`: writes the facts about PyTorch's operators, the functions behind `extern fn` by name, and
/// the list of the files that mapping files of users are checked against.
pub fn compile_facts() -> ExitCode {
    compile(&["."], |mappings| {
        let checked = check_sound(mappings)?;
        let mut files = fact_files(&checked.program, &checked.schemas);
        files.push(extern_file(&checked.program)?);
        files.push((
            "mappings.rs".to_owned(),
            embedded_files(mappings).map_err(|e| format!("{}: {e}", mappings.display()))?,
        ));
        Ok(files)
    })
}

/// The paths and contents of all files below `mappings/` that the checker reads, as a slice.
fn embedded_files(folder: &Path) -> std::io::Result<String> {
    let mut files = Vec::new();
    gather(folder, &mut files)?;
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let _ = writeln!(text, "    ({name:?}, include_str!({file:?})),");
    }
    text.push_str("]\n");
    Ok(text)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if path.is_dir() {
            gather(&path, files)?;
        } else if matches!(kind, "opmap" | "txt" | "toml") && !name.starts_with("Cargo") {
            files.push(path);
        }
    }
    Ok(())
}

/// The rules of `mappings`, or the rendered diagnostics.
fn check_sound(mappings: &Path) -> Result<Checked, String> {
    let checked = check_dir(mappings)?;
    if !checked.diagnostics.is_empty() {
        return Err(render::render(&checked.sources, &checked.diagnostics, false));
    }
    Ok(checked)
}

/// What the build script of a crate with mapping files of its own calls: checks `own` over the rules of aten2onnx, on which the
/// crate depends, and writes `mappings.rs` into `OUT_DIR`. `aten2onnx::include_mappings!()` takes it from there.
///
/// # Errors
/// The rendered diagnostics, or what could not be read or written.
///
/// ```no_run
/// // build.rs
/// if let Err(report) = aten2onnx_build::build_mappings("mappings".as_ref()) {
///     eprintln!("{report}");
///     std::process::exit(1);
/// }
/// ```
pub fn build_mappings(own: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", own.display());
    let variable = |name: &str, why: &str| std::env::var(name).map_err(|_| format!("{name} is not set: {why}"));
    let base = FOLDER;
    let package = variable("CARGO_PKG_NAME", "call this from build.rs")?;
    let out = variable("OUT_DIR", "call this from build.rs")?;
    println!("cargo::rerun-if-changed={base}");
    let text = generate_with_base(Path::new(base), own, &package)?;
    write_if_changed(&Path::new(&out).join("mappings.rs"), &text)
}
