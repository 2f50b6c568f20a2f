//! Definitions and references across files.

use std::path::{Path, PathBuf};

use aten2onnx_opmap::source::{FileId, Span};
use aten2onnx_opmap::syntax::scan::Kind;
use lsp_types::{Location, Position, Range};

use crate::analysis::Analysis;
use crate::document::{Document, uri_of};
use crate::state::State;
use crate::words::{FullName, Head};

/// Where the name at a place is defined: where it is bound, its helper, its rule; an operator's lowerings and its schema. At a definition itself: what it is
/// made for, PyTorch's or ONNX's schema, or the Rust of an `extern fn`.
pub fn definition(state: &State, document: &Document, file: Option<FileId>, at: usize) -> Vec<Location> {
    let Some((name, head)) = document.named(at) else { return Vec::new() };
    if document.words.is_comment(at) {
        return Vec::new();
    }
    let defines =
        |head: &Head| matches!(head.keyword.as_str(), "map" | "lower" | "raise") || head.keyword.ends_with("fn");
    let is_here = head.as_ref().is_some_and(|head| head.name.range == name.range && defines(head));
    if let Some(file) = file.filter(|_| !name.text.contains("::")) {
        let bound = state.ask(file, at, |known, at| {
            let bound = known.analysis.bound_at(known.file, at)?;
            state.location(&known.analysis, bound.span)
        });
        if let Some(place) = bound {
            return vec![place];
        }
        let is_extern = head.as_ref().is_some_and(|head| head.keyword.contains("extern"));
        if is_here && is_extern {
            return rust_function(state, &name.text).into_iter().collect();
        }
        let helper = state.ask(file, at, |known, at| {
            let function = known.analysis.helper_at(known.file, at)?;
            state.location(&known.analysis, function.span)
        });
        if let Some(place) = helper {
            return vec![place];
        }
    }
    let mut places = rules_about(state, &name.text, is_here);
    places.extend(schema_line(state, &name.text));
    places
}

/// The rule of an overload or the lowerings of an operator. None at the rule itself.
fn rules_about(state: &State, name: &str, is_here: bool) -> Vec<Location> {
    let Some(analysis) = &state.latest else { return Vec::new() };
    let program = &analysis.checked.program;
    if let Some(map) = program.map(name).filter(|_| !is_here) {
        return state.location(analysis, row_of(state, analysis, name, map.function.span)).into_iter().collect();
    }
    let unsupported = program.unsupported.iter().filter(|one| one.name == name).map(|one| one.span);
    let lowers = program.lowers.iter().chain(&program.raises).filter(|rule| rule.op == name && !is_here);
    let spans = unsupported.chain(lowers.map(|rule| rule.function.span));
    spans.filter_map(|span| state.location(analysis, span)).collect()
}

/// The row of a family that defines a rule, or the header if it is none.
fn row_of(state: &State, analysis: &Analysis, name: &str, header: Span) -> Span {
    let row = || {
        let document = state.by_id(header.file)?;
        let text = analysis.text(header.file);
        if document.text != text {
            return None;
        }
        let item = document.words.item_at(header.start as usize)?;
        let body = text.get(header.end as usize..item.end)?;
        let key = name.split_once("::").map_or(name, |(_, key)| key);
        let keys = [key, key.split('.').next().unwrap_or(key)];
        let at = keys.iter().find_map(|key| {
            let found = body.match_indices(&format!("{key} =>")).find(|(at, _)| !body[..*at].ends_with(is_part))?;
            Some((found.0, key.len()))
        });
        let (at, length) = at?;
        let start = header.end + at as u32;
        Some(Span { file: header.file, start, end: start + length as u32 })
    };
    if analysis.text(header.file).get(header.range()).is_some_and(|text| text.contains('{')) {
        row().unwrap_or(header)
    } else {
        header
    }
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

/// The line of a snapshot that has the schema of an operator in its newest version.
fn schema_line(state: &State, name: &str) -> Option<Location> {
    let folder = state.mappings.join("schemas");
    let (namespace, rest) = name.split_once("::").unwrap_or(("", name));
    if let Some(schema) = state.schemas.aten.get(name) {
        return snapshots(&folder).iter().find_map(|path| line_with(path, &format!("{}(", schema.name), false));
    }
    let newest = state.schemas.onnx.versions(name).last()?.since;
    let file = if namespace.is_empty() { "onnx.txt".to_owned() } else { format!("{namespace}.txt") };
    line_with(&folder.join(file), &format!("{rest} {newest}"), true)
}

/// The snapshots, in the order of their names.
fn snapshots(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    paths.sort();
    paths
}

/// The first line of a file that begins with a text. With `is_word`, nothing but a blank may follow the text.
fn line_with(path: &Path, begin: &str, is_word: bool) -> Option<Location> {
    let text = std::fs::read_to_string(path).ok()?;
    let fits =
        |line: &str| line.strip_prefix(begin).is_some_and(|rest| !is_word || rest.is_empty() || rest.starts_with(' '));
    let line = text.lines().position(fits)? as u32;
    Some(Location::new(uri_of(path)?, Range::new(Position::new(line, 0), Position::new(line, begin.len() as u32))))
}

/// The Rust function of an `extern fn`: `pub fn NAME` in a folder or file `externs` of the project.
fn rust_function(state: &State, name: &str) -> Option<Location> {
    let root = state.mappings.parent()?;
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(&folder).ok().into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let is_of_externs = path.iter().any(|part| part == "externs" || part == "externs.rs");
            if path.is_dir()
                && depth < 6
                && !file_name.starts_with('.')
                && !matches!(file_name.as_str(), "target" | "node_modules")
            {
                open.push((path, depth + 1));
            } else if file_name.ends_with(".rs") && is_of_externs {
                let found = function_in(&path, name);
                if found.is_some() {
                    return found;
                }
            }
        }
    }
    None
}

fn function_in(path: &Path, name: &str) -> Option<Location> {
    let text = std::fs::read_to_string(path).ok()?;
    for (number, line) in text.lines().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("pub fn ").and_then(|rest| rest.strip_prefix(name)) else {
            continue;
        };
        if rest.starts_with(['(', '<']) {
            let start = (line.len() - rest.len() - name.len()) as u32;
            let line = number as u32;
            let range = Range::new(Position::new(line, start), Position::new(line, start + name.len() as u32));
            return Some(Location::new(uri_of(path)?, range));
        }
    }
    None
}

/// The places that name what is named at a place. With `declared`, where it is defined too.
pub fn references(state: &State, document: &Document, file: FileId, at: usize, declared: bool) -> Vec<Location> {
    if document.words.is_comment(at) {
        return Vec::new();
    }
    let Some((name, _)) = document.named(at) else { return Vec::new() };
    if !name.text.contains("::") {
        if let Some(places) = uses_of_bound(state, file, at, declared) {
            return places;
        }
        if let Some(places) = calls_of_helper(state, file, at, declared) {
            return places;
        }
    }
    if name.text.contains("::") || state.is_operator(&name.text) {
        mentions(state, &name, declared)
    } else {
        Vec::new()
    }
}

/// The uses of a name that is bound in an item.
fn uses_of_bound(state: &State, file: FileId, at: usize, declared: bool) -> Option<Vec<Location>> {
    state.ask(file, at, |known, at| {
        let bound = known.analysis.bound_at(known.file, at)?.span;
        let links = &known.analysis.checked.program.links;
        let uses = links.uses.iter().filter(|(_, own)| *own == bound).map(|(written, _)| *written);
        Some(located(state, &known.analysis, uses.chain(declared.then_some(bound)).collect()))
    })
}

/// The calls of a helper.
fn calls_of_helper(state: &State, file: FileId, at: usize, declared: bool) -> Option<Vec<Location>> {
    state.ask(file, at, |known, at| {
        let function = known.analysis.helper_at(known.file, at)?;
        let calls = known.analysis.checked.program.links.calls.iter();
        let calls = calls.filter(|(_, key)| *key == function.name).map(|(written, _)| *written);
        Some(located(state, &known.analysis, calls.chain(declared.then_some(function.span)).collect()))
    })
}

/// Places of the checker in their order, each once. The rows of a family share theirs.
fn located(state: &State, analysis: &Analysis, mut spans: Vec<Span>) -> Vec<Location> {
    spans.sort_unstable();
    spans.dedup();
    spans.into_iter().filter_map(|span| state.location(analysis, span)).collect()
}

/// All places that write the full name of a rule or an operator.
fn mentions(state: &State, name: &FullName, declared: bool) -> Vec<Location> {
    let mut places = Vec::new();
    let last = name.text.rsplit(['.', ':']).next().unwrap_or(&name.text);
    for document in &state.files {
        if !document.text.contains(last) {
            continue;
        }
        for (i, token) in document.words.tokens.iter().enumerate() {
            if token.kind != Kind::Word || token.text(&document.text) != last {
                continue;
            }
            let Some(found) = document.words.name_around(&document.text, i).filter(|found| found.text == name.text)
            else {
                continue;
            };
            let head = document.head_at(found.range.start);
            let is_definition = head.is_some_and(|head| head.name.range == found.range && head.keyword != "example");
            if declared || !is_definition {
                places.push(Location::new(document.uri.clone(), document.range(found.range)));
            }
        }
    }
    places
}
