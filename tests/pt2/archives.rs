//! Archives of PyTorch 2.6, 2.8, 2.10 and 2.13, which tests/data/archives/make.py makes: 20 models each; and archives of versions to come.

use std::path::PathBuf;

use aten2onnx::frontend::pt2;
use aten2onnx::program::Program;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::Error;
use aten2onnx_core::weights::MappedFile;
use serde_json::{Value, json};

use super::print;
use super::zip::{Entry, write};

const VERSIONS: [&str; 4] = ["v210", "v213", "v26", "v28"];

fn folder() -> PathBuf {
    crate::common::root().join("tests/data/archives")
}

/// The names of the models of a version, sorted.
fn names(version: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder().join(version)).unwrap();
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.unwrap().file_name().to_str()?.strip_suffix(".pt2")?.to_owned())).collect();
    names.sort();
    names
}

#[test]
fn each_version_has_the_same_twenty_models() {
    let all = VERSIONS.map(names);
    assert_eq!(all[0].len(), 20);
    assert!(all.iter().all(|names| *names == all[0]));
}

#[test]
fn no_archive_has_a_path_of_a_machine() {
    for version in VERSIONS {
        for name in names(version) {
            let bytes = std::fs::read(folder().join(version).join(format!("{name}.pt2"))).unwrap();
            for path in ["/home/", "/tmp/", "/root/", "/work/", "site-packages", "/usr/"] {
                assert!(!bytes.windows(path.len()).any(|part| part == path.as_bytes()), "{version}/{name}: {path}");
            }
        }
    }
}

/// An archive whose document was changed.
fn changed(name: &str, change: impl FnOnce(&mut Value)) -> Result<Program, Error> {
    let path = folder().join("v213").join(format!("{name}.pt2"));
    let archive = Archive::of_file(MappedFile::open(&path).unwrap()).unwrap();
    let mut change = Some(change);
    let entries: Vec<Entry> = archive
        .names()
        .map(|entry| {
            let bytes = archive.bytes(entry).unwrap().to_vec();
            let bytes = match entry.ends_with("models/model.json") {
                true => {
                    let mut document = serde_json::from_slice(&bytes).unwrap();
                    change.take().unwrap()(&mut document);
                    serde_json::to_vec(&document).unwrap()
                }
                false => bytes,
            };
            Entry::new(&archive.full_name(entry), bytes)
        })
        .collect();
    assert!(change.is_none(), "no document was changed");
    pt2::read_bytes("future.pt2", write(&entries), None)
}

/// Adds a field that no version has to every object that is no table of names.
fn with_unknown_fields(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(with_unknown_fields),
        Value::Object(fields) => {
            fields.values_mut().for_each(with_unknown_fields);
            let is_struct = ["nodes", "target", "input_specs", "graph_module", "dtype", "module_call_graph"];
            if is_struct.iter().any(|name| fields.contains_key(*name)) {
                fields.insert("of_the_future".into(), json!({"deep": [1, {"as_tensor": "x"}]}));
            }
        }
        _ => {}
    }
}

fn of_version(document: &mut Value, major: i64, minor: i64) {
    document["schema_version"] = json!({"major": major, "minor": minor, "patch": 3});
}

/// The place of the first node with a target, and the node.
fn node<'v>(document: &'v mut Value, target: &str) -> &'v mut Value {
    let nodes = document["graph_module"]["graph"]["nodes"].as_array_mut().unwrap();
    nodes.iter_mut().find(|node| node["target"] == target).unwrap()
}

/// The notes of an export, or its error.
fn exported(program: Program) -> Result<Vec<String>, String> {
    let done = aten2onnx::export::export_program(program, &super::options());
    done.map(|done| done.notes).map_err(|error| format!("{error}\n{}", error.help.clone().unwrap_or_default()))
}

#[test]
fn what_a_version_to_come_adds_is_skipped() {
    for name in names("v213") {
        let mut own = changed(&name, |_| ()).unwrap();
        own.notes.clear();
        let own = print::program(&own);
        for (major, minor) in [(8, 99), (9, 0)] {
            let program = changed(&name, |document| {
                with_unknown_fields(document);
                of_version(document, major, minor);
            });
            let mut program = program.unwrap_or_else(|error| panic!("{name}: {error}"));
            let notes = std::mem::take(&mut program.notes);
            assert_eq!(print::program(&program), own, "{name}: unknown fields change what is read");
            let told = format!("the schema version is {major}.{minor}; additions since 8.20 are ignored");
            assert!(notes.contains(&told), "{name}: {notes:?}");
        }
    }
}

#[test]
fn operators_to_come_are_refused_by_name() {
    let program = changed("residual", |document| {
        of_version(document, 8, 99);
        node(document, "torch.ops.aten.silu.default")["target"] = json!("torch.ops.aten.later_silu.default");
    });
    let error = exported(program.unwrap()).unwrap_err();
    assert!(error.contains("there is no rule for `aten::later_silu`"), "{error}");
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    let silu = "torch.ops.aten.silu.default";
    type Change<'c> = &'c dyn Fn(&mut Value);
    let changes: [(&str, Change<'_>); 4] = [
        ("as_future", &|document| node(document, silu)["inputs"][0]["arg"] = json!({"as_future": 7})),
        ("later_spec", &|document| {
            document["graph_module"]["signature"]["input_specs"][0] = json!({"later_spec": {"arg": {"name": "x"}}});
        }),
        ("later_output", &|document| {
            document["graph_module"]["signature"]["output_specs"][0] = json!({"later_output": {"arg": {"name": "x"}}});
        }),
        ("99", &|document| {
            let values = document["graph_module"]["graph"]["tensor_values"].as_object_mut().unwrap();
            values.values_mut().next().unwrap()["dtype"] = json!(99);
        }),
    ];
    for (name, change) in changes {
        for (minor, has_help) in [(20, false), (99, true)] {
            let error = changed("residual", |document| {
                of_version(document, 8, minor);
                change(document);
            });
            let error = error.unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            let help = error.help.clone().unwrap_or_default();
            let told = help.contains("the schema version of the file is 8.99, and this program knows 8.20");
            assert_eq!(told, has_help, "{error}: {help}");
        }
        let error = changed("residual", |document| {
            of_version(document, 10, 1);
            change(document);
        });
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("the schema version is 10.1, but only 8.x is supported") && error.contains(name),
            "{error}"
        );
    }
}

mod python {
    use crate::common::root;
    use crate::host::interpreter;
    use std::process::Command;

    /// Every archive at two opsets and all sizes: the numbers are those of the PyTorch that wrote it.
    #[test]
    fn the_numbers_are_those_of_the_pytorch_that_saved_them() {
        let output = Command::new(interpreter())
            .arg(root().join("tests/pt2/archives.py"))
            .arg(env!("CARGO_BIN_EXE_aten2onnx"))
            .arg(super::folder())
            .args(["13", "20"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).unwrap();
        let counts: Vec<(&str, usize)> = said
            .split_whitespace()
            .map(|word| word.split_once('=').map(|(version, count)| (version, count.parse().unwrap())).unwrap())
            .collect();
        assert_eq!(counts.iter().map(|(version, _)| *version).collect::<Vec<_>>(), super::VERSIONS);
        // Each version has the same models, sizes and results.
        assert!(counts.iter().all(|(_, count)| *count == counts[0].1 && *count >= 170), "{said}");
    }
}
