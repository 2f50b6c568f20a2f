//! Imports between floors go one way, in each crate: the tables of floors are in the documentation of each `lib.rs`. Cargo itself
//! holds the floors of the crates.

use crate::common;

#[test]
fn modules_import_lower_floors_only() {
    let source = common::root().join("src");
    let mut crates = vec![("aten2onnx".to_owned(), source.clone())];
    for entry in std::fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let has_floors = |lib: String| lib.contains("//! | floor |");
        if std::fs::read_to_string(path.join("src/lib.rs")).is_ok_and(has_floors) {
            let name = path.file_name().unwrap().to_string_lossy().replace('-', "_");
            crates.push((format!("aten2onnx_{name}"), path.join("src")));
        }
    }
    assert!(crates.len() > 5, "only {crates:?} have floors");
    let mut lines = Vec::new();
    for (name, folder) in crates {
        match xtask::layers::check(&name, &folder) {
            Ok(violations) => lines.extend(violations.iter().map(ToString::to_string)),
            Err(error) => lines.push(error),
        }
    }
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
