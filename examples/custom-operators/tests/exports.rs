//! The example does what it says: a model with custom operators exports, the same by compiled rules and by rules that are read at
//! run time, and gives the numbers of PyTorch.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_model_with_custom_operators_runs() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let local = here.join("../../.venv/bin/python");
    let python = std::env::var_os("ATEN2ONNX_PYTHON").map_or(local, PathBuf::from);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let run = |program: &Path, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(folder).env("PYTHONPATH", here).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {text}", program.display());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run(&python, &[here.join("my_ops.py").to_str().unwrap()]);
    run(Path::new(env!("CARGO_BIN_EXE_custom-operators")), &["model.pt2", "model.onnx"]);
    let at_run_time = folder.join("at_run_time.onnx");
    let exporter = aten2onnx::Exporter::new().mappings([here.join("mappings")]).unwrap();
    exporter.export(folder.join("model.pt2"), &at_run_time).unwrap();
    assert_eq!(std::fs::read(folder.join("model.onnx")).unwrap(), std::fs::read(at_run_time).unwrap());
    assert_eq!(run(&python, &[here.join("run.py").to_str().unwrap()]).trim(), "the same");
}
