//! Errors as the protocol has them.

use std::collections::BTreeMap;
use std::str::FromStr;

use aten2onnx_opmap::diagnostic::Diagnostic;
use aten2onnx_opmap::source::{FileId, Sources, Span};
use lsp_types::{
    CodeDescription, Diagnostic as Shown, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString,
    Range, Uri,
};

use crate::state::State;
use crate::text::LineStarts;

/// Where the pages of the error codes are.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/codegen/opmap/src/errors/");

/// The page of an error code.
pub fn page_of(code: &str) -> Option<Uri> {
    Uri::from_str(&format!("{PAGES}{code}.md")).ok()
}

/// The errors of each file, those without a place at the start of the first file.
pub fn by_file(state: &State, sources: &Sources, errors: &[Diagnostic]) -> BTreeMap<FileId, Vec<Shown>> {
    let mut lines: BTreeMap<FileId, LineStarts> = BTreeMap::new();
    let mut all: BTreeMap<FileId, Vec<Shown>> = BTreeMap::new();
    for error in errors {
        let file = error.primary.0.file;
        let file = if (file.0 as usize) < sources.files.len() { file } else { FileId(0) };
        let shown = all.entry(file).or_default();
        let one = shown_error(state, sources, &mut lines, error);
        if !shown.contains(&one) {
            shown.push(one);
        }
    }
    for shown in all.values_mut() {
        shown.sort_by_key(|error| (error.range.start, error.range.end));
    }
    all
}

/// An error of the checker. Its label, notes and help follow the message.
fn shown_error(
    state: &State,
    sources: &Sources,
    lines: &mut BTreeMap<FileId, LineStarts>,
    error: &Diagnostic,
) -> Shown {
    let (span, label) = &error.primary;
    let mut message = error.message.clone();
    if !label.is_empty() {
        message += &format!(" ({label})");
    }
    error.notes.iter().for_each(|note| message += &format!("\nnote: {note}"));
    if let Some(help) = &error.help {
        message += &format!("\nhelp: {help}");
    }
    let related = error.secondary.iter().filter_map(|(span, label)| {
        let location = Location::new(state.by_id(span.file)?.uri.clone(), range_of(sources, lines, *span));
        let message = if label.is_empty() { "here".to_owned() } else { label.clone() };
        Some(DiagnosticRelatedInformation { location, message })
    });
    let related: Vec<DiagnosticRelatedInformation> = related.collect();
    Shown {
        range: range_of(sources, lines, *span),
        severity: Some(DiagnosticSeverity::ERROR),
        code: Some(NumberOrString::String(error.code.to_owned())),
        code_description: page_of(error.code).map(|href| CodeDescription { href }),
        source: Some("opmap".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..Shown::default()
    }
}

fn range_of(sources: &Sources, lines: &mut BTreeMap<FileId, LineStarts>, span: Span) -> Range {
    let Some(file) = sources.files.get(span.file.0 as usize) else { return Range::default() };
    let starts = lines.entry(span.file).or_insert_with(|| LineStarts::of(&file.text));
    starts.range(&file.text, span.start as usize..(span.end as usize).max(span.start as usize))
}
