//! The rules in the documents are rules.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use aten2onnx_codegen::render::render;
use aten2onnx_codegen::source::Sources;
use aten2onnx_codegen::syntax::{parse_file, print_file};

/// The blocks of a document that are marked as opmap.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```opmap\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_reference_parses_and_is_formatted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/opmap.md");
    let text = fs::read_to_string(path).unwrap();
    let blocks = blocks(&text);
    assert!(blocks.len() > 2);
    for block in blocks {
        let mut sources = Sources::default();
        let id = sources.add("docs/opmap.md", block);
        let mut errors = Vec::new();
        let file = parse_file(&sources, id, &mut errors);
        assert!(errors.is_empty(), "{}", render(&sources, &errors, false));
        assert_eq!(print_file(&file), block);
    }
}
