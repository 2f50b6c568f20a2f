//! The parser and the formatter: on generated trees, on the project's files, and on damaged text.

#![allow(clippy::unwrap_used, clippy::panic)]

mod damage;
mod files;
mod format;
mod round_trip;
mod shapes;
mod trees;

use aten2onnx_opmap::diagnostic::Diagnostic;
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::syntax::ast::File;
use aten2onnx_opmap::syntax::parse_file;

/// Parses one file.
fn parse(text: &str) -> (File, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let id = sources.add("mappings/test.opmap", text);
    let mut out = Vec::new();
    let file = parse_file(&sources, id, &mut out);
    (file, out)
}

/// A tree as text, without places and blank lines.
fn content(file: &File) -> String {
    let text = format!("{file:?}");
    let text = without(&text, "Span { file: FileId(", " }");
    let text = without(&text, "blank_before: ", "e");
    without(&text, "blank_before_result: ", "e")
}

/// A text without the parts that begin and end like this.
fn without(text: &str, begin: &str, end: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(begin) {
        out.push_str(before);
        rest = after.split_once(end).unwrap().1;
    }
    out + rest
}
