//! The example works: a model with custom operators is exported, compiled rules and rules read at run time give the same bytes, and
//! the results match PyTorch.
#![allow(clippy::unwrap_used)]

#[path = "../../../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::process::Command;

/// Runs a program in the folder for test files, and returns what it printed and whether it succeeded.
fn run(program: &Path, args: &[&str]) -> (String, bool) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let here = env!("CARGO_MANIFEST_DIR");
    let output = Command::new(program).args(args).current_dir(folder).env("PYTHONPATH", here).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (text, output.status.success())
}

fn done(program: &Path, args: &[&str]) -> String {
    let (text, well) = run(program, args);
    assert!(well, "{}: {text}", program.display());
    text
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

const EXPORTER: &str = env!("CARGO_BIN_EXE_custom-operators");

#[test]
fn functions_of_the_crate_are_not_available_at_run_time() {
    let error = aten2onnx::Exporter::new().mappings([here().join("mappings")]).map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`extern fn fade`") && text.contains("fade.opmap:9"), "{text}");
}

/// Models that PyTorch writes, compared with PyTorch.
mod python {
    use super::*;

    /// Runs a script of the example.
    fn script(name: &str, args: &[&str]) -> String {
        let path = here().join(name);
        done(&common::interpreter(), &[&[path.to_str().unwrap()], args].concat())
    }

    #[test]
    fn a_model_with_custom_operators_runs() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        script("my_ops.py", &[]);
        done(Path::new(EXPORTER), &["model.pt2", "model.onnx"]);
        let at_run_time = folder.join("at_run_time.onnx");
        let exporter = aten2onnx::Exporter::new().mappings([here().join("mappings/my_ops.opmap")]).unwrap();
        exporter.export(folder.join("model.pt2"), &at_run_time).unwrap();
        assert_eq!(std::fs::read(folder.join("model.onnx")).unwrap(), std::fs::read(at_run_time).unwrap());
        assert_eq!(script("run.py", &[]).trim(), "the same");
    }

    #[test]
    fn a_rule_calls_a_function_of_the_crate() {
        script("fade.py", &["save", "linear", "sine", "cosine"]);
        for curve in ["linear", "sine"] {
            done(Path::new(EXPORTER), &[&format!("{curve}.pt2"), &format!("{curve}.onnx")]);
        }
        assert_eq!(script("fade.py", &["compare", "linear", "sine"]).trim(), "linear: the same\nsine: the same");
        let (text, well) = run(Path::new(EXPORTER), &["cosine.pt2", "cosine.onnx"]);
        assert!(!well && text.contains("unknown curve `cosine`"), "{text}");
    }
}
