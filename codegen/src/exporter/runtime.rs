//! How a workspace refers to the crates that it runs on: by a path, a version, a git repository, or copies of their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::files_below;

/// The crates that a workspace names.
const NAMED: [&str; 2] = ["aten2onnx-rules", "aten2onnx-single"];

/// Where the crates are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// A checkout of aten2onnx.
    Path(PathBuf),
    /// A version in the crate registry: `=0.1.0`.
    Version(String),
    /// A git repository, and a revision.
    Git(String, String),
    /// Copies of the sources of a checkout, in the workspace.
    Copied(PathBuf),
}

impl Runtime {
    /// What an option says: `copy`, `PATH`, `=0.1.0`, `git+URL#REVISION`. Nothing means the checkout.
    ///
    /// # Errors
    /// The path is no checkout of aten2onnx.
    pub fn of(text: Option<&str>, checkout: &Path) -> Result<Runtime, String> {
        let is_version =
            |text: &str| text.trim_start_matches(['=', '^', '~']).starts_with(|c: char| c.is_ascii_digit());
        match text {
            None => Ok(Runtime::Path(checked(checkout)?)),
            Some("copy") => Ok(Runtime::Copied(checked(checkout)?)),
            Some(text) if text.starts_with("git+") => match text.trim_start_matches("git+").split_once('#') {
                Some((url, revision)) => Ok(Runtime::Git(url.to_owned(), revision.to_owned())),
                None => Err(format!("`--aten2onnx {text}`: add the revision: `git+URL#REVISION`")),
            },
            Some(text) if is_version(text) => Ok(Runtime::Version(text.to_owned())),
            Some(text) => Ok(Runtime::Path(checked(Path::new(text))?)),
        }
    }

    /// The lines of the dependencies.
    pub fn dependencies(&self) -> String {
        let line = |name: &str| {
            let folder = name.trim_start_matches("aten2onnx-");
            let place = match self {
                Runtime::Path(checkout) => {
                    format!("path = {:?}", checkout.join("src").join(folder).display().to_string())
                }
                Runtime::Copied(_) => format!("path = \"aten2onnx/src/{folder}\""),
                Runtime::Version(version) => format!("version = {version:?}"),
                Runtime::Git(url, revision) => format!("git = {url:?}, rev = {revision:?}"),
            };
            format!("{name} = {{ {place} }}")
        };
        NAMED.map(line).join("\n")
    }

    /// The sources to copy: path and bytes.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn copied(&self) -> Result<Vec<(String, Vec<u8>)>, String> {
        let Runtime::Copied(checkout) = self else { return Ok(Vec::new()) };
        let path = checkout.join("Cargo.toml");
        let root = read(&path)?;
        let folders = folders_of(&parsed(&path, &root)?);
        let mut open: Vec<String> = NAMED.map(str::to_owned).to_vec();
        let mut crates = BTreeSet::new();
        let mut files = Vec::new();
        while let Some(name) = open.pop() {
            let folder =
                folders.get(&name).ok_or_else(|| format!("{}: Cargo.toml does not name {name}", checkout.display()))?;
            if !crates.insert(folder.clone()) {
                continue;
            }
            let path = checkout.join(folder).join("Cargo.toml");
            open.extend(needed_by(&parsed(&path, &read(&path)?)?));
            // Without its tests and what was built.
            for (name, path) in files_below(&checkout.join(folder), &["tests", "target", "examples"])? {
                let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                files.push((format!("{folder}/{name}"), bytes));
            }
        }
        files.push(("Cargo.toml".to_owned(), workspace_of(&root, &crates).into_bytes()));
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
            let path = checkout.join(name);
            files.push((name.to_owned(), std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?));
        }
        files.sort();
        Ok(files)
    }
}

/// A checkout of aten2onnx, as an absolute path.
fn checked(path: &Path) -> Result<PathBuf, String> {
    let absolute = std::fs::canonicalize(path).map_err(|e| format!("{}: {e}", path.display()))?;
    if absolute.join("src/single/Cargo.toml").exists() {
        return Ok(absolute);
    }
    let text = format!("{} is not a checkout of aten2onnx, on whose crates an exporter runs", path.display());
    Err(text + ": name one, or a version, by `--aten2onnx`")
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// A manifest of Cargo.
fn parsed(path: &Path, text: &str) -> Result<toml::Table, String> {
    text.parse().map_err(|e| format!("{}: {e}", path.display()))
}

/// The folders of the crates that the root's manifest names.
fn folders_of(root: &toml::Table) -> BTreeMap<String, String> {
    let named = root.get("workspace").and_then(|workspace| workspace.get("dependencies")?.as_table());
    let entry = |(name, value): (&String, &toml::Value)| Some((name.clone(), value.get("path")?.as_str()?.to_owned()));
    named.into_iter().flatten().filter_map(entry).collect()
}

/// The crates of aten2onnx that a manifest depends on, on any platform, without those of its tests.
fn needed_by(manifest: &toml::Table) -> Vec<String> {
    let platforms = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let tables = platforms.filter_map(toml::Value::as_table).chain([manifest]);
    let sections = tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|name| table.get(name)));
    let names = sections.flatten().filter_map(toml::Value::as_table).flat_map(toml::Table::keys);
    names.filter(|name| name.starts_with("aten2onnx-")).cloned().collect()
}

/// The root's manifest with these crates alone, and without a package and profiles of its own.
fn workspace_of(root: &str, crates: &BTreeSet<String>) -> String {
    let members: String = crates.iter().map(|folder| format!("    {folder:?},\n")).collect();
    let shared = root.find("[workspace.package]").zip(root.find("\n[package]"));
    let shared = shared.and_then(|(start, end)| root.get(start..end)).unwrap_or_default();
    format!(
        "# The crates of aten2onnx that the exporter runs on.\n[workspace]\nmembers = [\n{members}]\nresolver = \"3\"\n\n{shared}"
    )
}
