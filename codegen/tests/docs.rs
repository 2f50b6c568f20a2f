//! The rules in the documents are rules.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use aten2onnx_codegen::render::render;
use aten2onnx_codegen::source::Sources;
use aten2onnx_codegen::syntax::{parse_file, print_file};

/// The blocks of a document that are marked as opmap, with or without the name of a file.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```opmap").skip(1).map(|rest| rest.split_once('\n').unwrap().1.split("```").next().unwrap()).collect()
}

#[test]
fn the_rules_in_documents_parse_and_are_formatted() {
    for (name, least) in [("opmap.md", 4), ("custom-operators.md", 2)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
        let text = fs::read_to_string(path).unwrap();
        let blocks = blocks(&text);
        assert!(blocks.len() >= least, "{name}");
        for block in blocks {
            let mut sources = Sources::default();
            let id = sources.add(name, block);
            let mut errors = Vec::new();
            let file = parse_file(&sources, id, &mut errors);
            assert!(errors.is_empty(), "{}", render(&sources, &errors, false));
            assert_eq!(print_file(&file), block);
        }
    }
}
