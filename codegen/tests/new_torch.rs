//! `import-aten`, and history repeated: from the overloads of PyTorch 2.6, importing 2.8, 2.10 and 2.13 leads to the snapshots of today.
//!
//! `new_torch/VERSION.txt` says what a version has in another way than the next newer one; tools/schemas/history.py writes it.
#![allow(clippy::unwrap_used)]

#[path = "../../tests/common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use aten2onnx_codegen::new_torch::{Release, Rules, Tried, tried_report};
use aten2onnx_opmap::resolve_dir;

/// The older versions, from the newest to the oldest.
const OLDER: [&str; 3] = ["2.10", "2.8", "2.6"];

const FILES: [&str; 5] = ["aten.txt", "prims.txt", "quantized_decomposed.txt", "torch.onnx.txt", "torchvision.txt"];

fn mappings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings")
}

/// The schemas of a release by file: its head, and its lines.
type Snapshot = BTreeMap<String, BTreeSet<String>>;

fn today() -> Snapshot {
    let lines = |file: &str| fs::read_to_string(mappings().join("schemas").join(file)).unwrap();
    let schemas = |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    FILES.map(|file| (file.to_owned(), schemas(&lines(file)))).into()
}

fn file_of(schema: &str) -> &'static str {
    match schema.split("::").next().unwrap() {
        "aten" => "aten.txt",
        "prims" => "prims.txt",
        "quantized_decomposed" => "quantized_decomposed.txt",
        "onnx" => "torch.onnx.txt",
        "torchvision" => "torchvision.txt",
        other => unreachable!("{other}"),
    }
}

/// The release before another one.
fn before(newer: &Snapshot, release: &str) -> Snapshot {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/new_torch").join(format!("{release}.txt"));
    let mut older = newer.clone();
    for line in fs::read_to_string(path).unwrap().lines().filter(|line| !line.starts_with('#')) {
        let (sign, schema) = line.split_at(1);
        let lines = older.get_mut(file_of(schema)).unwrap();
        let changes = if sign == "-" { lines.remove(schema) } else { lines.insert(schema.to_owned()) };
        assert!(changes, "{release}: {line}");
    }
    older
}

/// The name of an overload: `aten::add.Tensor`.
fn name(schema: &str) -> &str {
    schema.split('(').next().unwrap()
}

fn sorted(lines: &BTreeSet<String>) -> Vec<&String> {
    let mut lines: Vec<&String> = lines.iter().collect();
    lines.sort_by_key(|line| name(line));
    lines
}

/// The text of a snapshot with a head; none for a file without schemas.
fn text_of(lines: &BTreeSet<String>, head: &str) -> String {
    sorted(lines).into_iter().fold(format!("{head}\n"), |text, line| text + line + "\n")
}

fn head_of(file: &str) -> String {
    fs::read_to_string(mappings().join("schemas").join(file)).unwrap().lines().next().unwrap().to_owned()
}

fn run(mappings: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aten2onnx-codegen"))
        .args(arguments)
        .arg("--mappings")
        .arg(mappings)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn written(folder: &Path, snapshot: &Snapshot) -> Vec<String> {
    fs::create_dir_all(folder).unwrap();
    let mut paths = Vec::new();
    for (file, lines) in snapshot.iter().filter(|(_, lines)| !lines.is_empty()) {
        let path = folder.join(file);
        fs::write(&path, text_of(lines, &head_of(file))).unwrap();
        paths.push(path.to_str().unwrap().to_owned());
    }
    paths
}

#[test]
fn from_2_6_the_imports_lead_to_today() {
    let mut releases = vec![today()];
    for release in OLDER {
        releases.push(before(releases.last().unwrap(), release));
    }
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("mappings");
    common::copy_folder(&mappings(), &state);
    let oldest = releases.pop().unwrap();
    for (file, lines) in &oldest {
        fs::write(state.join("schemas").join(file), text_of(lines, &head_of(file))).unwrap();
    }
    let rules = resolve_dir(&mappings()).unwrap();
    let place = |overload: &str| rules.program.map(overload).map(|map| rules.sources.place(map.function.span));
    let (mut old, mut named) = (oldest, 0);
    while let Some(new) = releases.pop() {
        let files = written(&folder.path().join("new"), &new);
        let mut arguments = vec!["import-aten"];
        arguments.extend(files.iter().map(String::as_str));
        let unwritten = said(&run(&state, &arguments));
        let kept = |file: &String| fs::read_to_string(state.join("schemas").join(file)).unwrap();
        assert!(
            old.iter().all(|(file, lines)| kept(file) == text_of(lines, &head_of(file))),
            "a report writes nothing"
        );
        arguments.push("--write");
        let report = said(&run(&state, &arguments));
        assert_eq!(report, unwritten);
        for (file, lines) in &new {
            let known: BTreeSet<&str> = old[file].iter().map(|line| name(line)).collect();
            for added in lines.iter().filter(|line| !known.contains(name(line))) {
                assert!(report.contains(&format!("- `{}`\n  - `{added}`", name(added))), "{added} is not reported");
                if let Some(place) = place(name(added)) {
                    // The path is that of the copy.
                    let place = place.rsplit("mappings/").next().unwrap().to_owned();
                    let lines: Vec<&str> = report.lines().collect();
                    let at = lines.iter().rposition(|line| *line == format!("- `{}`", name(added))).unwrap();
                    assert!(
                        lines[at + 1].starts_with("  - rule: ") && lines[at + 1].ends_with(&place),
                        "{added}: {}",
                        lines[at + 1]
                    );
                    named += 1;
                }
            }
            let present: BTreeSet<&str> = lines.iter().map(|line| name(line)).collect();
            for removed in old[file].iter().filter(|line| !present.contains(name(line))) {
                assert!(
                    report.contains(&format!("- `{}`\n  - was `{removed}`", name(removed))),
                    "{removed} is not reported"
                );
            }
        }
        old = new;
    }
    for file in FILES {
        let (made, wanted) = (state.join("schemas").join(file), mappings().join("schemas").join(file));
        assert!(fs::read(made).unwrap() == fs::read(wanted).unwrap(), "{file} is not the snapshot of today");
    }
    assert!(named >= 15, "only {named} added overloads have a rule");
}

#[test]
fn what_changed_is_told_for_each_argument() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(mappings().join("schemas/aten.txt")).unwrap();
    let relu = text.lines().find(|line| line.starts_with("aten::relu(")).unwrap();
    let add = text.lines().find(|line| line.starts_with("aten::add_.Tensor(")).unwrap();
    let changed = text
        .replace(&format!("{relu}\n"), "aten::relu(Tensor(a) self, int limit=6) -> Tensor(a)\n")
        .replace(&format!("{add}\n"), "")
        .replacen("alpha=1) -> Tensor\n", "alpha=2) -> Tensor\n", 1);
    let path = folder.path().join("aten.txt");
    fs::write(&path, changed + "aten::zz_new(Tensor self) -> Tensor\n").unwrap();
    let report = said(&run(&mappings(), &["import-aten", "--dry-run", path.to_str().unwrap()]));
    for part in [
        "argument `Tensor self` is now `Tensor(a) self`",
        "argument `int limit=6` is new",
        "alpha=1` is now `Scalar alpha=2`",
        "- `aten::add_.Tensor`\n  - was `",
        "- `aten::zz_new`\n  - open: begin with `map aten::zz_new(Tensor self) -> Tensor`",
        "rules: ",
        "2 of 3 have no rule",
    ] {
        assert!(report.contains(part), "no `{part}` in\n{report}");
    }
    assert_eq!(fs::read_to_string(mappings().join("schemas/aten.txt")).unwrap(), text);
}

#[test]
fn what_is_no_release_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let broken = path("broken.txt", "# x\naten::a(Tensor\n");
    let mixed = path("mixed.txt", "aten::a(Tensor self) -> Tensor\nprims::a(Tensor self) -> Tensor\n");
    let no_python = folder.path().join("no-python").to_str().unwrap().to_owned();
    let no_torch = path("python", "#!/bin/sh\necho 'ModuleNotFoundError: no torch' >&2\nexit 1\n");
    Command::new("chmod").args(["+x", &no_torch]).status().unwrap();
    let silent = path("silent", "#!/bin/sh\necho hello\n");
    Command::new("chmod").args(["+x", &silent]).status().unwrap();
    let state = folder.path().join("mappings");
    common::copy_folder(&mappings(), &state);
    let wrong: [(&[&str], &str); 7] = [
        (&["import-aten"], "required"),
        (&["import-aten", &broken, "--write"], "broken.txt: line 2"),
        (&["import-aten", &mixed, "--write"], "mixed.txt: not the schemas of one known namespace"),
        (&["import-aten", "no/such.txt", "--write"], "no/such.txt: "),
        (&["import-aten", "--installed", &no_python, "--write"], "no-python: "),
        (
            &["import-aten", "--installed", &no_torch, "--write"],
            "PyTorch cannot be asked: ModuleNotFoundError: no torch",
        ),
        (&["import-aten", "--installed", &silent, "--write"], "PyTorch's answer cannot be read"),
    ];
    for (arguments, message) in wrong {
        let output = run(&state, arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(message), "no `{message}` in {text}");
    }
    for file in FILES {
        assert!(
            fs::read(state.join("schemas").join(file)).unwrap()
                == fs::read(mappings().join("schemas").join(file)).unwrap()
        );
    }
}

#[test]
fn what_pytorch_makes_of_a_call_is_shown() {
    let rules = Rules::new(resolve_dir(&mappings()).unwrap());
    let names = ["aten::gelu", "aten::relu_", "aten::binomial"].map(str::to_owned);
    let lines = r#"{"name": "aten::gelu", "call": "self=float32[2, 3]", "composed": false, "tables": ["post_autograd"], "core": true,
 "exported": {"operators": ["aten::gelu"]}, "decomposed": {"operators": ["aten::mul.Tensor", "aten::erf", "aten::binomial"]}, "recorded": {"operators": ["Gelu"]}}"#
        .replace('\n', "");
    let broken = r#"{"name": "aten::binomial", "problem": "no call is known"}"#;
    let tried = Tried::parse(&format!("{lines}\n{broken}\n")).unwrap();
    let report = tried_report(&names, &rules, &tried);
    for part in [
        "- `aten::gelu`\n  - rule: ",
        "called with `self=float32[2, 3]`",
        "torch.export: `aten::gelu`",
        "the recorder, in ONNX: `Gelu`",
        "decomposition: `torch._decomp` has it (post_autograd), which `run_decompositions()` uses: `aten::mul.Tensor`, `aten::erf`, `aten::binomial`",
        ", by `aten::relu`",
        "stated as impossible: ",
        "not called: no call is known",
        "0 of 3 have no rule",
    ] {
        assert!(report.contains(part), "no `{part}` in\n{report}");
    }
    assert!(Tried::parse("{\"name\": 3}").is_err());
}

/// The environment of the tests has the PyTorch of the snapshots.
mod python {
    use super::*;

    fn ask(what: &str, names: &str) -> String {
        let environment = aten2onnx_codegen::new_torch::Environment::of(&common::interpreter()).unwrap();
        environment.ask(what, names, None).unwrap()
    }

    #[test]
    fn the_snapshots_are_those_of_the_installed_pytorch() {
        let release = Release::parse(&ask("schemas", "")).unwrap();
        let snapshots = release.snapshots().unwrap();
        assert_eq!(snapshots.len(), FILES.len());
        for (file, text) in snapshots {
            let wanted = fs::read_to_string(mappings().join("schemas").join(file)).unwrap();
            assert!(text == wanted, "{file} differs from what import-aten writes");
        }
    }

    #[test]
    fn calls_are_found_for_most_operators() {
        let names = [
            "aten::gelu",
            "aten::add.Tensor",
            "aten::linear",
            "aten::conv2d",
            "aten::_fused_rms_norm",
            "aten::split.Tensor",
            "aten::no_such",
        ];
        let tried = Tried::parse(&ask("try", &names.join("\n"))).unwrap();
        assert_eq!(tried.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), names);
        for one in &tried[..3] {
            assert!(one.call.is_some() && one.problem.is_none(), "{one:?}");
            assert_eq!(one.exported.as_ref().unwrap().operators, std::slice::from_ref(&one.name), "{one:?}");
        }
        assert!(tried[2].composed && !tried[0].tables.is_empty() && !tried[1].composed, "{tried:?}");
        assert!(tried[6].problem.as_ref().is_some_and(|problem| problem.contains("no_such")), "{tried:?}");
    }
}
