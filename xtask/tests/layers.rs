//! The check of floors, on small crates.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use xtask::layers::{Crate, check, mermaid};

const FLOORS: &str = "\
//! A crate.
//!
//! | floor | modules | what they do |
//! |---|---|---|
//! | ground | `text`, `tree` | nothing |
//! | first | `parse`, `parse::names` | little |
//! | roof | `emit` | the rest |

pub mod emit;
pub mod parse;
pub mod text;
pub mod tree;
";

/// A crate of these files; those that are not given are empty.
fn krate(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let empty = ["emit.rs", "parse/names.rs", "text.rs", "tree.rs"].map(|name| (name, ""));
    let head = [("lib.rs", FLOORS), ("parse/mod.rs", "mod names;")];
    for (name, text) in empty.iter().chain(&head).chain(files) {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// What is wrong with such a crate, without the path of its folder.
fn violations(files: &[(&str, &str)]) -> Vec<String> {
    let folder = krate(files);
    let prefix = format!("{}/", folder.path().display());
    check("a_crate", folder.path()).unwrap().iter().map(|v| v.to_string().replace(&prefix, "")).collect()
}

#[test]
fn imports_downwards_are_fine() {
    let files = [
        ("emit.rs", "use crate::{parse::{self, names}, text}; use super::tree::Tree;"),
        ("parse/names.rs", "use crate::tree; fn f() { crate::text::g() }"),
        ("lib.rs", &format!("{FLOORS}pub use emit::x; fn f() {{ parse::g() }}")),
    ];
    assert_eq!(violations(&files), Vec::<String>::new());
}

#[test]
fn imports_upwards_and_sideways_are_not() {
    let above = "`text` (ground) imports `emit` (roof), which is above it";
    for import in [
        "\nuse crate::emit::X;",
        "\nuse super::emit::X;",
        "\nuse crate::{\n    tree::{}, emit::{X, Y}};",
        "\nfn f() -> crate::emit::X {}",
        "\nfn f() { vec![crate::emit::X] }",
        "\nfn f() { println!(\"{}\", 1 + crate::emit::x()) }",
        "\n#[derive(A)] struct S { #[arg(parser = crate::emit::x)] a: u8 }",
        "\nmod inside { use super::super::emit; }",
    ] {
        let found = violations(&[("text.rs", import)]);
        let line = if import.contains("{\n ") { 3 } else { 2 };
        let inside = if import.contains("inside") { "::inside" } else { "" };
        assert_eq!(
            found,
            [format!("text.rs:{line}: {}", above.replace("text`", &format!("text{inside}`")))],
            "{import}"
        );
    }
    let found = violations(&[("text.rs", "use crate::tree;"), ("parse/names.rs", "use super::x;")]);
    assert_eq!(
        found,
        [
            "parse/names.rs:1: `parse::names` (first) imports `parse` (first), which is beside it",
            "text.rs:1: `text` (ground) imports `tree` (ground), which is beside it"
        ]
    );
}

#[test]
fn nothing_imports_the_root() {
    assert_eq!(
        violations(&[("emit.rs", "use crate::Thing;")]),
        ["emit.rs:1: `emit` (roof) imports `lib` (lib.rs), which is above it"]
    );
}

#[test]
fn the_program_is_above_the_library() {
    let files = [("main.rs", "mod cli; use a_crate::x;"), ("cli.rs", "use a_crate::emit; use a_crate::Thing;")];
    assert_eq!(violations(&files), Vec::<String>::new());
}

#[test]
fn tests_and_quoted_code_do_not_count() {
    let text = "
        #[cfg(test)] mod tests { use crate::emit; }
        #[cfg(test)] use crate::emit;
        // use crate::emit;
        /// [`crate::emit`]
        fn f() { quote! { crate::emit::x() }; \"crate::emit\"; }
    ";
    assert_eq!(violations(&[("text.rs", text)]), Vec::<String>::new());
}

#[test]
fn crates_in_folders_are_not_entered() {
    let inner = ("core/lib.rs", "use crate::emit;");
    assert_eq!(violations(&[inner, ("core/Cargo.toml", "")]), Vec::<String>::new());
}

#[test]
fn every_module_has_a_floor_and_every_entry_a_module() {
    let lib = FLOORS.replace("`text`, ", "`words`, ");
    assert_eq!(
        violations(&[("lib.rs", &lib)]),
        ["floor \"ground\" lists `words`, which does not exist", "text.rs: `text` is on no floor"]
    );
}

#[test]
fn a_crate_without_floors_is_an_error() {
    let folder = krate(&[("lib.rs", "pub mod text;")]);
    assert!(check("a_crate", folder.path()).unwrap_err().contains("no table of floors"));
    assert!(check("a_crate", Path::new("/nowhere")).is_err());
}

#[test]
fn a_diagram_has_no_arrow_that_follows_from_others() {
    let folder = krate(&[
        ("emit.rs", "use crate::{parse, tree, text};"),
        ("parse/mod.rs", "mod names; use crate::tree;"),
        ("tree.rs", "use other::Thing;"),
    ]);
    let other = krate(&[]);
    let crates = [Crate::read("a_crate", folder.path()).unwrap(), Crate::read("other", other.path()).unwrap()];
    let text = mermaid(&crates);
    let arrows: Vec<&str> = text.lines().map(str::trim).filter(|line| line.contains("-->")).collect();
    let wanted = [
        "a_crate_emit --> a_crate_parse",
        "a_crate_emit --> a_crate_text",
        "a_crate_parse --> a_crate_tree",
        "a_crate --> other",
    ];
    assert_eq!(arrows, wanted);
}
