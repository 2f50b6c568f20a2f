//! What `mappings/operators.toml` says of ONNX's operators holds in ONNX's reference evaluator, and the names of operators are data:
//! few stand in Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::operators::{Operator, Values};
use serde_json::{Value, json};

use crate::common;

/// The most names of operators that stand in Rust, outside passes, tests and generated code. Each builds or matches this operator for a
/// reason. What an operator does to shapes and elements belongs into `mappings/operators.toml`.
const MOST_NAMES: usize = 223;

/// Files whose names are not those of ONNX's operators: SymPy's functions, Python's classes, enums of PyTorch, conditions of runtimes.
const OTHER_LANGUAGES: [&str; 10] = [
    "codegen/build/src/emit/exprs/operators.rs",
    "codegen/opmap/src/check/declare.rs",
    "codegen/schemas/src/aten_parse.rs",
    "src/archive/src/pickle.rs",
    "src/core/src/sym/display.rs",
    "src/frontend-pt2/src/guards.rs",
    "src/frontend-pt2/src/symexpr.rs",
    "src/frontend-pt2/src/symfunctions.rs",
    "src/frontend-torchscript/src/types.rs",
    "src/onnx/src/targets/data.rs",
];

fn schemas() -> Schemas {
    Schemas::load(&common::root().join("mappings")).unwrap()
}

#[test]
fn few_names_of_operators_stand_in_rust() {
    let schemas = schemas();
    let operators: BTreeSet<&str> = schemas.onnx.ops.keys().map(String::as_str).collect();
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let files = sources();
    assert!(files.len() > 500, "only {} files", files.len());
    for path in files {
        let text = fs::read_to_string(common::root().join(&path)).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let found = lines.flat_map(literals).filter(|literal| operators.contains(literal)).count();
        if found > 0 {
            counts.insert(path, found);
        }
    }
    let all: usize = counts.values().sum();
    let list: Vec<String> = counts.iter().map(|(path, count)| format!("{count:4} {}", path.display())).collect();
    assert!(
        all <= MOST_NAMES,
        "{all} names of operators stand in Rust, more than {MOST_NAMES}: say in mappings/operators.toml what they do\n{}",
        list.join("\n")
    );
    assert!(all + 10 > MOST_NAMES, "only {all} names of operators are left in Rust: lower MOST_NAMES");
    for path in OTHER_LANGUAGES {
        assert!(common::root().join(path).exists(), "there is no {path}");
    }
}

/// The texts between quotes in a line.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// Rust files that are neither passes nor tests.
fn sources() -> Vec<PathBuf> {
    let root = common::root();
    let mut open = ["codegen", "src"].map(|name| root.join(name)).to_vec();
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                open.extend(Some(path).filter(|_| !matches!(name.as_str(), "passes" | "tests" | "target")));
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let relative = path.strip_prefix(root).unwrap();
                files.extend(Some(relative.to_owned()).filter(|path| !is_other(path)));
            }
        }
    }
    files
}

fn is_other(path: &Path) -> bool {
    OTHER_LANGUAGES.iter().any(|other| path == Path::new(other))
}

#[test]
fn every_operator_has_an_entry() {
    let schemas = schemas();
    assert_eq!(schemas.operators.missing(&schemas.onnx).collect::<Vec<_>>(), Vec::<&str>::new());
}

fn as_json(name: &str, operator: &Operator) -> Value {
    let facts = operator.facts;
    let values = operator.values.iter().map(|(name, values)| {
        let values = match values {
            Values::Words(words) => json!(words),
            Values::Integers(limits) => json!({ "first": limits.first, "last": limits.last }),
        };
        (name.clone(), values)
    });
    json!({
        "op": name,
        "shape": facts.shape.word(),
        "elementwise": facts.elementwise,
        "computes": facts.computes.map(|function| function.word()),
        "combines": facts.combines.map(|function| function.word()),
        "moves": facts.moves.iter().collect::<Vec<_>>(),
        "linear": facts.linear.word(),
        "values": values.collect::<serde_json::Map<String, Value>>(),
    })
}

mod python {
    use super::{as_json, schemas};
    use crate::host;

    #[test]
    fn facts_hold_in_the_reference_evaluator() {
        let schemas = schemas();
        let names = schemas.onnx.ops.keys().filter(|name| !name.contains("::"));
        let entries: Vec<_> = names.filter_map(|name| Some(as_json(name, schemas.operators.get(name)?))).collect();
        assert!(entries.len() > 190, "only {} operators", entries.len());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("facts.json");
        std::fs::write(&file, serde_json::to_string(&entries).unwrap()).unwrap();
        host::judge("operators/facts.py", &file.to_string_lossy(), &[]);
    }
}
