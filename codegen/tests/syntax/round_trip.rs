//! What the formatter prints parses to the same tree, and printing that gives the same text.

use aten2onnx_codegen::syntax::ast::File;
use aten2onnx_codegen::syntax::print_file;
use proptest::prelude::*;

use crate::{content, parse, trees};

/// Prints a tree and checks what comes back.
pub fn check(file: &File) {
    let printed = print_file(file);
    let (again, errors) = parse(&printed);
    assert!(errors.is_empty(), "{errors:#?}\n{printed}");
    assert_eq!(content(file), content(&again), "another tree:\n{printed}");
    assert_eq!(printed, print_file(&again), "another text:\n{printed}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_trees(file in trees::file()) {
        check(&file);
    }
}
