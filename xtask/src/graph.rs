//! `layers`: the module graph of the workspace's crates, as a diagram in docs/architecture.md.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use xtask::layers::{Crate, Floor, mermaid};

/// The page that has the diagram.
pub const TARGET: &str = "docs/architecture.md";

const BEGIN: &str = "<!-- layers -->\n";
const END: &str = "<!-- /layers -->";

/// The page with the diagram as it is now.
pub fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let page = fs::read_to_string(root.join(TARGET))?;
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        parts.ok_or(format!("{TARGET} has no place for the diagram: `{}` and `{END}`", BEGIN.trim()))?;
    Ok(format!("{before}{BEGIN}\n```mermaid\n{}```\n\n{END}{after}", diagram(root)?))
}

/// The diagram of all members of the workspace that have floors.
fn diagram(root: &Path) -> Result<String, Box<dyn Error>> {
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
