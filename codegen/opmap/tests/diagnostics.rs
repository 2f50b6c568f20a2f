//! Examples of every error code: `diagnostics/EXXXX_what.md` has an opmap file and the exact text of its errors. Other files there
//! are about several codes. A line `// file: PATH` begins another file.
//!
//! With `BLESS=1` in the environment the texts are written instead of compared.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use aten2onnx_opmap::render::render;
use aten2onnx_opmap::source::{FileId, Sources};
use aten2onnx_opmap::syntax::parse_file;
use aten2onnx_opmap::{check_sources, explain};
use aten2onnx_schemas::Schemas;

/// The project's own facts.
static SCHEMAS: LazyLock<Schemas> =
    LazyLock::new(|| Schemas::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")).unwrap());

#[test]
fn diagnostics_are_as_written() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = Vec::new();
    for path in cases() {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let code = name.get(..5).filter(|_| name.starts_with("E0"));
        let (rendered, codes) = run(code.unwrap_or(""), block(&text, "opmap"));
        if let Some(code) = code.filter(|code| !codes.contains(*code)) {
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

/// All codes in the source of the compiler.
fn codes_in_source() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("explain.rs") {
            let text = fs::read_to_string(path).unwrap();
            let quoted = text.match_indices("\"E0").filter_map(|(at, _)| text.get(at + 1..at + 6));
            codes.extend(quoted.filter(|code| code[1..].bytes().all(|b| b.is_ascii_digit())).map(str::to_owned));
        }
    }
    codes
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let pages: BTreeSet<String> = explain::codes().iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(codes_in_source(), pages);
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/errors");
    let files: BTreeSet<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files, pages);
}

#[test]
fn every_code_has_a_case_and_its_page_an_example() {
    let covered: BTreeSet<String> =
        cases().iter().map(|path| path.file_name().unwrap().to_string_lossy().chars().take(5).collect()).collect();
    for code in explain::codes() {
        assert!(covered.contains(*code), "{code} has no case in tests/diagnostics");
        let page = explain::explain(code).unwrap();
        let (rendered, codes) = run(code, block(page, "opmap"));
        assert!(codes.contains(*code), "the example of {code}.md gives\n{rendered}");
    }
}

/// The rendered diagnostics of one file, and their codes. Files for syntax errors (E00..) are only parsed.
fn run(code: &str, source: &str) -> (String, BTreeSet<String>) {
    let mut sources = Sources::default();
    let mut files = source.split("// file: ");
    let id: FileId = sources.add("mappings/test.opmap", files.next().unwrap_or(source));
    for file in files {
        let (path, text) = file.split_once('\n').unwrap();
        sources.add(path, text);
    }
    let mut diagnostics = Vec::new();
    if code.starts_with("E00") {
        parse_file(&sources, id, &mut diagnostics);
    } else {
        diagnostics = check_sources(sources.clone(), facts(code, source)).diagnostics;
    }
    let codes = diagnostics.iter().map(|diagnostic| diagnostic.code.to_owned()).collect();
    (render(&sources, &diagnostics, false), codes)
}

/// The project's facts. Only in cases of E0703 and E0704 all operators need rules, namely those that the case names. In those of E0708
/// nothing is known of `Gelu`.
fn facts(code: &str, source: &str) -> Schemas {
    let mut schemas = SCHEMAS.clone();
    schemas.opsets.complete = matches!(code, "E0703" | "E0704");
    if code == "E0708" {
        schemas.operators.remove("Gelu");
    }
    if schemas.opsets.complete {
        let words: BTreeSet<&str> = source.split(|c: char| !c.is_alphanumeric()).collect();
        schemas.onnx.ops.retain(|op, _| words.contains(op.as_str()));
        schemas.opsets.changes.retain(|c| words.contains(c.op.as_str()));
    }
    schemas
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
