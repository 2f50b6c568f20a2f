//! A workspace with an exporter for one opset: its files, and what changes when it is made again.

mod digest;
mod manifest;
mod runtime;
mod update;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aten2onnx_build::single_opset::Cut;

pub use digest::{folder_digest, sha256};
pub use manifest::Manifest;
pub use runtime::Runtime;
pub use update::{Report, write};

/// What a workspace is made from.
#[derive(Debug)]
pub struct Request<'a> {
    /// The vendor's name for it: `acme-onnx`.
    pub name: &'a str,
    /// The opset.
    pub opset: u32,
    /// The runtime that its models are for: `tensorrt-8.6`.
    pub target: Option<&'a str>,
    /// Its rules.
    pub cut: &'a Cut,
    /// How the wanted operators were named, for the manifest: `all`, `--ops acme.txt`.
    pub chosen: String,
    /// The digest of the mapping files.
    pub mappings: String,
    /// The vendor's own mapping files: path and text.
    pub own: Vec<(String, String)>,
    /// What it runs on.
    pub runtime: &'a Runtime,
    /// The Cargo.lock to begin with.
    pub lock: Option<String>,
}

/// Who a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The generator: it is written anew each time.
    Generator,
    /// The vendor: it is written once, and kept if it was changed.
    Vendor,
}

/// The files of a workspace, by path.
pub type Files = BTreeMap<String, (Owner, Vec<u8>)>;

/// The files that a vendor begins with: path and template.
const BEGINNING: [(&str, &str); 12] = [
    (".cargo/config.toml", include_str!("templates/config.toml.txt")),
    ("Cargo.toml", include_str!("templates/workspace.toml.txt")),
    ("README.md", include_str!("templates/README.md.txt")),
    ("src/lib.rs", include_str!("templates/library.rs.txt")),
    ("src/main.rs", include_str!("templates/main.rs.txt")),
    ("tests/examples.rs", include_str!("templates/examples.rs.txt")),
    ("c/Cargo.toml", include_str!("templates/c.toml.txt")),
    ("c/src/lib.rs", include_str!("templates/c.rs.txt")),
    ("c/include/@SNAKE@.h", include_str!("templates/header.h.txt")),
    ("c/examples/export.c", include_str!("templates/export.c.txt")),
    ("python/Cargo.toml", include_str!("templates/python.toml.txt")),
    ("python/pyproject.toml", include_str!("templates/pyproject.toml.txt")),
];

/// The name of the manifest in the folder.
pub const MANIFEST: &str = "exporter.toml";

/// The files of a workspace, without the manifest.
///
/// # Errors
/// Sources that cannot be copied.
pub fn files(request: &Request<'_>) -> Result<Files, String> {
    let mut files = Files::new();
    let mut add = |path: String, owner: Owner, text: Vec<u8>| {
        files.insert(path, (owner, text));
    };
    for (path, template) in BEGINNING {
        add(filled(path, request), Owner::Vendor, filled(template, request).into_bytes());
    }
    let module = filled(include_str!("templates/python.rs.txt"), request);
    add("python/src/lib.rs".to_owned(), Owner::Vendor, module.into_bytes());
    if let Some(lock) = &request.lock {
        add("Cargo.lock".to_owned(), Owner::Vendor, lock.clone().into_bytes());
    }
    let rules = filled(include_str!("templates/rules.toml.txt"), request);
    add("rules/Cargo.toml".to_owned(), Owner::Generator, rules.into_bytes());
    for (name, text) in &request.cut.files {
        add(format!("rules/src/{name}"), Owner::Generator, text.clone().into_bytes());
    }
    for (name, text) in &request.cut.facts {
        add(format!("rules/facts/{name}"), Owner::Generator, text.clone().into_bytes());
    }
    let operators: String = request.cut.overloads.iter().map(|name| format!("{name}\n")).collect();
    add("operators.txt".to_owned(), Owner::Generator, operators.into_bytes());
    for (path, text) in &request.own {
        add(format!("mappings/{path}"), Owner::Generator, text.clone().into_bytes());
    }
    for (path, bytes) in request.runtime.copied()? {
        add(format!("aten2onnx/{path}"), Owner::Generator, bytes);
    }
    Ok(files)
}

/// A template with its words filled in.
fn filled(template: &str, request: &Request<'_>) -> String {
    let snake = request.name.replace('-', "_");
    let count = request.cut.overloads.len();
    let supported = match request.cut.left_out {
        0 => format!("all {count} operators of aten2onnx"),
        _ => format!("{count} operators"),
    };
    let target = request.target.map_or("None".to_owned(), |target| format!("Some({target:?})"));
    let words = [
        ("@NAME@", request.name.to_owned()),
        ("@SNAKE@", snake.clone()),
        ("@UPPER@", snake.to_uppercase()),
        ("@OPSET@", request.opset.to_string()),
        ("@TARGET@", target),
        ("@SUPPORTED@", supported),
        ("@RUNTIME@", request.runtime.dependencies()),
    ];
    words.iter().fold(template.to_owned(), |text, (word, value)| text.replace(word, value))
}

/// An error for a name that Cargo, C or Python would refuse.
///
/// # Errors
/// What is wrong with it.
pub fn check_name(name: &str) -> Result<(), String> {
    let begins = name.chars().next().is_some_and(|first| first.is_ascii_lowercase());
    let consists = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !begins || !consists || name.ends_with('-') {
        return Err(format!(
            "`--name {name}`: write a name of lower-case letters, digits and `-`, such as `acme-onnx`"
        ));
    }
    if name.starts_with("aten2onnx") || ["std", "core", "alloc", "test", "self", "super", "crate"].contains(&name) {
        return Err(format!("`--name {name}`: this name is taken, choose another"));
    }
    Ok(())
}

/// The mapping files of a folder: path in it, and text.
///
/// # Errors
/// What cannot be read.
pub fn own_files(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for (name, path) in files_below(folder, &[])? {
        if path.extension().is_some_and(|e| e == "opmap") {
            found.push((name, std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?));
        }
    }
    if found.is_empty() {
        return Err(format!("{}: there is no mapping file in this folder; they end in `.opmap`", folder.display()));
    }
    Ok(found)
}

/// The files below a folder, sorted: path in it, with `/`, and path. Files and folders with these names are left out.
///
/// # Errors
/// What cannot be read.
fn files_below(folder: &Path, without: &[&str]) -> Result<Vec<(String, PathBuf)>, String> {
    let mut open = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(next) = open.pop() {
        let failed = |e: std::io::Error| format!("{}: {e}", next.display());
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.file_name().is_some_and(|name| without.iter().any(|one| name == *one)) {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                found.push((name, path));
            }
        }
    }
    found.sort();
    Ok(found)
}
