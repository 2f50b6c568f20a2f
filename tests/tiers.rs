//! The tiers of `tests/run` cannot rot: tests find Python in one way, and the full run leaves out nothing.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

/// The helper of all tests.
const HELPER: &str = "tests/common/mod.rs";

#[test]
fn tests_find_python_by_the_helper_alone() {
    let this = Path::new(file!()).file_name().unwrap();
    let files: Vec<PathBuf> = rust_files().into_iter().filter(|path| path.file_name() != Some(this)).collect();
    assert!(files.len() > 50, "only {} files of tests", files.len());
    for path in files {
        let text = fs::read_to_string(common::root().join(&path)).unwrap();
        // `.env(..)` hands the interpreter of the helper to a program.
        let reads = text.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
            line.contains(".venv/")
                || line.contains("Command::new(\"python")
                || line.contains("var_os(\"ATEN2ONNX_PYTHON")
        });
        assert!(!reads || path == Path::new(HELPER), "{}: use `common::interpreter()`", path.display());
        let calls = ["common::interpreter(", "common::python(", "host::interpreter(", "host::python(", "host::judge("];
        let uses = calls.iter().any(|call| text.contains(call))
            && !path.ends_with("docs/run.rs")
            && !path.starts_with("tests/host");
        assert!(!uses || text.contains("mod python {"), "{}: put the test into a module `python`", path.display());
    }
}

#[test]
fn only_the_fast_tier_selects_tests() {
    let script = fs::read_to_string(common::root().join("tests/run")).unwrap();
    let runs_tests = |line: &&str| line.starts_with("step cargo test") || line.contains("tests/lanes.py");
    let lines: Vec<&str> = script.lines().map(str::trim).filter(runs_tests).collect();
    let fast = "step cargo test --workspace --quiet -- --skip python:: --skip slow::";
    let full = r#"step "$ATEN2ONNX_PYTHON" tests/lanes.py --workspace"#;
    // What the slow tier runs besides.
    let more = "step cargo test --quiet --test tests opinfo:: -- --ignored";
    assert_eq!(lines, [fast, full, more]);
}

/// Starts `tests/run` with arguments that it refuses, and gives what it says.
#[cfg(unix)]
fn refused(arguments: &[&str]) -> String {
    let output = std::process::Command::new(common::root().join("tests/run")).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[cfg(unix)]
#[test]
fn a_random_order_follows_from_a_number() {
    for wrong in [&["--shuffle"][..], &["--shuffle", "often"], &["--shuffle", "-1"], &["--shuffle", "--slow"]] {
        assert!(refused(wrong).starts_with("error: --shuffle takes a number"), "{wrong:?}");
    }
    assert!(refused(&["--shuffle", "7", "--fast"]).starts_with("error: --shuffle is not for --fast"));
}

/// `tests/planted.py` takes long, so what it plants is looked at here: each fault changes one place.
#[test]
fn each_fault_that_is_planted_has_its_place() {
    let read = |path: &str| {
        fs::read_to_string(common::root().join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}: mend tests/planted.toml"))
    };
    let list: toml::Table = toml::from_str(&read("tests/planted.toml")).unwrap();
    let faults = list["fault"].as_array().unwrap();
    assert!(faults.len() >= 10, "only {} faults", faults.len());
    for fault in faults {
        let text = |key: &str| fault[key].as_str().unwrap();
        let count = read(text("file")).matches(text("old")).count();
        assert_eq!(count, 1, "tests/planted.toml, `{}`: {} has the old text {count} times", text("name"), text("file"));
    }
}

/// The Rust files in folders called `tests`, relative to the root.
fn rust_files() -> Vec<PathBuf> {
    let root = common::root();
    let mut files = Vec::new();
    let mut open = ["codegen", "examples", "explorer", "src", "tests", "xtask"].map(|name| root.join(name)).to_vec();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let relative = path.strip_prefix(root).unwrap();
            let is_test = relative.components().any(|part| part.as_os_str() == "tests");
            if is_test && path.extension().is_some_and(|extension| extension == "rs") {
                files.push(relative.to_owned());
            }
        }
    }
    files
}
