//! The modules of a crate, found by their `mod` declarations: folders of other crates are never entered.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, ItemMod};

use super::imports::{self, Found};
use super::{Crate, Import, Module};

/// A module that was read, with what its paths say.
struct Parsed {
    module: Module,
    found: Vec<Found>,
}

impl Crate {
    /// Reads the crate whose `lib.rs` (and `main.rs`, if there is one) is in `folder`.
    ///
    /// # Errors
    /// A file that cannot be read or is not Rust.
    pub fn read(name: &str, folder: &Path) -> Result<Crate, String> {
        let mut parsed = Vec::new();
        for root in ["lib", "main"] {
            let file = folder.join(root).with_extension("rs");
            if root == "lib" || file.is_file() {
                let text = read(&file)?;
                let items = parse(&file, &text)?.items;
                walk(Module { path: root.to_owned(), file }, folder, &items, &mut parsed)?;
            }
        }
        let modules: Vec<Module> = parsed.iter().map(|p| p.module.clone()).collect();
        let mut krate = Crate { name: name.to_owned(), modules, imports: Vec::new(), crates: Vec::new() };
        for Parsed { module, found } in parsed {
            for path in found {
                krate.add(&module, &path);
            }
        }
        krate.crates.sort();
        krate.crates.dedup();
        Ok(krate)
    }

    /// Adds what a path leads to.
    fn add(&mut self, module: &Module, found: &Found) {
        let Some(target) = self.target(&module.path, &found.segments) else {
            self.crates.extend(found.segments.first().cloned());
            return;
        };
        let import = Import { file: module.file.clone(), line: found.line, from: module.path.clone(), to: target };
        if import.from != import.to && !self.imports.contains(&import) {
            self.imports.push(import);
        }
    }

    /// The module that a path in another one leads to. None for paths to other crates.
    fn target(&self, from: &str, segments: &[String]) -> Option<String> {
        let root = if from == "main" || from.starts_with("main::") { "main" } else { "lib" };
        let (first, mut rest) = segments.split_first()?;
        let mut base = match first.as_str() {
            "crate" => root.to_owned(),
            "self" => from.to_owned(),
            "super" => parent(from, root),
            name if name == self.name => "lib".to_owned(),
            name if self.has(&child(from, name)) => child(from, name),
            _ => return None,
        };
        while let Some((_, more)) = rest.split_first().filter(|(name, _)| *name == "super") {
            (base, rest) = (parent(&base, root), more);
        }
        for name in rest {
            let inner = child(&base, name);
            if !self.has(&inner) {
                break;
            }
            base = inner;
        }
        Some(base)
    }

    fn has(&self, path: &str) -> bool {
        self.modules.iter().any(|module| module.path == path)
    }
}

/// `check::nodes` in `check`; modules of the library are named without `lib`.
fn child(module: &str, name: &str) -> String {
    if module == "lib" { name.to_owned() } else { format!("{module}::{name}") }
}

fn parent(module: &str, root: &str) -> String {
    module.rsplit_once("::").map_or(root, |(parent, _)| parent).to_owned()
}

/// A module and those that it declares. `folder` is where the files of its own modules are.
fn walk(module: Module, folder: &Path, items: &[Item], parsed: &mut Vec<Parsed>) -> Result<(), String> {
    let found = imports::paths_of(items);
    parsed.push(Parsed { module: module.clone(), found });
    for item in items {
        let Item::Mod(declared) = item else { continue };
        if is_test(&declared.attrs) {
            continue;
        }
        let name = declared.ident.to_string();
        let path = child(&module.path, &name);
        let inner = folder.join(&name);
        match &declared.content {
            Some((_, items)) => walk(Module { path, file: module.file.clone() }, &inner, items, parsed)?,
            None => {
                let file = file_of(declared, folder, &module.file);
                let text = read(&file)?;
                let items = parse(&file, &text)?.items;
                let inner = if file.ends_with("mod.rs") { file.parent().unwrap_or(&inner) } else { &inner };
                walk(Module { path, file: file.clone() }, inner, &items, parsed)?;
            }
        }
    }
    Ok(())
}

/// The file of `mod name;`: `name.rs`, `name/mod.rs`, or that of its `#[path]`.
fn file_of(declared: &ItemMod, folder: &Path, within: &Path) -> PathBuf {
    let given = declared.attrs.iter().filter(|a| a.path().is_ident("path")).find_map(|a| {
        let syn::Meta::NameValue(pair) = &a.meta else { return None };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &pair.value else { return None };
        Some(within.parent()?.join(path.value()))
    });
    let name = declared.ident.to_string();
    let file = given.unwrap_or_else(|| folder.join(&name).with_extension("rs"));
    if file.is_file() { file } else { folder.join(name).join("mod.rs") }
}

/// Is it `#[cfg(test)]`?
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        a.path().is_ident("cfg") && a.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

fn parse(file: &Path, text: &str) -> Result<syn::File, String> {
    syn::parse_file(text).map_err(|e| format!("{}:{}: {e}", file.display(), e.span().start().line))
}
