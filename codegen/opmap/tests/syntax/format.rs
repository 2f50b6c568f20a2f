//! Formatted files: each of `format/*.md` has a file as someone may write it, then as the formatter prints it.
//!
//! With `BLESS=1` in the environment the second block is written instead of compared.

use std::fs;
use std::path::Path;

use aten2onnx_opmap::syntax::print_file;

use crate::parse;

#[test]
fn formatted_files_are_as_written() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/syntax/format");
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 5, "{paths:?}");
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let (title, rest) = text.split_once("```opmap\n").unwrap();
        let (input, rest) = rest.split_once("```\n").unwrap();
        let (file, errors) = parse(input);
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        let printed = format!("{title}```opmap\n{input}```\n\n```opmap\n{}```\n", print_file(&file));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, printed).unwrap();
        } else {
            assert_eq!(text, printed, "{}; BLESS=1 accepts it\n{rest}", path.display());
        }
    }
}
