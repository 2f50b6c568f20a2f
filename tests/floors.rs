//! Imports between floors go one way, in each crate: the tables of floors are in the documentation of each `lib.rs`. Cargo itself
//! holds the floors of the crates.

use std::path::PathBuf;

use crate::common;

/// The folders of crates whose `lib.rs` has a table of floors, with the crates' names.
fn crates_with_floors() -> Vec<(String, PathBuf)> {
    let root = common::root();
    let mut crates = vec![("aten2onnx".to_owned(), root.join("src"))];
    let folders = ["src", "codegen"].iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let folders = folders.map(|entry| entry.unwrap().path()).chain([root.join("codegen"), root.join("explorer")]);
    for folder in folders {
        let has_floors = |lib: String| lib.contains("//! | floor |");
        if std::fs::read_to_string(folder.join("src/lib.rs")).is_ok_and(has_floors) {
            let name = folder.file_name().unwrap().to_string_lossy().replace('-', "_");
            crates.push((format!("aten2onnx_{name}"), folder.join("src")));
        }
    }
    crates
}

#[test]
fn modules_import_lower_floors_only() {
    let crates = crates_with_floors();
    assert!(crates.len() >= 13, "only {crates:?} have floors");
    let mut lines = Vec::new();
    for (name, folder) in crates {
        match xtask::layers::check(&name, &folder) {
            Ok(violations) => lines.extend(violations.iter().map(ToString::to_string)),
            Err(error) => lines.push(error),
        }
    }
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
