//! The output of the formatter parses to the same tree, and printing that gives the same text.

use aten2onnx_opmap::syntax::ast::File;
use aten2onnx_opmap::syntax::print_file;
use proptest::test_runner::{Config as ProptestConfig, TestRunner};

use crate::{content, parse, trees};

/// Prints a tree, parses the text and compares both.
pub fn check(file: &File) {
    let printed = print_file(file);
    let (again, errors) = parse(&printed);
    assert!(errors.is_empty(), "{errors:#?}\n{printed}");
    assert_eq!(content(file), content(&again), "another tree:\n{printed}");
    assert_eq!(printed, print_file(&again), "another text:\n{printed}");
}

/// Runs in a thread of its own: without optimisation, proptest's nested strategies need more stack than a test has.
#[test]
fn generated_trees() {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let run = || {
        let checked = TestRunner::new(config).run(&trees::file(), |file| {
            check(&file);
            Ok(())
        });
        checked.unwrap();
    };
    std::thread::Builder::new().stack_size(16 << 20).spawn(run).unwrap().join().unwrap();
}
