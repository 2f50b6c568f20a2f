//! Code actions: the changes that the checker proposes beside an error.

use std::collections::HashMap;
use std::ops::Range;

use aten2onnx_opmap::diagnostic::{Diagnostic, Fix, FixPlace};
use aten2onnx_opmap::source::{FileId, Span};
use aten2onnx_opmap::syntax::scan::Kind;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Diagnostic as Shown, NumberOrString, TextEdit, WorkspaceEdit,
};

use crate::analysis::Analysis;
use crate::document::Document;
use crate::state::State;

/// The actions for the errors in a range of a file. `shown` are those that the editor has there.
pub fn code_actions(state: &State, file: FileId, range: Range<usize>, shown: &[Shown]) -> Vec<CodeActionOrCommand> {
    let (Some(analysis), Some(document)) = (&state.latest, state.by_id(file)) else { return Vec::new() };
    let difference = analysis.difference(file, &document.text);
    let is_there = |error: &&Diagnostic| {
        let span = error.primary.0;
        let now = difference.range_to_new(span.range());
        span.file == file && now.is_some_and(|now| now.start <= range.end && range.start <= now.end)
    };
    let mut actions = Vec::new();
    for error in analysis.checked.diagnostics.iter().filter(is_there) {
        let place = difference.range_to_new(error.primary.0.range()).map(|range| document.range(range));
        let is_it =
            |one: &&Shown| Some(one.range) == place && one.code == Some(NumberOrString::String(error.code.to_owned()));
        let diagnostics: Vec<Shown> = shown.iter().filter(is_it).cloned().collect();
        for (i, fix) in error.fixes.iter().enumerate() {
            let Some(edit) = edit(state, analysis, fix) else { continue };
            actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: fix.title.clone(),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(diagnostics.clone()),
                edit: Some(edit),
                is_preferred: Some(i == 0 && error.fixes.len() == 1),
                ..CodeAction::default()
            }));
        }
    }
    actions
}

/// A change of the text as it is now. None if the text at its place changed since it was checked.
fn edit(state: &State, analysis: &Analysis, fix: &Fix) -> Option<WorkspaceEdit> {
    let span = match fix.place {
        FixPlace::Text(span)
        | FixPlace::Number(span)
        | FixPlace::Argument(span)
        | FixPlace::Arm(span)
        | FixPlace::ItemStart(span)
        | FixPlace::Header(span)
        | FixPlace::Body(span)
        | FixPlace::AfterItem(span) => span,
    };
    let document = state.by_id(span.file).filter(|_| state.is_own(span.file))?;
    let now = now(analysis, document, span)?;
    let (range, new_text) = place(document, fix, now)?;
    let edit = TextEdit { range: document.range(range), new_text };
    // The protocol's type for changes has addresses as keys, which have a cache inside that does not matter for comparisons.
    #[allow(clippy::mutable_key_type, reason = "the type is the protocol's")]
    let changes = HashMap::from([(document.uri.clone(), vec![edit])]);
    Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
}

fn now(analysis: &Analysis, document: &Document, span: Span) -> Option<Range<usize>> {
    let now = analysis.difference(span.file, &document.text).range_to_new(span.range())?;
    let old = analysis.text(span.file).get(span.range());
    (document.text.get(now.clone()) == old).then_some(now)
}

/// What a change replaces, and by what.
fn place(document: &Document, fix: &Fix, at: Range<usize>) -> Option<(Range<usize>, String)> {
    let (text, words) = (&document.text, &document.words);
    let item = words.item_at(at.start)?;
    let tokens = words.tokens.get(words.within(&item))?;
    let insert = |place: usize, new: String| Some((place..place, new));
    match fix.place {
        FixPlace::Text(_) => Some((at, fix.text.clone())),
        FixPlace::Number(_) => {
            let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
            let number = tokens.iter().find(|token| at.start <= token.start && is_number(token.text(text)))?;
            Some((number.range(), fix.text.clone()))
        }
        FixPlace::Argument(_) => {
            let before = text.get(..closing(document, at.start, "(")?)?.trim_end();
            let separator = match before.chars().next_back() {
                Some('(') => "",
                Some(',') => " ",
                _ => ", ",
            };
            insert(before.len(), format!("{separator}{}", fix.text))
        }
        FixPlace::Arm(_) => {
            let before = text.get(..closing(document, at.start, "{")?)?.trim_end();
            let separator = if before.ends_with([',', '{']) { " " } else { ", " };
            insert(before.len(), format!("{separator}{}", fix.text))
        }
        FixPlace::ItemStart(_) => insert(item.start, format!("{} ", fix.text)),
        FixPlace::Header(_) => {
            let body = body_of(document, &item)?;
            insert(text.get(..body)?.trim_end().len(), format!(" {}", fix.text))
        }
        FixPlace::Body(_) => {
            let body = body_of(document, &item)?;
            if text.get(body..)?.starts_with('{') {
                return insert(body + 1, format!("\n    {}", fix.text));
            }
            let end = words.items.iter().find(|other| **other == item).map(|item| item.end)?;
            let value = text.get(body + 1..end)?.trim();
            Some((body..end, format!("{{\n    {}\n    {value}\n}}", fix.text)))
        }
        FixPlace::AfterItem(_) => insert(item.end, format!("\n{}", fix.text)),
    }
}

/// The bracket that closes the first one of its kind after a place.
fn closing(document: &Document, from: usize, bracket: &str) -> Option<usize> {
    let (text, words) = (&document.text, &document.words);
    let first = words.tokens.iter().position(|token| token.start >= from && token.text(text) == bracket)?;
    let mut depth = 0usize;
    for token in words.tokens.get(first..)? {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close if depth == 1 => return Some(token.start),
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Where the body of an item begins: `=` or `{` after its header.
fn body_of(document: &Document, item: &Range<usize>) -> Option<usize> {
    let (text, words) = (&document.text, &document.words);
    let head = words.head(text, item)?;
    let mut depth = 0usize;
    for token in words.tokens.get(words.within(&(head.name.range.end..item.end)))? {
        match (token.kind, token.text(text)) {
            (Kind::Mark, "=") | (Kind::Open, "{") if depth == 0 => return Some(token.start),
            (Kind::Open, _) => depth += 1,
            (Kind::Close, _) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
