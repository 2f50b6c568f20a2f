//! `layers`: the crates of the workspace and the modules of each, as diagrams in docs/architecture.md.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use xtask::layers::{Crate, Floor, mermaid};

/// The page that has the diagram.
pub const TARGET: &str = "docs/architecture.md";

/// The page with the diagrams as they are now.
pub fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let page = fs::read_to_string(root.join(TARGET))?;
    let page = with_diagram(&page, "crates", &crates(root)?)?;
    with_diagram(&page, "layers", &modules(root)?)
}

/// The page with a diagram between the marks with its name.
fn with_diagram(page: &str, name: &str, diagram: &str) -> Result<String, Box<dyn Error>> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) =
        parts.ok_or(format!("{TARGET} has no place for the diagram: `{}` and `{end}`", begin.trim()))?;
    Ok(format!("{before}{begin}\n```mermaid\n{diagram}```\n\n{end}{after}"))
}

/// The diagram of all members of the workspace: an arrow leads from a crate to one that it needs, unless another arrow implies it.
fn crates(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for member in strings(&manifest(root)?, &["workspace", "members"]) {
        let manifest = manifest(&root.join(&member))?;
        let Some(name) = manifest.get("package").and_then(|package| package.get("name")?.as_str()) else { continue };
        let tables =
            ["dependencies", "build-dependencies"].map(|table| manifest.get(table).and_then(toml::Value::as_table));
        let named =
            tables.into_iter().flatten().flat_map(toml::Table::keys).filter(|name| name.starts_with("aten2onnx"));
        needs.insert(name.to_owned(), named.cloned().collect());
    }
    let mut text = String::from("flowchart TD\n");
    for (name, direct) in &needs {
        let implied: BTreeSet<&String> = direct.iter().flat_map(|other| reached(other, &needs)).collect();
        for other in direct.iter().filter(|other| !implied.contains(other)) {
            text += &format!("    {name} --> {other}\n");
        }
    }
    Ok(text)
}

/// The crates that a crate needs, directly or indirectly.
fn reached<'a>(name: &str, needs: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = needs.get(name).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(needs.get(next).into_iter().flatten());
        }
    }
    found
}

/// The diagram of the modules of all members of the workspace that have floors.
fn modules(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut crates = Vec::new();
    for member in strings(&manifest(root)?, &["workspace", "members"]) {
        let folder = root.join(&member);
        let manifest = manifest(&folder)?;
        let Some(name) = manifest.get("package").and_then(|package| package.get("name")?.as_str()) else { continue };
        let lib: PathBuf = match manifest.get("lib").and_then(|lib| lib.get("path")?.as_str()) {
            Some(path) => folder.join(path),
            None => folder.join("src/lib.rs"),
        };
        if Floor::read(&lib).is_ok() {
            crates.push(Crate::read(&name.replace('-', "_"), lib.parent().unwrap_or(&folder))?);
        }
    }
    Ok(mermaid(&crates))
}

fn manifest(folder: &Path) -> Result<toml::Table, Box<dyn Error>> {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(text.parse()?)
}

/// The strings of a list in a table.
fn strings(table: &toml::Table, keys: &[&str]) -> Vec<String> {
    let Some((first, rest)) = keys.split_first() else { return Vec::new() };
    let found = rest.iter().try_fold(table.get(*first), |value, key| Some(value?.get(key)));
    let items = found.flatten().and_then(toml::Value::as_array);
    items.into_iter().flatten().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}
