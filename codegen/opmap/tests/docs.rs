//! The rules in the documents parse and are formatted.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use aten2onnx_opmap::render::render;
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::syntax::{parse_file, print_file};

/// The blocks of a document that are marked as opmap, with or without the name of a file.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```opmap").skip(1).map(|rest| rest.split_once('\n').unwrap().1.split("```").next().unwrap()).collect()
}

/// The README and the pages in the folder `docs`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    docs.chain([root.join("README.md")]).filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
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
