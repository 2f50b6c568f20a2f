//! The rules in the documents parse and are formatted.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use aten2onnx_opmap::render::render;
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::syntax::ast::ItemKind;
use aten2onnx_opmap::syntax::{parse_file, print_file};

/// The blocks of a document that are marked as opmap, with or without the name of a file.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```opmap").skip(1).map(|rest| rest.split_once('\n').unwrap().1.split("```").next().unwrap()).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages at the root and in the folder `docs`.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let top = ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    docs.chain(top).filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
}

/// The texts of the mapping files of the project.
fn mappings() -> Vec<String> {
    let folders = ["aten", "fuse", "lib", "onnx", "python"].map(|name| root().join("mappings").join(name));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|e| e == "opmap"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// The items of a block that are no examples, as they are written.
fn items(block: &str) -> Vec<&str> {
    let mut sources = Sources::default();
    let id = sources.add("block", block);
    let file = parse_file(&sources, id, &mut Vec::new());
    let items = file.items.iter().filter(|item| !matches!(item.kind, ItemKind::Example(_)));
    items.map(|item| block[item.span.start as usize..item.span.end as usize].trim_end()).collect()
}

/// A page may show a rule of its own, but not another one under the name of a rule that exists.
#[test]
fn rules_in_documents_are_those_of_the_mappings() {
    let mappings = mappings();
    let mut count = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        for item in blocks(&text).into_iter().flat_map(items) {
            // A family is shown with a few of its rows.
            let head = format!("{}(", item.split('(').next().unwrap());
            let exists = mappings.iter().any(|file| file.lines().any(|line| line.starts_with(&head)));
            if head.contains('{') || !exists {
                continue;
            }
            let is_the_same = mappings.iter().any(|file| file.contains(item));
            assert!(is_the_same, "{}: the mappings have another `{head}..)`:\n{item}", path.display());
            count += 1;
        }
    }
    assert!(count >= 10, "only {count} rules that exist");
}

#[test]
fn the_rules_in_documents_parse_and_are_formatted() {
    let mut count = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        for block in blocks(&text) {
            let mut sources = Sources::default();
            let id = sources.add(path.display().to_string(), block);
            let mut errors = Vec::new();
            let file = parse_file(&sources, id, &mut errors);
            assert!(errors.is_empty(), "{}", render(&sources, &errors, false));
            assert_eq!(print_file(&file), block, "{}", path.display());
            count += 1;
        }
    }
    assert!(count >= 8, "only {count} blocks of rules");
}
