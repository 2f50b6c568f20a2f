//! An exporter for one opset alone gives the bytes of the full one at that opset.
//!
//! `EXPORTER_OPSETS="9 17 28"` says for which opsets instead of the default. They are built in a target folder of their own, which begins as a copy
//! of what the tests were built from: what does not depend on the generated Rust is not compiled again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common;

/// The models that are exported and converted.
const MODELS: [&str; 4] = ["convert/gpt2.pt2", "convert/vit.pt2", "convert/resnet.pt2", "models/mobilenet_like.pt2"];

/// The model at the newest opset that the full exporter writes.
fn full_newest(source: &Path, scratch: &Path) -> PathBuf {
    let path = scratch.join("newest.onnx");
    std::fs::write(&path, run(Path::new(env!("CARGO_BIN_EXE_aten2onnx")), "export", source, "26", scratch)).unwrap();
    path
}

fn run(binary: &Path, verb: &str, source: &Path, opset: &str, scratch: &Path) -> Vec<u8> {
    let out = scratch.join("out.onnx");
    let done =
        Command::new(binary).arg(verb).arg(source).arg("-o").arg(&out).args(["--opset", opset]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read(out).unwrap()
}

/// Crates that the generated Rust reaches and that take long to optimize, which `tests/run` has done for what tests run often. An exporter runs a
/// few times.
const NOT_OPTIMIZED: [&str; 6] = ["builder", "export", "frontend-pt2", "frontend-torchscript", "onnx", "verify"];

/// The folder of the exporters.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("exporter")
}

/// Copies what Cargo built, but no programs. By the times of files, Cargo tells what is current.
fn copy_built(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy_built(&path, &target);
        } else if from.file_name().is_none_or(|name| name != "deps") || path.extension().is_some() {
            match copy_file(&path, &target) {
                // Cargo, which other parts of the tests run meanwhile, has removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                copied => copied.unwrap(),
            }
        }
    }
}

/// Copies a file with its time.
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    std::fs::File::options().write(true).open(to)?.set_modified(from.metadata()?.modified()?)
}

/// A target folder with what the tests were built from.
fn target_of_exporters(folder: &Path) -> PathBuf {
    let (ours, target) = (Path::new(env!("CARGO_BIN_EXE_aten2onnx")).parent().unwrap(), folder.join("target"));
    let _ = std::fs::remove_dir_all(&target);
    for part in [".fingerprint", "build", "deps"] {
        copy_built(&ours.join(part), &target.join("debug").join(part));
    }
    target
}

/// Generates the Rust of an exporter and builds it; gives the program.
fn build(opset: &str, target: &Path) -> PathBuf {
    let folder = folder();
    let generated = folder.join(format!("opset-{opset}"));
    let _ = std::fs::remove_dir_all(&generated);
    std::fs::create_dir_all(&generated).unwrap();
    let checked = aten2onnx_opmap::check_dir(&common::root().join("mappings")).unwrap();
    for (name, text) in aten2onnx_build::single_opset::generate(&checked, opset.parse().unwrap()).unwrap() {
        std::fs::write(generated.join(name), text).unwrap();
    }
    // With a test of the workspace, Cargo chooses the features of dependencies that all tests were built with.
    let built = common::cargo()
        .args(["build", "--quiet", "--workspace", "--bin", "aten2onnx", "--test", "demand"])
        .args(
            NOT_OPTIMIZED
                .iter()
                .flat_map(|name| ["--config".into(), format!("profile.dev.package.aten2onnx-{name}.opt-level=0")]),
        )
        .env("ATEN2ONNX_GENERATED", &generated)
        .env("CARGO_TARGET_DIR", target)
        .status()
        .unwrap();
    assert!(built.success(), "the exporter for opset {opset} does not compile");
    let program = folder.join(format!("aten2onnx-{opset}"));
    std::fs::copy(target.join("debug/aten2onnx"), &program).unwrap();
    program
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    #[test]
    fn an_exporter_for_one_opset_gives_the_same_bytes() {
        let opsets = std::env::var("EXPORTER_OPSETS").unwrap_or_else(|_| "11".to_owned());
        assert!(!opsets.trim().is_empty(), "EXPORTER_OPSETS names no opset");
        let target = target_of_exporters(&folder());
        for opset in opsets.split_whitespace() {
            let single = build(opset, &target);
            for model in MODELS {
                let source = common::root().join("tests/data").join(model);
                let scratch = tempfile::tempdir().unwrap();
                for (verb, source) in [("export", source.clone()), ("convert", full_newest(&source, scratch.path()))] {
                    let ours = run(Path::new(env!("CARGO_BIN_EXE_aten2onnx")), verb, &source, opset, scratch.path());
                    let theirs = run(&single, verb, &source, opset, scratch.path());
                    assert!(ours == theirs, "{verb} {model} at opset {opset}: the bytes differ");
                }
            }
            let other = if opset == "13" { "14" } else { "13" };
            let refused = Command::new(&single).args(["export", "x.pt2", "--opset", other]).output().unwrap();
            assert!(!refused.status.success(), "it knows one opset alone");
        }
    }
}
