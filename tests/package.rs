//! What the package of the crate holds: every file that the code includes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

mod common;

/// The files below a folder with an extension. Folders with packages of their own are left out.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.join("Cargo.toml").exists() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
}

/// The paths that `include_str!` and `include_bytes!` name in a source file.
fn included(source: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(source).unwrap();
    let calls = ["include_str!(\"", "include_bytes!(\""];
    let named = calls.iter().flat_map(|call| text.split(call).skip(1)).filter_map(|rest| rest.split('"').next());
    named.map(|name| source.parent().unwrap().join(name)).collect()
}

#[test]
fn the_package_holds_what_the_code_includes() {
    let root = common::root();
    let listed = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--package", "aten2onnx"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let packaged: BTreeSet<PathBuf> =
        String::from_utf8_lossy(&listed.stdout).lines().map(|line| root.join(line)).collect();
    let mut sources = Vec::new();
    files(&root.join("src"), "rs", &mut sources);
    let missing: Vec<PathBuf> =
        sources.iter().flat_map(|source| included(source)).filter(|file| !packaged.contains(file)).collect();
    assert!(sources.len() > 50 && missing.is_empty(), "not in `include` of Cargo.toml: {missing:#?}");
}
