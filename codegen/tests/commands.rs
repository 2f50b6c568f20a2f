//! The subcommands: what they print, write and refuse.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn mappings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings")
}

/// A folder of mappings with the project's facts and one rule file.
fn folder(rules: &str) -> Folder {
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path().join("mappings");
    copy(&mappings(), &path, &|path| path.extension().is_none_or(|e| e != "opmap"));
    fs::write(path.join("aten/rules.opmap"), rules).unwrap();
    // A folder of one rule need not have every lowering.
    let opsets = fs::read_to_string(path.join("opsets.toml")).unwrap();
    fs::write(path.join("opsets.toml"), opsets.replace("complete = true", "complete = false")).unwrap();
    Folder { path, _kept: kept }
}

struct Folder {
    path: PathBuf,
    _kept: TempDir,
}

impl Folder {
    fn path(&self) -> &Path {
        &self.path
    }
}

fn copy(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target, wanted);
        } else if wanted(&path) {
            fs::copy(&path, target).unwrap();
        }
    }
}

fn run(mappings: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aten2onnx-codegen"));
    command.args(arguments).arg("--mappings").arg(mappings).output().unwrap()
}

/// The output of a command, which must exit with this code.
fn said(output: &Output, code: i32) -> String {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

const RELU: &str = "map aten::relu(Tensor self) -> Tensor = Relu(self)\nexample aten::relu(f32[2])\n";

#[test]
fn check_counts_items_and_shows_every_error() {
    let sound = said(&run(&mappings(), &["check"]), 0);
    assert!(sound.contains("0 errors"), "{sound}");
    let wrong =
        folder("map aten::relu(Tensor self) -> Tensor = Rellu(self)\nmap aten::exp(Tensor self) -> Tensor = Exp(x)\n");
    let text = said(&run(wrong.path(), &["check"]), 1);
    for part in ["E0102", "did you mean `Relu`", "E0103", "rules.opmap:2"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn fmt_check_names_the_file_and_fmt_formats_it() {
    let folder = folder("map aten::relu( Tensor self )->Tensor=Relu( self )\nexample aten::relu(f32[2])\n");
    let file = folder.path().join("aten/rules.opmap");
    assert!(said(&run(folder.path(), &["fmt", "--check"]), 1).contains("rules.opmap"));
    said(&run(folder.path(), &["fmt"]), 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), RELU);
    said(&run(folder.path(), &["fmt", "--check"]), 0);
}

#[test]
fn matrix_has_three_formats() {
    let folder = folder(RELU);
    assert!(said(&run(folder.path(), &["matrix", "--format", "md"]), 0).contains("aten::relu"));
    assert!(said(&run(folder.path(), &["matrix", "--format", "html"]), 0).contains("<table"));
    let json = run(folder.path(), &["matrix", "--format", "json"]);
    let parsed: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(parsed.to_string().contains("aten::relu"));
}

#[test]
fn dump_writes_the_functions() {
    let folder = folder(RELU);
    let out = folder.path().join("out");
    said(&run(folder.path(), &["dump", out.to_str().unwrap()]), 0);
    let text = fs::read_to_string(out.join("aten_rules.rs")).unwrap();
    assert!(text.contains("pub fn aten_relu(cx: &mut Builder, self_: Value)"), "{text}");
}

#[test]
fn a_snapshot_that_lost_an_operator_names_the_rules_that_need_it() {
    let folder = folder(RELU);
    let old = fs::read_to_string(folder.path().join("schemas/onnx.txt")).unwrap();
    let items: Vec<&str> = old.split("\n\n").filter(|item| !item.starts_with("Relu ")).collect();
    let new = folder.path().join("new.txt");
    fs::write(&new, items.join("\n\n")).unwrap();
    let report = run(folder.path(), &["import-onnx", "--dry-run", new.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&report.stdout);
    assert!(text.contains("`Relu 14`: aten/rules.opmap"), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join("schemas/onnx.txt")).unwrap(), old, "--dry-run writes nothing");
}

#[test]
fn damaged_facts_and_missing_folders_are_errors() {
    let missing = said(&run(Path::new("no/such/folder"), &["check"]), 2);
    assert!(missing.contains("no/such/folder"), "{missing}");
    let folder = folder(RELU);
    fs::write(folder.path().join("schemas/onnx.txt"), "Relu x\n").unwrap();
    let damaged = said(&run(folder.path(), &["check"]), 2);
    assert!(damaged.contains("onnx.txt"), "{damaged}");
}

#[test]
fn an_error_code_is_explained() {
    assert!(said(&run(&mappings(), &["explain", "E0301"]), 0).contains("E0301"));
    said(&run(&mappings(), &["explain", "E9999"]), 2);
}

#[test]
fn a_new_snapshot_is_added_and_a_wrong_one_changes_nothing() {
    let folder = folder(RELU);
    let path = folder.path().join("schemas/onnx.txt");
    let old = fs::read_to_string(&path).unwrap();
    let new = folder.path().join("new.txt");
    let write = |text: &str| {
        fs::write(&new, text).unwrap();
        run(folder.path(), &["import-onnx", new.to_str().unwrap()])
    };
    // One that lost an operator loses none here, and the walk can be repeated.
    let items: Vec<&str> = old.split("\n\n").filter(|item| !item.starts_with("Relu ")).collect();
    let fresh = format!("{}\nZeta 28\n  in X: T\n  out Y: T\n  type T = float\n", items.join("\n\n"));
    for added in ["added 1 version", "added 0 versions"] {
        let text = said(&write(&fresh), 0);
        assert!(text.contains(added), "{text}");
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            format!("{old}\nZeta 28\n  in X: T\n  out Y: T\n  type T = float\n")
        );
    }
    let text = said(&write(&old.replace("Relu 14 function\n", "Relu 14 function\n  in Z: T\n")), 2);
    assert!(text.contains("Relu 14") && text.contains("correct it by hand"), "{text}");
}

#[test]
fn a_release_that_cannot_be_had_changes_nothing() {
    let folder = folder(RELU);
    let before = fs::read_to_string(folder.path().join("schemas/onnx.txt")).unwrap();
    let empty = folder.path().join("empty.txt");
    fs::write(&empty, "").unwrap();
    let damaged = folder.path().join("damaged.txt");
    fs::write(&damaged, before.replacen("  in X: T", "  inn X: T", 1)).unwrap();
    let wrong: [(&[&str], &str); 5] = [
        (&["nowhere.txt"], "nowhere.txt: there is no such file, and it is no version such as 1.23.0"),
        (&["1.24"], "no/such/python: there is no such program: name a Python with `--python` or ATEN2ONNX_PYTHON"),
        (&["latest"], "latest: there is no such file"),
        (&[empty.to_str().unwrap()], "empty.txt: there is no operator in it"),
        (&[damaged.to_str().unwrap()], "damaged.txt: line"),
    ];
    for (arguments, message) in wrong {
        let text = said(&run(folder.path(), &[&["import-onnx", "--python", "no/such/python"], arguments].concat()), 2);
        assert!(text.contains(message), "{arguments:?}:\n{text}");
        assert_eq!(fs::read_to_string(folder.path().join("schemas/onnx.txt")).unwrap(), before);
        assert!(!folder.path().join("schemas/onnx.new").exists());
    }
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    #[test]
    fn expand_shows_a_rule_at_an_opset_and_helps_with_a_wrong_name() {
        let old = said(&run(&mappings(), &["expand", "aten::gelu", "--opset", "13"]), 0);
        assert!(old.contains("Erf(") && !old.contains("Gelu("), "{old}");
        let new = said(&run(&mappings(), &["expand", "aten::gelu", "--opset", "20"]), 0);
        assert!(new.contains("Gelu("), "{new}");
        let raised = said(&run(&mappings(), &["expand", "Squeeze", "--opset", "18"]), 0);
        assert!(raised.contains("// a call in a form before 13: mappings/onnx/older.opmap:"), "{raised}");
        assert!(raised.contains("\nraise Squeeze from 13 ("), "{raised}");
        let wrong = said(&run(&mappings(), &["expand", "aten::gellu"]), 2);
        assert!(wrong.contains("did you mean `aten::gelu`"), "{wrong}");
    }

    #[test]
    fn stats_show_that_few_rules_are_rust() {
        let text = said(&run(&mappings(), &["stats"]), 0);
        // All of them are conversions in lib/, and each has its reason.
        assert!(text.contains("reach an extern fn that makes nodes, outside of lib/: 0 (0.0 %)"), "{text}");
        let (_, list) = text.split_once("why they are not rules\n").unwrap();
        assert!(list.lines().count() > 5, "{text}");
        let has_reason = |line: &str| line.split_once(" rules): ").is_some_and(|(_, reason)| !reason.is_empty());
        assert!(list.lines().all(has_reason), "{text}");
    }
}
