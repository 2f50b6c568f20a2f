//! Renaming of helpers, their parameters, and what rules bind. The names in the headers of rules are those of PyTorch and ONNX, and stay.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use aten2onnx_opmap::source::{FileId, Span};
use aten2onnx_opmap::tree::Function;
use aten2onnx_opmap::vocabulary::{builtin_calls, constant_names, dtype_names, reserved_words};
use lsp_types::{PrepareRenameResponse, TextEdit, WorkspaceEdit};

use crate::analysis::Analysis;
use crate::document::Document;
use crate::state::State;

/// What is renamed.
enum Renamed<'a> {
    /// A name that is bound in an item.
    Bound(Span),
    /// A parameter of a helper: calls may name it.
    Param(Span, &'a Function),
    /// A helper.
    Helper(&'a Function),
}

/// The name that can be changed at a place.
///
/// # Errors
/// Why it cannot.
pub fn prepare_rename(
    state: &State,
    document: &Document,
    file: FileId,
    at: usize,
) -> Result<PrepareRenameResponse, String> {
    let (analysis, name) = checked_name(state, document, at)?;
    let at = name.start;
    renamed(&analysis, document, file, at)?;
    let placeholder = document.text.get(name.clone()).unwrap_or("").to_owned();
    Ok(PrepareRenameResponse::RangeWithPlaceholder { range: document.range(name), placeholder })
}

/// The changes of all files that give what is named at a place another name.
///
/// # Errors
/// Why it cannot be renamed like this.
pub fn rename(state: &State, document: &Document, file: FileId, at: usize, new: &str) -> Result<WorkspaceEdit, String> {
    let (analysis, name) = checked_name(state, document, at)?;
    check_name(new)?;
    let what = renamed(&analysis, document, file, name.start)?;
    let spans = match &what {
        Renamed::Bound(bound) => {
            must_be_free(state, &analysis, document, *bound, new)?;
            uses(&analysis, *bound)
        }
        Renamed::Param(bound, function) => {
            must_be_free(state, &analysis, document, *bound, new)?;
            let mut spans = uses(&analysis, *bound);
            spans.extend(named_arguments(state, &analysis, function, document.text.get(name).unwrap_or("")));
            spans
        }
        Renamed::Helper(function) => {
            helper_must_be_free(&analysis, function, new)?;
            let calls = analysis.checked.program.links.calls.iter().filter(|(_, key)| *key == function.name);
            calls.map(|(written, _)| *written).chain([function.span]).collect()
        }
    };
    if let Some(span) = spans.iter().find(|span| !state.is_own(span.file)) {
        let place = analysis.checked.sources.place(*span);
        return Err(format!("the name is also in {place}, a built-in rule"));
    }
    Ok(edit(state, spans, new))
}

/// The last state that was checked, if it is that of all files, without syntax errors. And the name at a place.
fn checked_name(state: &State, document: &Document, at: usize) -> Result<(Arc<Analysis>, Range<usize>), String> {
    let analysis = state.latest.clone().ok_or("the files are not checked yet")?;
    let is_checked = |(i, file): (usize, &Document)| analysis.text(FileId(i as u32)) == file.text;
    if !state.files.iter().enumerate().all(is_checked) {
        return Err("the files are being checked: try again".to_owned());
    }
    if analysis.parsed.iter().any(|parsed| !parsed) {
        return Err("a file has syntax errors, so uses of the name may be missed".to_owned());
    }
    let name = document.words.name_at(&document.text, at).ok_or("there is no name here")?;
    Ok((analysis, name.range))
}

fn renamed<'a>(analysis: &'a Analysis, document: &Document, file: FileId, at: usize) -> Result<Renamed<'a>, String> {
    if let Some(bound) = analysis.bound_at(file, at) {
        if !bound.is_param {
            return Ok(Renamed::Bound(bound.span));
        }
        let head = document.head_at(at).ok_or("there is no item here")?;
        let function = analysis.helper_at(file, head.name.range.start).filter(|_| head.keyword.ends_with("fn"));
        return match function {
            Some(function) if !head.keyword.contains("extern") => Ok(Renamed::Param(bound.span, function)),
            _ => Err("the names in this header are those of the schema".to_owned()),
        };
    }
    match analysis.helper_at(file, at) {
        Some(function) if analysis.checked.program.external(&function.name).is_some() => {
            Err("an `extern fn` has the name of its function in Rust".to_owned())
        }
        Some(function) => Ok(Renamed::Helper(function)),
        None => Err("only helpers, their parameters and bound names can be renamed".to_owned()),
    }
}

fn check_name(new: &str) -> Result<(), String> {
    let is_word = new.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && new.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_taken = reserved_words().contains(&new)
        || dtype_names().contains(&new)
        || constant_names().contains(&new)
        || matches!(new, "opset" | "outputs" | "true" | "false")
        || builtin_calls().any(|(name, _)| name == new);
    match (is_word, is_taken) {
        (false, _) => Err(format!("`{new}` is not a name: write small letters, digits and `_`")),
        (_, true) => Err(format!("`{new}` is a word of the language")),
        _ => Ok(()),
    }
}

/// A name in an item must be none that the item binds or a helper that its file sees.
fn must_be_free(state: &State, analysis: &Analysis, document: &Document, bound: Span, new: &str) -> Result<(), String> {
    if analysis.helper_named(bound.file, new).is_some() {
        return Err(format!("there is a helper `{new}`"));
    }
    let item = document.words.item_at(bound.start as usize).ok_or("there is no item here")?;
    let same_item = |span: Span| span.file == bound.file && item.contains(&(span.start as usize));
    let is_bound = analysis.checked.program.links.bound.iter().any(|other| other.name == new && same_item(other.span));
    match is_bound || state.is_operator(new) {
        true => Err(format!("`{new}` is bound in this item")),
        false => Ok(()),
    }
}

/// A helper must have a name that no file has for anything else.
fn helper_must_be_free(analysis: &Analysis, function: &Function, new: &str) -> Result<(), String> {
    let program = &analysis.checked.program;
    let mut helpers = program.fns.iter().chain(&program.externs);
    if helpers.any(|other| aten2onnx_opmap::tree::short_name(&other.name) == new) {
        return Err(format!("there is a helper `{new}`"));
    }
    let is_private = aten2onnx_opmap::tree::is_private(&function.name);
    let sees = |file: FileId| !is_private || file == function.span.file;
    match program.links.bound.iter().find(|bound| bound.name == new && sees(bound.span.file)) {
        Some(bound) => Err(format!("`{new}` is bound in {}", analysis.checked.sources.place(bound.span))),
        None => Ok(()),
    }
}

fn uses(analysis: &Analysis, bound: Span) -> Vec<Span> {
    let links = &analysis.checked.program.links;
    links.uses.iter().filter(|(_, own)| *own == bound).map(|(written, _)| *written).chain([bound]).collect()
}

/// The names of an argument in the calls of a helper.
fn named_arguments(state: &State, analysis: &Analysis, function: &Function, param: &str) -> Vec<Span> {
    let calls = analysis.checked.program.links.calls.iter().filter(|(_, key)| *key == function.name);
    let mut spans = Vec::new();
    for (written, _) in calls {
        let Some(document) = state.by_id(written.file) else { continue };
        let (text, words) = (&document.text, &document.words);
        let first = words.tokens.partition_point(|token| token.start < written.end as usize);
        let mut depth = 0usize;
        for (i, token) in words.tokens.iter().enumerate().skip(first) {
            match token.text(text) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                word if depth == 1
                    && word == param
                    && words.tokens.get(i + 1).is_some_and(|next| next.text(text) == "=") =>
                {
                    spans.push(Span { file: written.file, start: token.start as u32, end: token.end as u32 });
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    spans
}

fn edit(state: &State, mut spans: Vec<Span>, new: &str) -> WorkspaceEdit {
    spans.sort_unstable();
    spans.dedup();
    let mut by_file: BTreeMap<FileId, Vec<Span>> = BTreeMap::new();
    spans.into_iter().for_each(|span| by_file.entry(span.file).or_default().push(span));
    // The protocol's type for changes has addresses as keys, which have a cache inside that does not matter for comparisons.
    #[allow(clippy::mutable_key_type, reason = "the type is the protocol's")]
    let mut changes = HashMap::new();
    for (file, spans) in by_file {
        let Some(document) = state.by_id(file) else { continue };
        let edits =
            spans.into_iter().map(|span| TextEdit { range: document.range(span.range()), new_text: new.to_owned() });
        changes.insert(document.uri.clone(), edits.collect());
    }
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}
