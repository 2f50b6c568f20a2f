//! `verify`: planted faults are found and shrunk, the same seed makes the same calls, and a slice of the rules has no fault.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;
use aten2onnx_verify::{FaultKind, Row, Settings, audit, graph_digests, run, unkept_relations};

use crate::command::{aten2onnx, text};
use crate::{common, host};

fn settings(wanted: &[&str], typed: usize, sampled: usize) -> Settings {
    Settings {
        wanted: wanted.iter().map(|name| (*name).to_owned()).collect(),
        seed: 1,
        opsets: vec![9, 13, 18, 23, 28],
        typed,
        sampled,
        budget: None,
        python: host::interpreter(),
        imports: Vec::new(),
        jobs: 2,
    }
}

/// What is known of rules after calls of them: they are made and judged by one set, and exported by rules of the same or of another one.
fn rows(settings: &Settings, set: &Arc<MappingFiles>, exported: &Arc<MappingFiles>) -> BTreeMap<String, Row> {
    let rows = Mutex::new(BTreeMap::new());
    let keep = |name: &str, row: Row| {
        rows.lock().unwrap().insert(name.to_owned(), row);
        Ok(())
    };
    run(settings, set, &Rules::of_files(exported.clone()), &keep).unwrap_or_else(|error| panic!("{error}"));
    rows.into_inner().unwrap()
}

/// The rules of the project, which are checked once for all tests.
pub fn rules() -> Arc<MappingFiles> {
    static RULES: LazyLock<Arc<MappingFiles>> =
        LazyLock::new(|| Arc::new(MappingFiles::replacing(&common::root().join("mappings")).unwrap()));
    RULES.clone()
}

/// The rules of the project with a change.
pub fn changed(rule: &str, to: &str) -> (tempfile::TempDir, Arc<MappingFiles>) {
    let folder = tempfile::tempdir().unwrap();
    let mut found = false;
    copy(&common::root().join("mappings"), folder.path(), &mut |text: &str| {
        found |= text.contains(rule);
        text.replace(rule, to)
    });
    assert!(found, "no rule has the text `{rule}`");
    let set = Arc::new(MappingFiles::replacing(folder.path()).unwrap_or_else(|error| panic!("{error}")));
    (folder, set)
}

fn copy(from: &Path, to: &Path, edit: &mut dyn FnMut(&str) -> String) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&path, &target, edit);
        } else if path.extension().is_some_and(|extension| extension == "opmap") {
            std::fs::write(&target, edit(&std::fs::read_to_string(&path).unwrap())).unwrap();
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// The faults of a rule after a change of its text: their kinds and smallest calls.
fn faults(op: &str, rule: &str, to: &str) -> Vec<(FaultKind, String)> {
    let (_folder, set) = changed(rule, to);
    let row = rows(&settings(&[op], 150, 20), &set, &set).remove(op).unwrap();
    row.faults.into_iter().map(|found| (found.fault.kind, found.example)).collect()
}

/// The rules of the project, of which one refuses what the matrix says that it takes.
fn refusing_relu6() -> (tempfile::TempDir, Arc<MappingFiles>) {
    let rule = "map aten::relu6(Tensor self) -> Tensor = Clip(self, 0, 6)";
    let refused =
        "map aten::relu6(Tensor self) -> Tensor { if rank(self) > 1 { fail \"it is planted\" } Clip(self, 0, 6) }";
    changed(rule, refused)
}

/// The digests of the graphs of some rules.
fn digests(wanted: &[&str], set: &Arc<MappingFiles>) -> BTreeMap<String, String> {
    let names: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    graph_digests(&names, set, &Rules::of_files(set.clone()), 2).unwrap()
}

#[test]
fn an_edit_changes_the_digests_of_the_rules_that_it_reaches_and_of_no_others() {
    let all = ["aten::sinc", "aten::special_sinc", "aten::relu", "Gelu"];
    let own = rules();
    let before = digests(&all, &own);
    let (_folder, set) = changed("let x = to_float(self) * PI;", "let x = PI * to_float(self);");
    let after = digests(&all, &set);
    let same: Vec<bool> = all.iter().map(|name| before[*name] == after[*name]).collect();
    assert_eq!(same, [false, false, true, true]);
}

/// No more than a twentieth of the levels in docs/verified.json is of other graphs than the rules emit now.
#[test]
fn levels_are_of_the_graphs_that_rules_emit_now() {
    let rules = common::root().join("mappings");
    let levels = common::root().join("docs/verified.json");
    let check = |levels: &Path| {
        let arguments = ["verify", "--rules", text(&rules), "--all", "--levels", text(levels), "--check"];
        let output = aten2onnx(&arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, stale) = check(&levels);
    assert_eq!(code, Some(0), "run `aten2onnx verify --rules mappings --all --levels docs/verified.json`: {stale}");
    // The level of one rule is of other graphs; that of another one is none.
    let folder = tempfile::tempdir().unwrap();
    let planted = folder.path().join("verified.json");
    let mut lines: Vec<String> = std::fs::read_to_string(&levels).unwrap().lines().map(str::to_owned).collect();
    lines.retain(|line| !line.starts_with("\"aten::relu\""));
    let abs = lines.iter_mut().find(|line| line.starts_with("\"aten::abs\"")).unwrap();
    let (before, _) = abs.split_once("\"graphs\":").unwrap();
    *abs = format!("{before}\"graphs\":\"00000000\"}},");
    std::fs::write(&planted, lines.join("\n")).unwrap();
    let (_, found) = check(&planted);
    let new: Vec<&str> = found.lines().filter(|line| !stale.lines().any(|known| known == *line)).collect();
    assert_eq!(new.len(), 3, "{found}");
    assert!(new.starts_with(&["aten::abs", "aten::relu"]), "{found}");
}

mod python {
    use super::*;

    /// A relation that no example of an operator keeps has a mistake: the name of an argument, for example.
    #[test]
    fn each_operator_has_an_example_that_keeps_its_relations() {
        let set = rules();
        let unkept = unkept_relations(&host::interpreter(), &set).unwrap();
        assert!(unkept.is_empty(), "{unkept:#?}");
    }

    /// What an audit of rows says, if exports follow other rules than the matrix.
    fn audited(wanted: &[&str], cells: usize, set: &Arc<MappingFiles>, rules: &Rules) -> audit::Audit {
        let wanted = wanted.iter().map(|name| (*name).to_owned()).collect();
        let settings = audit::Settings { wanted, cells, seed: 1, python: host::interpreter(), jobs: 2 };
        audit::audit(&settings, set, rules).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_matrix_says_what_exports_do() {
        let set = rules();
        let found = audited(&[], 24, &set, &Rules::of_files(set.clone()));
        assert!(found.faults.is_empty(), "{}", found.text());
        assert!(found.calls() > 50 && found.tallies.len() == 4, "{}", found.text());
    }

    #[test]
    fn an_export_that_the_matrix_does_not_know_is_found() {
        let set = rules();
        let (_folder, other) = refusing_relu6();
        let found = audited(&["aten::relu6"], 4, &set, &Rules::of_files(other));
        assert!(found.faults.iter().any(|fault| fault.contains("it is refused: it is planted")), "{}", found.text());
    }

    #[test]
    fn a_refusal_that_the_matrix_does_not_know_is_found() {
        let set = rules();
        let (_folder, other) = refusing_relu6();
        let row = rows(&settings(&["aten::relu6"], 150, 0), &set, &other).remove("aten::relu6").unwrap();
        let refusals = row.faults.iter().filter(|found| found.fault.kind == FaultKind::Refusal);
        let found = refusals.map(|found| (found.example.as_str(), found.fault.what.as_str())).next();
        let (example, what) = found.unwrap_or_else(|| panic!("{row:?}"));
        assert!(what.contains("the matrix knows of no refusal, but: it is planted"), "{what}");
        assert!(example.len() <= "example aten::relu6(f32[1, 1])".len(), "{example}");
        // Those of the rules as they are, it knows.
        let row = rows(&settings(&["aten::gru.input"], 150, 0), &set, &set).remove("aten::gru.input").unwrap();
        assert!(row.refused.values().sum::<usize>() > 0 && row.faults.is_empty(), "{row:?}");
    }

    #[test]
    fn a_wrong_shape_is_found_and_shrunk() {
        let found = faults(
            "aten::t",
            "map aten::t(Tensor self) -> Tensor = transpose_of(self)",
            "map aten::t(Tensor self) -> Tensor = self",
        );
        let shapes = found.iter().find(|(kind, _)| *kind == FaultKind::Type);
        let (_, example) = shapes.unwrap_or_else(|| panic!("{found:?}"));
        // The smallest matrix that is not its own transpose in shape.
        assert!(
            [
                "example aten::t(f32[2, 1])",
                "example aten::t(f32[1, 2])",
                "example aten::t(f32[0, 1])",
                "example aten::t(f32[1, 0])"
            ]
            .contains(&example.as_str()),
            "{example}"
        );
    }

    #[test]
    fn a_wrong_value_is_found_and_shrunk() {
        let rule = "map aten::flip(Tensor self, int[] dims) -> Tensor = flipped(self, axes_of(self, dims))";
        let found = faults("aten::flip", rule, &rule.replace("dims))", "dims)[.. 0])"));
        let values = found.iter().find(|(kind, _)| *kind == FaultKind::Value);
        let (_, example) = values.unwrap_or_else(|| panic!("{found:?}"));
        assert!(example.starts_with("example aten::flip(") && example.len() < 45, "{example}");
    }

    #[test]
    fn planted_results_are_accepted_by_no_entry_of_the_table_of_differences() {
        let program = common::root().join("tests/judge/planted.py");
        let done = std::process::Command::new(host::interpreter()).arg(program).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(String::from_utf8_lossy(&done.stdout).lines().count(), 5);
    }

    #[test]
    fn differences_of_the_table_are_accepted_and_no_others() {
        let set = rules();
        let row = rows(&settings(&["aten::kthvalue"], 150, 30), &set, &set).remove("aten::kthvalue").unwrap();
        assert!(row.faults.is_empty() && row.accepted["equal-elements"] > 0, "{row:?}");
        let found = faults(
            "aten::kthvalue",
            "ordered(self, k, dim, False);\n    if rank",
            "ordered(self, k, dim, True);\n    if rank",
        );
        assert!(found.iter().any(|(kind, _)| *kind == FaultKind::Value), "{found:?}");
    }

    #[test]
    fn the_same_seed_makes_the_same_calls_and_a_slice_of_the_rules_has_no_fault() {
        let slice = [
            "aten::cat",
            "aten::clamp",
            "aten::constant_pad_nd",
            "aten::flip",
            "aten::permute",
            "aten::relu",
            "aten::slice.Tensor",
            "aten::sum.dim_IntList",
            "aten::t",
            "aten::transpose.int",
            "aten::where.self",
        ];
        let set = rules();
        let first = rows(&settings(&slice, 100, 10), &set, &set);
        for (name, row) in &first {
            assert!(row.faults.is_empty(), "{name}\n{}", row.lines().join("\n"));
            assert!(
                row.typed + row.refused.values().sum::<usize>() >= 100 && row.sampled.values().all(|calls| *calls > 0),
                "{name}: {row:?}"
            );
        }
        assert!(
            ["aten::flip", "aten::permute", "aten::t"].iter().all(|name| first[*name].moves && first[*name].exact > 0)
        );
        let second = rows(&settings(&slice[..3], 100, 10), &set, &set);
        for (name, row) in second {
            assert_eq!(serde_json::to_string(&row).unwrap(), serde_json::to_string(&first[&name]).unwrap());
        }
    }
}
