//! Facts that a developer tunes are read when a command runs: an edit of a copy of them has its effect in the program as it was built, and an
//! error names the file and the line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{common, host};

/// A checkout with nothing but the facts and the rules.
struct Copy {
    root: tempfile::TempDir,
}

const TABLES: [&str; 2] = ["src/examples/src/differences.toml", "src/verify/src/relations.toml"];

impl Copy {
    fn new() -> Copy {
        let copy = Copy { root: tempfile::tempdir().unwrap() };
        common::copy_folder(&common::root().join("mappings"), &copy.path("mappings"));
        for table in TABLES {
            fs::create_dir_all(copy.path(table).parent().unwrap()).unwrap();
            fs::copy(common::root().join(table), copy.path(table)).unwrap();
        }
        copy
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    /// Replaces a text that must be there, and returns the number of its line.
    fn edit(&self, file: &str, old: &str, new: &str) -> usize {
        let text = fs::read_to_string(self.path(file)).unwrap();
        let at = text.find(old).unwrap_or_else(|| panic!("{file} has no `{old}`"));
        fs::write(self.path(file), text.replacen(old, new, 1)).unwrap();
        text[..at].lines().count() + usize::from(text[..at].ends_with('\n') || at == 0)
    }

    fn undo(&self, file: &str) {
        fs::copy(common::root().join(file), self.path(file)).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_aten2onnx"));
        Command::new(program).args(arguments).current_dir(&self.root).output().unwrap()
    }

    /// Exports a sample by the rules and facts of the copy.
    fn export(&self, sample: &str, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let sample = common::root().join("tests/data").join(sample);
        let _ = fs::remove_file(self.path("m.onnx"));
        let mut all = vec!["export", sample.to_str().unwrap(), "-o", "m.onnx"];
        all.extend(arguments);
        let output = self.run(&all);
        fs::read(self.path("m.onnx")).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

const INTEGERS: &str = "archives/v213/integers.pt2";

#[test]
fn the_folder_of_the_project_gives_the_bytes_of_the_build() {
    let copy = Copy::new();
    for opset in ["9", "13", "20"] {
        let ours = copy.export(INTEGERS, &["--opset", opset]);
        assert!(
            ours.is_ok() && ours == copy.export(INTEGERS, &["--opset", opset, "--mappings", "mappings"]),
            "{opset}"
        );
    }
}

#[test]
fn types_of_operators_and_dtypes_take_effect() {
    let copy = Copy::new();
    let exported = || copy.export(INTEGERS, &["--opset", "20", "--mappings", "mappings"]);
    let before = exported().unwrap();
    // Divisions take no int32 any more, so it is cast to int64.
    let schemas = "mappings/schemas/onnx.txt";
    let text = fs::read_to_string(copy.path(schemas)).unwrap();
    let (head, rest) = text.split_once("\nDiv 14").unwrap();
    let (block, tail) = rest.split_once("\n\n").unwrap();
    assert!(block.contains(" @ints"), "{block}");
    let narrow = format!("{head}\nDiv 14{}\n\n{tail}", block.replace(" @ints", " int64"));
    fs::write(copy.path(schemas), narrow).unwrap();
    let as_int64 = exported().unwrap();
    assert!(as_int64 != before, "the schemas are those of the build");
    copy.edit("mappings/dtypes.toml", "int32 = [\"int64\", \"float64\"]", "int32 = [\"float64\"]");
    let as_float64 = exported().unwrap();
    assert!(as_float64 != as_int64, "the dtypes are those of the build");
    assert!(before == copy.export(INTEGERS, &["--opset", "20"]).unwrap(), "an export without the folder changes");
}

#[test]
fn targets_take_effect() {
    let copy = Copy::new();
    let arguments = ["--target", "tensorrt-8.5", "--mappings", "mappings"];
    let before = copy.export("models/mobilenet_like.pt2", &arguments).unwrap();
    copy.edit("mappings/targets/tensorrt.toml", "lacks = [", "lacks = [\"Conv\", ");
    // What stands for convolutions is other nodes.
    let after = copy.export("models/mobilenet_like.pt2", &arguments).unwrap();
    assert!(after != before, "the targets are those of the build");
    assert!(copy.export("models/mobilenet_like.pt2", &["--target", "tensorrt-8.5"]).unwrap() == before);
}

#[test]
fn an_error_names_the_file_and_the_line() {
    let copy = Copy::new();
    let wrong = [
        ("mappings/dtypes.toml", "int32 = [\"int64\"", "int32 = [\"int46\"", "`int46` is not a dtype"),
        ("mappings/operators.toml", "Acos = { shape = \"first\"", "Acos = { shape = \"furst\"", "furst"),
        ("mappings/operators.toml", "Acos = { shape", "Acoss = { shape", "Acoss"),
        ("mappings/ignored_arguments.toml", "type = \"Layout\"", "kind = \"Layout\"", "unknown field `kind`"),
        ("mappings/targets/tensorrt.toml", "lacks = [", "lacks = [\"Convv\", ", "there is no operator `Convv`"),
        ("mappings/opsets.toml", "[opsets]", "[opsets", "expected"),
        (
            TABLES[0],
            "accept = \"any order\"",
            "accept = \"some order\"",
            "`some order` is nothing that `unsorted` can accept",
        ),
        (TABLES[1], "[[relation]]", "[[relation]]\nneed = []", "unknown field `need`"),
    ];
    for (file, old, new, message) in wrong {
        let line = copy.edit(file, old, new) + new.matches('\n').count();
        let output = copy.run(&["verify", "--rules", "mappings", "aten::elu", "--python", "no-python"]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{file}: {text}");
        assert!(text.contains(message), "{file}: no `{message}` in {text}");
        assert!(text.contains(&format!("{file}:{line}: ")), "{file}:{line}: {text}");
        copy.undo(file);
    }
}

#[test]
fn what_has_to_be_compiled_is_told() {
    let copy = Copy::new();
    copy.edit("mappings/opsets.toml", "default = 18", "default = 17");
    let error = copy.export(INTEGERS, &["--mappings", "mappings"]).unwrap_err();
    assert!(error.contains("the range of opsets") && error.contains("cargo build"), "{error}");
}

mod python {
    use super::*;

    /// What `verify` says of an operator by the facts of the copy.
    fn verified(copy: &Copy) -> (Option<i32>, String) {
        let python = host::interpreter();
        let output = copy.run(&[
            "verify",
            "--rules",
            "mappings",
            "aten::sort",
            "--typed",
            "20",
            "--sampled",
            "60",
            "--opset",
            "18",
            "--jobs",
            "1",
            "--python",
            python.to_str().unwrap(),
        ]);
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.code(), text)
    }

    #[test]
    fn accepted_differences_take_effect() {
        let copy = Copy::new();
        let (code, text) = verified(&copy);
        assert_eq!(code, Some(0), "{text}");
        fs::write(copy.path(TABLES[0]), "difference = []\n").unwrap();
        let (code, text) = verified(&copy);
        assert_eq!(code, Some(1), "without the table nothing differs: {text}");
    }

    #[test]
    fn a_relation_that_is_no_expression_is_told() {
        let copy = Copy::new();
        let line =
            copy.edit(TABLES[1], "\"within(input_lengths, 0, log_probs.shape[0])\"", "\"within(input_lengths, 0\"");
        let (code, text) = verified(&copy);
        assert_ne!(code, Some(0), "{text}");
        assert!(text.contains(&format!("{}:{line}: `within(input_lengths, 0` is no expression", TABLES[1])), "{text}");
    }
}
