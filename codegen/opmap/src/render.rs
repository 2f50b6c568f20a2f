//! Diagnostics as text, in the style of rustc, and as JSON.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Sources, Span};

/// All diagnostics as text for a terminal, sorted by file and place, separated by blank lines.
pub fn render(sources: &Sources, diagnostics: &[Diagnostic], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let texts: Vec<String> = sorted(diagnostics)
        .into_iter()
        .map(|diagnostic| {
            let report = renderer.render(&[group(sources, diagnostic)]);
            report.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
        })
        .collect();
    texts.join("\n")
}

/// All diagnostics as JSON, sorted by file and place, one object a line.
pub fn render_json(sources: &Sources, diagnostics: &[Diagnostic]) -> String {
    let objects = sorted(diagnostics).into_iter().map(|diagnostic| {
        let object = Object {
            severity: "error",
            code: diagnostic.code,
            message: &diagnostic.message,
            place: place(sources, &diagnostic.primary),
            also: diagnostic.secondary.iter().map(|mark| place(sources, mark)).collect(),
            notes: &diagnostic.notes,
            help: diagnostic.help.as_deref(),
        };
        // Objects of strings and numbers can always be serialised.
        serde_json::to_string(&object).unwrap_or_default() + "\n"
    });
    objects.collect()
}

/// The number of diagnostics that [`render`] shows: equal ones count once.
pub fn distinct(diagnostics: &[Diagnostic]) -> usize {
    sorted(diagnostics).len()
}

/// Sorted by file and place, without duplicates.
fn sorted(diagnostics: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by(|a, b| (a.primary.0, a.code, &a.message).cmp(&(b.primary.0, b.code, &b.message)));
    sorted.dedup();
    sorted
}

fn group<'a>(sources: &'a Sources, diagnostic: &'a Diagnostic) -> Group<'a> {
    let title = Level::ERROR.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let mut group = title.elements(snippets(sources, diagnostic));
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

/// A snippet for each file with a place of the diagnostic, the primary one first.
fn snippets<'a>(sources: &'a Sources, diagnostic: &'a Diagnostic) -> Vec<Element<'a>> {
    let mut files: Vec<FileId> = vec![diagnostic.primary.0.file];
    for (span, _) in &diagnostic.secondary {
        if !files.contains(&span.file) {
            files.push(span.file);
        }
    }
    files.into_iter().filter_map(|file| snippet(sources, diagnostic, file)).collect()
}

fn snippet<'a>(sources: &'a Sources, diagnostic: &'a Diagnostic, file: FileId) -> Option<Element<'a>> {
    let source = sources.files.get(file.0 as usize)?;
    let primary = std::iter::once((AnnotationKind::Primary, &diagnostic.primary));
    let others = diagnostic.secondary.iter().map(|mark| (AnnotationKind::Context, mark));
    let marks: Vec<_> = primary
        .chain(others)
        .filter(|(_, (span, _))| span.file == file)
        .map(|(kind, (span, label))| (kind, visible(&source.text, *span), label.as_str()))
        .collect();
    // The renderer's time grows with the text that it gets, so it gets only the lines from the first place to the last.
    let first = marks.iter().map(|(_, range, _)| range.start).min()?;
    let last = marks.iter().map(|(_, range, _)| range.end).max()?;
    let start = source.text.get(..first)?.rfind('\n').map_or(0, |at| at + 1);
    let end = source.text.get(last..)?.find('\n').map_or(source.text.len(), |at| last + at);
    let window = source.text.get(start..end)?;
    if window.is_empty() {
        return Some(Origin::path(source.path.as_str()).into());
    }
    let line = 1 + source.text.get(..start)?.matches('\n').count();
    let annotations = marks.into_iter().map(|(kind, range, label)| annotation(kind, range, start, label));
    Some(Snippet::source(window).line_start(line).path(source.path.as_str()).annotations(annotations).into())
}

fn annotation(kind: AnnotationKind, range: Range<usize>, start: usize, label: &str) -> Annotation<'_> {
    let annotation = kind.span(range.start - start..range.end - start);
    if label.is_empty() { annotation } else { annotation.label(label) }
}

/// The bytes of a span, moved to character boundaries inside the text.
fn visible(text: &str, span: Span) -> Range<usize> {
    let (start, end) = (boundary(text, span.start), boundary(text, span.end));
    start..end.max(start)
}

fn boundary(text: &str, at: u32) -> usize {
    let at = (at as usize).min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A diagnostic as JSON.
#[derive(Serialize)]
struct Object<'a> {
    severity: &'static str,
    code: &'a str,
    message: &'a str,
    #[serde(flatten)]
    place: LabelPlace<'a>,
    /// Other places.
    also: Vec<LabelPlace<'a>>,
    notes: &'a [String],
    help: Option<&'a str>,
}

/// A place. Lines and columns (in characters) count from 1, and the end is one past the last character.
#[derive(Serialize)]
struct LabelPlace<'a> {
    path: &'a str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    label: &'a str,
}

fn place<'a>(sources: &'a Sources, (span, label): &'a (Span, String)) -> LabelPlace<'a> {
    let (path, text) =
        sources.files.get(span.file.0 as usize).map_or(("", ""), |file| (file.path.as_str(), file.text.as_str()));
    let range = visible(text, *span);
    let (line, column) = position(text, range.start);
    let (end_line, end_column) = position(text, range.end);
    LabelPlace { path, line, column, end_line, end_column, label }
}

fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or("");
    let line = before.rsplit('\n').next().unwrap_or("");
    (1 + before.matches('\n').count(), 1 + line.chars().count())
}
