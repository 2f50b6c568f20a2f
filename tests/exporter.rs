//! An exporter for one opset alone gives the bytes of the full one at that opset.
//!
//! Each is a build of the whole crate, which takes a minute. `EXPORTER_OPSETS="9 17 28"` says for which opsets instead of the default; they share
//! a target folder of their own, in which dependencies are built once.

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

/// Generates the Rust of an exporter and builds it; gives the program.
fn build(opset: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exporter");
    let generated = folder.join(format!("opset-{opset}"));
    let _ = std::fs::remove_dir_all(&generated);
    std::fs::create_dir_all(&generated).unwrap();
    let checked = aten2onnx_opmap::check_dir(&common::root().join("mappings")).unwrap();
    for (name, text) in aten2onnx_build::single_opset::generate(&checked, opset.parse().unwrap()).unwrap() {
        std::fs::write(generated.join(name), text).unwrap();
    }
    let target = folder.join("target");
    let built = common::cargo()
        .args(["build", "--quiet", "--package", "aten2onnx-cli", "--bin", "aten2onnx"])
        .env("ATEN2ONNX_GENERATED", &generated)
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
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
        for opset in opsets.split_whitespace() {
            let single = build(opset);
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
