//! Completion: what may stand at a place, found from the tokens before it.

mod expressions;
mod headers;

use std::ops::Range;

use aten2onnx_opmap::source::FileId;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, Documentation, InsertTextFormat,
    MarkupContent, MarkupKind, TextEdit,
};

pub use headers::header_of;

use crate::document::Document;
use crate::state::State;

/// The most items of an answer. The editor asks again when more is typed.
const MOST: usize = 200;

/// A place where something is to be written.
#[derive(Debug)]
pub struct Blank<'s> {
    /// All files.
    pub state: &'s State,
    /// The document.
    pub document: &'s Document,
    /// Its number, if it is one of the mapping files.
    pub file: Option<FileId>,
    /// What is written of the name so far.
    pub prefix: &'s str,
    /// Where it begins.
    pub start: usize,
    /// Where the cursor is.
    pub at: usize,
}

/// Something that may be written.
#[derive(Debug, Clone)]
pub struct Choice {
    /// What is written, and what the editor compares with what is typed.
    pub label: String,
    /// What it is.
    pub kind: CompletionItemKind,
    /// Beside the label: a type, a header.
    pub detail: String,
    /// What is inserted, if it is not the label. `$0` is where the cursor goes.
    pub snippet: Option<String>,
    /// Documentation.
    pub docs: Option<String>,
    /// Nearer ones have smaller numbers.
    pub rank: u8,
}

impl Choice {
    /// One that is inserted as it is.
    pub fn new(label: impl Into<String>, kind: CompletionItemKind, detail: impl Into<String>, rank: u8) -> Choice {
        Choice { label: label.into(), kind, detail: detail.into(), snippet: None, docs: None, rank }
    }

    /// Another text to insert.
    #[must_use]
    pub fn inserting(mut self, snippet: impl Into<String>) -> Choice {
        self.snippet = Some(snippet.into());
        self
    }

    /// With documentation.
    #[must_use]
    pub fn with_docs(mut self, docs: &[String]) -> Choice {
        self.docs = Some(docs.join("\n")).filter(|docs| !docs.is_empty());
        self
    }
}

/// A text as part of a snippet.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}")
}

/// What may be written at a place.
pub fn completion(state: &State, document: &Document, file: Option<FileId>, at: usize) -> CompletionList {
    let start = start_of_name(&document.text, at);
    let prefix = document.text.get(start..at).unwrap_or("");
    let blank = Blank { state, document, file, prefix, start, at };
    let choices = match () {
        () if document.words.is_comment(at) => Vec::new(),
        () if document.words.string_at(at).is_some() => expressions::strings(&blank),
        () => headers::choices(&blank).unwrap_or_else(|| expressions::choices(&blank)),
    };
    let range = match document.words.string_at(at) {
        Some(token) => (token.start + 1).min(at)..at,
        None => start..at,
    };
    let typed = document.text.get(range.clone()).unwrap_or("").to_lowercase();
    let mut fitting: Vec<(u8, usize, Choice)> = choices
        .into_iter()
        .filter_map(|choice| {
            let label = choice.label.to_lowercase();
            let found = label.find(&typed)?;
            Some((choice.rank + u8::from(found > 0) * 100, choice.label.len(), choice))
        })
        .collect();
    fitting.sort_by(|a, b| (a.0, a.1, &a.2.label).cmp(&(b.0, b.1, &b.2.label)));
    fitting.dedup_by(|a, b| a.2.label == b.2.label);
    let is_incomplete = fitting.len() > MOST;
    fitting.truncate(MOST);
    let shown = fitting.into_iter().enumerate();
    CompletionList {
        is_incomplete,
        items: shown.map(|(place, (_, _, choice))| item(document, choice, &range, place)).collect(),
    }
}

fn item(document: &Document, choice: Choice, range: &Range<usize>, place: usize) -> CompletionItem {
    let is_snippet = choice.snippet.is_some();
    let new_text = choice.snippet.unwrap_or_else(|| choice.label.clone());
    let docs =
        choice.docs.map(|value| Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value }));
    CompletionItem {
        kind: Some(choice.kind),
        detail: Some(choice.detail).filter(|detail| !detail.is_empty()),
        documentation: docs,
        sort_text: Some(format!("{place:03}")),
        filter_text: Some(choice.label.clone()),
        insert_text_format: is_snippet.then_some(InsertTextFormat::SNIPPET),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range: document.range(range.clone()), new_text })),
        label: choice.label,
        ..CompletionItem::default()
    }
}

/// Where the name that ends at a place begins, with its namespace.
fn start_of_name(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or("");
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.');
    let name = before.rfind(|c: char| !is_part(c)).map_or(before, |last| {
        let width = before.get(last..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        before.get(last + width..).unwrap_or("")
    });
    // A slice or a number is no namespace.
    let name = name.rsplit("..").next().unwrap_or(name);
    let name = if name.contains("::") { name } else { name.rsplit(['.', ':']).next().unwrap_or(name) };
    at - name.len()
}
