//! The folder `mappings/` holds data only: no scripts, and no Rust but the crate that says where the folder is.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Rules, facts, and snapshots of schemas. `Cargo.toml` is one of these.
const DATA: [&str; 4] = ["opmap", "proto", "toml", "txt"];

/// The only Rust file.
const LIBRARY: &str = "lib.rs";

#[test]
fn the_folder_mappings_holds_data_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings");
    let files = files(&root);
    assert!(files.len() > 100, "only {} files in {}", files.len(), root.display());
    let others: Vec<String> = files.iter().filter(|path| !is_allowed(path)).map(|p| p.display().to_string()).collect();
    assert!(others.is_empty(), "no data; scripts belong in tools/:\n{}", others.join("\n"));
}

/// `path` is relative to the folder.
fn is_allowed(path: &Path) -> bool {
    path == Path::new(LIBRARY) || path.extension().is_some_and(|extension| DATA.iter().any(|known| extension == *known))
}

/// The paths of all files under a folder, relative to it.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    files
}
