//! The table of floors in the documentation of a `lib.rs`.

use std::fs;
use std::path::Path;

/// The head of the table.
const HEAD: &str = "| floor | modules |";

/// One floor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor {
    /// What it is called.
    pub name: String,
    /// The modules on it: `syntax::ast`, without the crate.
    pub modules: Vec<String>,
}

impl Floor {
    /// The floors that the documentation of a file lists, lowest first.
    ///
    /// # Errors
    /// A file that cannot be read or has no such table.
    pub fn read(file: &Path) -> Result<Vec<Floor>, String> {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let docs = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let rows = docs.skip_while(|line| !line.starts_with(HEAD)).skip(2);
        let floors: Vec<Floor> = rows.map_while(floor).collect();
        match floors.is_empty() {
            true => Err(format!("{}: no table of floors, which begins with `{HEAD}`", file.display())),
            false => Ok(floors),
        }
    }
}

/// `| text | `source`, `diagnostic` |`, with or without more columns.
fn floor(row: &str) -> Option<Floor> {
    let mut cells = row.strip_prefix('|')?.split('|').map(str::trim);
    let name = cells.next()?.to_owned();
    let modules = cells.next()?.split(',').filter_map(|cell| cell.trim().strip_prefix('`')?.strip_suffix('`'));
    Some(Floor { name, modules: modules.map(str::to_owned).collect() })
}

/// Where a module is: how high, on which floor, by which entry of it.
#[derive(Debug)]
pub(super) struct ModulePlace<'a> {
    pub height: usize,
    pub floor: &'a str,
    pub entry: &'a str,
}

/// Where a module is: by the longest entry that is its path or a parent of it. The roots of the crate are above all floors.
pub(super) fn place<'a>(module: &str, floors: &'a [Floor]) -> Option<ModulePlace<'a>> {
    match module.split("::").next() {
        Some("lib") => return Some(ModulePlace { height: floors.len(), floor: "lib.rs", entry: "lib" }),
        Some("main") => return Some(ModulePlace { height: floors.len() + 1, floor: "main.rs", entry: "main" }),
        _ => {}
    }
    let entries = floors.iter().enumerate().flat_map(|(height, floor)| {
        floor.modules.iter().map(move |entry| ModulePlace { height, floor: &floor.name, entry })
    });
    entries.filter(|place| is_in(module, place.entry)).max_by_key(|place| place.entry.len())
}

/// Is a module this one, or inside it?
pub(super) fn is_in(module: &str, parent: &str) -> bool {
    module.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
