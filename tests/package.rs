//! What the package of each crate holds: every file that its code includes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common;

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
    // Tests and documentation may include what is not packaged.
    let text = text.split("#[cfg(test)]").next().unwrap();
    let calls = ["include_str!(\"", "include_bytes!(\""];
    let named = calls.iter().flat_map(|call| text.split(call).skip(1)).filter_map(|rest| rest.split('"').next());
    named.map(|name| source.parent().unwrap().join(name).canonicalize().unwrap()).collect()
}

/// The folders of the packages that are published.
fn packages() -> Vec<(String, PathBuf)> {
    let listed =
        common::cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let published = metadata["packages"].as_array().unwrap().iter().filter(|package| package["publish"].is_null());
    let folder = |manifest: &str| Path::new(manifest).parent().unwrap().to_owned();
    published
        .map(|package| {
            (package["name"].as_str().unwrap().to_owned(), folder(package["manifest_path"].as_str().unwrap()))
        })
        .collect()
}

/// The files of the package of a crate.
fn packaged(name: &str, folder: &Path) -> BTreeSet<PathBuf> {
    let listed =
        common::cargo().args(["package", "--list", "--allow-dirty", "--offline", "--package", name]).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8_lossy(&listed.stdout).lines().map(|line| folder.join(line)).collect()
}

#[test]
fn packages_hold_what_their_code_includes() {
    let packages = packages();
    assert!(packages.len() > 20, "only {} packages", packages.len());
    let mut missing = Vec::new();
    let mut checked = 0;
    for (name, folder) in packages {
        let mut sources = Vec::new();
        if folder.join("src").exists() {
            files(&folder.join("src"), "rs", &mut sources);
        }
        let wanted: Vec<PathBuf> = sources.iter().flat_map(|source| included(source)).collect();
        if !wanted.is_empty() {
            let held = packaged(&name, &folder);
            checked += wanted.len();
            missing.extend(wanted.into_iter().filter(|file| !held.contains(file)));
        }
    }
    assert!(checked > 10 && missing.is_empty(), "not in a package ({checked} looked at): {missing:#?}");
}
