//! Exporters for one opset, which `aten2onnx-codegen exporter` writes: they give the bytes of the full one at that opset.
//!
//! `EXPORTER_OPSETS="11 13 17"` says for which opsets instead of the default. Their crates are compiled by `rustc` alone, against the crates that
//! the tests were built from. `WALKS=all` also runs the programs in C in valgrind, and `walk`.

mod c;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use aten2onnx_build::single_opset;
use aten2onnx_opmap::tree::{Example, Target, WITHOUT};
use serde_json::Value;

use crate::common::{self, files};

/// The models that an exporter is made for.
const MODELS: [&str; 4] = ["convert/gpt2.pt2", "convert/vit.pt2", "convert/resnet.pt2", "models/mobilenet_like.pt2"];

/// The runtimes that an exporter is made for: the first in the full tier, all with `EXPORTER_OPSETS`.
const TARGETS: [&str; 6] = ["tract", "iree", "mnn", "tvm", "litert", "openvino"];

/// Its name.
const NAME: &str = "acme-onnx";

fn data(model: &str) -> PathBuf {
    common::root().join("tests/data").join(model)
}

fn full() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_aten2onnx"))
}

/// The program `aten2onnx-codegen` beside the exporter, which `tests/run` has built.
fn codegen() -> Command {
    let program = full().with_file_name("aten2onnx-codegen");
    assert!(program.exists(), "{} does not exist: run `cargo build --workspace --bins`", program.display());
    Command::new(program)
}

fn made(arguments: &[&str], folder: &Path) -> Output {
    codegen()
        .args(["exporter", "--name", NAME, "--out"])
        .arg(folder)
        .args(arguments)
        .current_dir(common::root())
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// What a command says that must fail with this code.
fn refused(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", text(output));
    text(output)
}

fn sound(output: Output) -> String {
    assert!(output.status.success(), "{}", text(&output));
    text(&output)
}

const RELU: &str = "aten::relu\naten::add # all its overloads\n";

/// A folder with a list of operators.
fn listed(operators: &str) -> (tempfile::TempDir, String) {
    let scratch = tempfile::tempdir().unwrap();
    let list = scratch.path().join("operators.txt");
    fs::write(&list, operators).unwrap();
    let list = list.to_str().unwrap().to_owned();
    (scratch, list)
}

#[test]
fn wrong_requests_leave_nothing_behind() {
    let (scratch, list) = listed("aten::relu\n\naten::rellu\n");
    let (_kept, aten_nonzero_static) = listed("# nothing\n");
    let folder = scratch.path().join("acme");
    let wrong: [(&[&str], &str); 7] = [
        (
            &["--opset", "13", "--ops", &list],
            "operators.txt:3: there is no rule for `aten::rellu`; did you mean `aten::relu`?",
        ),
        (&["--opset", "13", "--ops", &aten_nonzero_static], "it names no operator"),
        (&["--opset", "7"], "unknown opset 7: supported are 9 to"),
        (&["--opset", "13", "--target", "tensort"], "there is no runtime `tensort`; did you mean `tensorrt`?"),
        (&["--opset", "13", "--for", "no/such.pt2"], "no/such.pt2"),
        (&["--opset", "13", "--aten2onnx", "/tmp"], "is not a checkout of aten2onnx"),
        (&["--opset", "13", "--own-mappings", "docs"], "there is no mapping file in this folder"),
    ];
    for (arguments, message) in wrong {
        let output = made(arguments, &folder);
        assert!(!output.status.success() && text(&output).contains(message), "{arguments:?}:\n{}", text(&output));
        let left: Vec<_> = fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["operators.txt"], "{arguments:?} leaves something");
    }
    let name =
        codegen().args(["exporter", "--opset", "13", "--name", "Acme_1", "--out"]).arg(&folder).output().unwrap();
    assert!(refused(&name, 2).contains("write a name of lower-case letters"));
    // A folder with something else stays as it is.
    let before = files(scratch.path());
    let output = made(&["--opset", "13", "--ops", &list.replace("operators", "others")], scratch.path());
    assert!(!output.status.success());
    fs::write(&list, RELU).unwrap();
    let output = made(&["--opset", "13", "--ops", &list], scratch.path());
    assert!(refused(&output, 2).contains("is not empty, and holds no exporter.toml"));
    assert_eq!(files(scratch.path()).len(), before.len());
}

#[test]
fn it_is_reproducible_and_keeps_what_a_vendor_changes() {
    let (scratch, list) = listed(RELU);
    let (one, other) = (scratch.path().join("one"), scratch.path().join("other"));
    let arguments = ["--opset", "13", "--ops", list.as_str()];
    let said = sound(made(&arguments, &one));
    assert!(said.contains("at opset 13"), "{said}");
    sound(made(&arguments, &other));
    assert_eq!(files(&one), files(&other));
    let operators = fs::read_to_string(one.join("operators.txt")).unwrap();
    for name in ["aten::relu\n", "aten::add.Tensor\n", "aten::add.Scalar\n"] {
        assert!(operators.contains(name), "{operators}");
    }
    assert!(!operators.contains("aten::gelu"));
    // Again: nothing changes. Then with another operator, and files that the vendor has changed.
    assert!(!sound(made(&arguments, &one)).contains("changed "));
    fs::write(one.join("README.md"), "mine\n").unwrap();
    fs::write(one.join("src/own.rs"), "// mine\n").unwrap();
    fs::write(&list, format!("{RELU}aten::gelu\n")).unwrap();
    let said = sound(made(&arguments, &one));
    for line in ["changed  operators.txt: 1 lines added, 0 removed", "kept     README.md: you have changed it"] {
        assert!(said.contains(line), "no `{line}` in\n{said}");
    }
    assert_eq!(fs::read_to_string(one.join("README.md")).unwrap(), "mine\n");
    assert!(one.join("src/own.rs").exists());
    // A generated file that was changed by hand is not lost.
    fs::write(one.join("rules/src/table.rs"), "// mine\n").unwrap();
    let before = files(&one);
    assert!(refused(&made(&arguments, &one), 2).contains("changed by hand:\n    rules/src/table.rs"));
    assert_eq!(files(&one), before);
}

/// The functions that the header declares are those of the library, with as many arguments.
#[test]
fn the_header_declares_what_the_library_has() {
    let (scratch, list) = listed(RELU);
    let folder = scratch.path().join("acme");
    sound(made(&["--opset", "13", "--ops", &list], &folder));
    let code = fs::read_to_string(folder.join("c/src/lib.rs")).unwrap();
    let header = fs::read_to_string(folder.join("c/include/acme_onnx.h")).unwrap();
    let arguments = |text: &str| {
        text.split_once(')').unwrap().0.split(',').filter(|arg| !["", "void"].contains(&arg.trim())).count()
    };
    let in_rust = code.split("extern \"C\" fn ").skip(1).map(|rest| rest.split_once('(').unwrap());
    let in_rust: BTreeMap<&str, usize> = in_rust.map(|(name, rest)| (name, arguments(rest))).collect();
    let in_c = header.lines().filter(|line| line.ends_with(");"));
    let in_c = in_c.map(|line| line.split_once('(').unwrap());
    let in_c: BTreeMap<&str, usize> =
        in_c.map(|(head, rest)| (head.rsplit([' ', '*']).next().unwrap(), arguments(rest))).collect();
    assert_eq!(in_rust, in_c);
    assert_eq!(in_c.len(), 6);
}

/// `mappings/opsets.toml` lists what passes make.
#[test]
fn what_passes_make_is_listed() {
    let opsets = aten2onnx_schemas::Schemas::load(&common::root().join("mappings")).unwrap().opsets;
    let known: Vec<&String> = opsets.without_rules().chain(&opsets.passes).collect();
    let mut made = BTreeSet::new();
    for (name, bytes) in files(&common::root().join("src/builder/src/passes")) {
        let code = String::from_utf8(bytes).unwrap();
        for call in ["make(\"", "node(\"", "node1(\""] {
            let calls = code
                .match_indices(call)
                .filter(|(at, _)| code[..*at].ends_with("cx.") || code[..*at].ends_with("builder."));
            for (at, _) in calls {
                let op = code[at + call.len()..].split('"').next().unwrap();
                assert!(
                    known.iter().any(|one| *one == op),
                    "{name} makes `{op}`: add it to `passes` in mappings/opsets.toml"
                );
                made.insert(op.to_owned());
            }
        }
    }
    let unmade: Vec<_> = opsets.passes.iter().filter(|op| !made.contains(*op)).collect();
    assert!(unmade.is_empty() && made.len() > 10, "no pass makes {unmade:?}");
}

/// The crates that the tests were built from, by name: what Cargo says of a build in which nothing is compiled.
fn libraries() -> BTreeMap<String, PathBuf> {
    let output = common::cargo()
        .args(["build", "--workspace", "--bins", "--tests", "--message-format", "json", "--quiet"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let messages = String::from_utf8(output.stdout).unwrap();
    let mut found = BTreeMap::new();
    for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let Some(files) = message["filenames"].as_array() else { continue };
        let library = files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".rlib"));
        if let (Some(name), Some(library)) = (message["target"]["name"].as_str(), library) {
            found.insert(name.to_owned(), PathBuf::from(library));
        }
    }
    found
}

/// Compiles a crate of a workspace.
fn compiled(
    libraries: &BTreeMap<String, PathBuf>,
    source: &Path,
    name: &str,
    kind: &str,
    uses: &[(&str, &Path)],
    out: &Path,
) {
    let cargo = Path::new(env!("CARGO"));
    let mut rustc = Command::new(cargo.with_file_name("rustc"));
    rustc.args(["--edition", "2024", "--crate-type", kind, "--crate-name", name, "-C", "debuginfo=0"]);
    let deps = libraries["aten2onnx_rules"].parent().unwrap();
    rustc
        .arg(source)
        .arg("-L")
        .arg(format!("dependency={}", deps.display()))
        .arg("-L")
        .arg(format!("dependency={}", out.display()));
    for (crate_name, path) in uses {
        rustc.arg("--extern").arg(format!("{crate_name}={}", path.display()));
    }
    sound(rustc.arg("--out-dir").arg(out).env("CARGO_PKG_VERSION", "0.1.0").output().unwrap());
}

/// The command and the C library of a workspace.
fn built(libraries: &BTreeMap<String, PathBuf>, folder: &Path) -> PathBuf {
    let out = folder.join("built");
    fs::create_dir_all(&out).unwrap();
    let (rules, library) = (out.join("libacme_onnx_rules.rlib"), out.join("libacme_onnx.rlib"));
    let of = |name: &str| libraries[name].as_path();
    compiled(
        libraries,
        &folder.join("rules/src/lib.rs"),
        "acme_onnx_rules",
        "rlib",
        &[("aten2onnx_rules", of("aten2onnx_rules"))],
        &out,
    );
    let uses = [("aten2onnx_single", of("aten2onnx_single")), ("acme_onnx_rules", rules.as_path())];
    compiled(libraries, &folder.join("src/lib.rs"), "acme_onnx", "rlib", &uses, &out);
    compiled(libraries, &folder.join("src/main.rs"), "acme_onnx_command", "bin", &[("acme_onnx", &library)], &out);
    compiled(libraries, &folder.join("c/src/lib.rs"), "acme_onnx_c", "cdylib", &[("acme_onnx", &library)], &out);
    out
}

fn exported(program: &Path, arguments: &[&str], source: &Path, scratch: &Path) -> Vec<u8> {
    let out = scratch.join("out.onnx");
    sound(Command::new(program).arg("export").arg(source).arg("-o").arg(&out).args(arguments).output().unwrap());
    fs::read(out).unwrap()
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    /// An exporter leaves out what its opset and its runtime do not need. What examples of all operators need is in the one with all operators.
    #[test]
    fn lowerings_that_examples_need_are_there() {
        let checked = aten2onnx_opmap::check_dir(&common::root().join("mappings")).unwrap();
        let rules = aten2onnx::rules();
        let aims = [(9, None), (17, None), (13, Some("tract"))];
        for (opset, runtime) in aims {
            let cut = single_opset::generate(&checked, &single_opset::Aim { opset, runtime }, None).unwrap();
            let target = runtime.map(|name| aten2onnx_onnx::targets::find(name).unwrap());
            let mut needed = BTreeSet::new();
            // Not those for a runtime without an operator, which this exporter is not for.
            let is_meant = |example: &&Example| {
                matches!(example.target, Target::Map(_))
                    && !example.with.iter().any(|(name, _)| name.starts_with(WITHOUT))
            };
            for example in checked.program.examples.iter().filter(is_meant) {
                needed.extend(aten2onnx_examples::lowerings(example, &checked, &rules, opset, target));
            }
            let has = |(op, before): &&(&str, u32)| cut.lowerings.contains(&((*op).to_owned(), *before));
            let lacking: Vec<_> = needed.iter().filter(|one| !has(one)).collect();
            assert!(
                lacking.is_empty(),
                "an exporter for opset {opset} and {runtime:?} has no lowering for {lacking:?}"
            );
            assert!(needed.len() > 30 && cut.lowerings.len() < checked.program.lowers.len(), "{}", needed.len());
        }
    }

    #[test]
    fn an_exporter_for_one_opset_gives_the_same_bytes() {
        let opsets = std::env::var("EXPORTER_OPSETS").unwrap_or_else(|_| "13".to_owned());
        assert!(!opsets.trim().is_empty(), "EXPORTER_OPSETS names no opset");
        let libraries = libraries();
        for opset in opsets.split_whitespace() {
            let scratch = tempfile::tempdir().unwrap();
            let folder = scratch.path().join("acme");
            let models: Vec<PathBuf> = MODELS.iter().map(|model| data(model)).collect();
            let mut arguments = vec!["--opset", opset, "--for"];
            arguments.extend(models.iter().map(|path| path.to_str().unwrap()));
            sound(made(&arguments, &folder));
            let out = built(&libraries, &folder);
            let single = out.join("acme_onnx_command");
            for source in &models {
                for level in [&[][..], &["-O0"]] {
                    let theirs = exported(&single, level, source, scratch.path());
                    let ours = exported(full(), &[level, &["--opset", opset]].concat(), source, scratch.path());
                    assert!(ours == theirs, "{} at opset {opset} {level:?}: the bytes differ", source.display());
                }
            }
            let missing = Command::new(&single).arg("missing").arg(data("pt2/lstm.pt2")).output().unwrap();
            assert!(
                refused(&missing, 5).contains(
                    "aten::lstm.input: `aten::lstm.input` cannot be exported: it is not part of this exporter"
                )
            );
            let other = Command::new(&single)
                .arg("export")
                .arg(data("pt2/lstm.pt2"))
                .arg("-o")
                .arg(scratch.path().join("x.onnx"))
                .output()
                .unwrap();
            assert!(refused(&other, 5).contains("help: `ops` lists its operators"));
            assert!(
                refused(&Command::new(&single).args(["export", "x.pt2", "--opset", "9"]).output().unwrap(), 2)
                    .contains("no option `--opset`")
            );
            let wanted = exported(&single, &[], &data("convert/resnet.pt2"), scratch.path());
            c::example_exports(&folder, &out, &wanted);
            c::damaged_archives_are_answered(&folder, &out);
        }
    }

    /// What a runtime lacks is replaced as `aten2onnx export --target` does.
    #[test]
    fn an_exporter_for_a_runtime_gives_the_same_bytes() {
        let libraries = libraries();
        let taken = if std::env::var("EXPORTER_OPSETS").is_ok() { TARGETS.len() } else { 1 };
        for target in &TARGETS[..taken] {
            let scratch = tempfile::tempdir().unwrap();
            let folder = scratch.path().join("acme");
            let models = ["convert/gpt2.pt2", "convert/vit.pt2"].map(data);
            let mut arguments = vec!["--opset", "13", "--target", target, "--for"];
            arguments.extend(models.iter().map(|path| path.to_str().unwrap()));
            sound(made(&arguments, &folder));
            let single = built(&libraries, &folder).join("acme_onnx_command");
            let mut replaced = 0;
            for source in &models {
                let theirs = exported(&single, &[], source, scratch.path());
                let ours = exported(full(), &["--opset", "13", "--target", target], source, scratch.path());
                assert!(ours == theirs, "{} for {target}: the bytes differ", source.display());
                replaced += usize::from(ours != exported(full(), &["--opset", "13"], source, scratch.path()));
            }
            assert!(replaced > 0 || *target == "openvino", "{target} lacks nothing that these models need");
        }
    }

    /// With all operators, every model of the tests: the same bytes, or refused by both.
    #[test]
    fn an_exporter_with_all_operators_gives_the_same_bytes() {
        let Ok(opsets) = std::env::var("EXPORTER_OPSETS") else { return };
        let libraries = libraries();
        for opset in opsets.split_whitespace() {
            let scratch = tempfile::tempdir().unwrap();
            let folder = scratch.path().join("acme");
            sound(made(&["--opset", opset], &folder));
            let single = built(&libraries, &folder).join("acme_onnx_command");
            let (mut same, out) = (0, scratch.path().join("out.onnx"));
            for entry in fs::read_dir(data("pt2")).unwrap() {
                let source = entry.unwrap().path();
                if source.extension().is_none_or(|e| e != "pt2") {
                    continue;
                }
                let run = |program: &Path, more: &[&str]| {
                    let _ = fs::remove_file(&out);
                    let done = Command::new(program)
                        .arg("export")
                        .arg(&source)
                        .arg("-o")
                        .arg(&out)
                        .args(more)
                        .output()
                        .unwrap();
                    (done.status.code(), fs::read(&out).ok())
                };
                let (ours, theirs) = (run(full(), &["--opset", opset]), run(&single, &[]));
                assert!(ours == theirs, "{} at opset {opset}: {:?} and {:?}", source.display(), ours.0, theirs.0);
                same += usize::from(ours.1.is_some());
            }
            assert!(same > 15, "only {same} models are exported at opset {opset}");
        }
    }
}
