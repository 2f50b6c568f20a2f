//! The floors of a crate: its modules import only modules of lower floors.
//!
//! The floors are a table in the documentation of `lib.rs`, the lowest first:
//!
//! ```text
//! //! | floor | modules |
//! //! |---|---|
//! //! | text | `source`, `diagnostic` |
//! //! | trees | `syntax::ast`, `tree` |
//! ```
//!
//! A module belongs to the longest entry that is its path or a parent of it. Modules that are listed separately on one floor
//! do not import each other either, so there are no circles between the entries. `lib.rs` is above all floors, and the
//! modules of `main.rs` are above `lib.rs`. Code under `#[cfg(test)]` is not read.

mod floors;
mod graph;
mod imports;
mod modules;

use std::fmt;
use std::path::{Path, PathBuf};

pub use floors::Floor;
pub use graph::mermaid;

/// A crate's modules and what they import.
#[derive(Debug)]
pub struct Crate {
    /// Its name in paths: `aten2onnx_opmap`.
    pub name: String,
    /// Its modules, `check::nodes`; that of `lib.rs` is `lib`, those below `main.rs` begin with `main`.
    pub modules: Vec<Module>,
    /// Uses of one module in another.
    pub imports: Vec<Import>,
    /// First segments of the paths that lead out of it: crates, and types with their associated items.
    pub crates: Vec<String>,
}

/// A module and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its path without the crate.
    pub path: String,
    /// Where it is.
    pub file: PathBuf,
}

/// A use of a module in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Where.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The module that imports.
    pub from: String,
    /// The module that it imports.
    pub to: String,
}

/// What breaks the order of the floors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// An import of a module on a higher floor, or of another module on the same one.
    Import {
        /// The import.
        import: Import,
        /// The floor of the module that imports.
        from: String,
        /// The floor of the imported module.
        to: String,
    },
    /// A module that is on no floor.
    NoFloor(Module),
    /// A floor lists a module that does not exist.
    NoModule {
        /// The floor.
        floor: String,
        /// What it lists.
        module: String,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Import { import, from, to } => {
                let (file, line) = (import.file.display(), import.line);
                let place = if from == to { "beside it" } else { "above it" };
                write!(f, "{file}:{line}: `{}` ({from}) imports `{}` ({to}), which is {place}", import.from, import.to)
            }
            Violation::NoFloor(module) => write!(f, "{}: `{}` is on no floor", module.file.display(), module.path),
            Violation::NoModule { floor, module } => {
                write!(f, "floor \"{floor}\" lists `{module}`, which does not exist")
            }
        }
    }
}

/// Reads a crate whose `lib.rs` is in `folder`, and its floors, and says what breaks their order.
///
/// # Errors
/// A file that cannot be read or is not Rust, or a `lib.rs` without a table of floors.
pub fn check(name: &str, folder: &Path) -> Result<Vec<Violation>, String> {
    let floors = Floor::read(&folder.join("lib.rs"))?;
    Ok(check_against(&Crate::read(name, folder)?, &floors))
}

/// What breaks the order of these floors, lowest first.
pub fn check_against(krate: &Crate, floors: &[Floor]) -> Vec<Violation> {
    let exists = |name: &String| krate.modules.iter().any(|module| module.path == *name);
    let listed = floors.iter().flat_map(|floor| floor.modules.iter().map(move |module| (floor, module)));
    let mut violations: Vec<Violation> = listed
        .filter(|(_, module)| !exists(module))
        .map(|(floor, module)| Violation::NoModule { floor: floor.name.clone(), module: module.clone() })
        .collect();
    let homeless = krate.modules.iter().filter(|module| floors::place(&module.path, floors).is_none());
    violations.extend(homeless.cloned().map(Violation::NoFloor));
    for import in &krate.imports {
        let places = (floors::place(&import.from, floors), floors::place(&import.to, floors));
        let (Some(from), Some(to)) = places else { continue };
        if from.entry != to.entry && from.height <= to.height {
            let (from, to) = (from.floor.to_owned(), to.floor.to_owned());
            violations.push(Violation::Import { import: import.clone(), from, to });
        }
    }
    violations
}
