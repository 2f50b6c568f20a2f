//! Every error code by example: `diagnostics/EXXXX_what.md` holds an opmap file and the exact text of its errors.
//!
//! With `BLESS=1` in the environment the texts are written instead of compared.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use aten2onnx_codegen::diagnostic::Diagnostic;
use aten2onnx_codegen::explain;
use aten2onnx_codegen::render::render;
use aten2onnx_codegen::source::{FileId, Sources};
use aten2onnx_codegen::syntax::parse_file;

/// The front of the compiler: everything that finds errors.
fn diagnose(sources: &Sources) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for id in 0..sources.files.len() {
        parse_file(sources, FileId(id as u32), &mut out);
    }
    out
}

#[test]
fn diagnostics_are_as_written() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = Vec::new();
    for path in cases() {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (rendered, codes) = run(block(&text, "opmap"));
        let code = &name[..5];
        if !codes.contains(code) {
            failures.push(format!("{name}: gives no {code}, but\n{rendered}"));
        } else if bless {
            let head = text.split("\n```text\n").next().unwrap().trim_end();
            fs::write(&path, format!("{head}\n\n```text\n{rendered}```\n")).unwrap();
        } else if block(&text, "text") != rendered {
            failures.push(format!("{name}: expected\n{}\nfound\n{rendered}", block(&text, "text")));
        }
    }
    assert!(failures.is_empty(), "{}\nBLESS=1 accepts the new texts", failures.join("\n"));
}

#[test]
fn every_code_has_a_case_and_its_page_an_example() {
    let covered: BTreeSet<String> =
        cases().iter().map(|path| path.file_name().unwrap().to_string_lossy()[..5].to_owned()).collect();
    for code in explain::codes() {
        assert!(covered.contains(*code), "{code} has no case in tests/diagnostics");
        let page = explain::explain(code).unwrap();
        let (rendered, codes) = run(block(page, "opmap"));
        assert!(codes.contains(*code), "the example of {code}.md gives\n{rendered}");
    }
}

/// The rendered diagnostics of one file, and their codes.
fn run(source: &str) -> (String, BTreeSet<String>) {
    let mut sources = Sources::default();
    sources.add("mappings/test.opmap", source);
    let diagnostics = diagnose(&sources);
    let codes = diagnostics.iter().map(|diagnostic| diagnostic.code.to_owned()).collect();
    (render(&sources, &diagnostics, false), codes)
}

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths
}

/// The first fenced block of a language.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let Some((_, rest)) = text.split_once(&format!("```{language}\n")) else { return "" };
    rest.split_once("\n```\n").map_or("", |(block, _)| &rest[..block.len() + 1])
}
