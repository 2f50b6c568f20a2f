//! Formatting and folding.

use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::syntax::scan::Kind;
use aten2onnx_opmap::syntax::{parse_file, print_file};
use lsp_types::{FoldingRange, FoldingRangeKind, TextEdit};

use crate::document::Document;
use crate::text::Difference;

/// The changes that format a file: one, of what differs. None if it has syntax errors.
pub fn formatting(document: &Document) -> Option<Vec<TextEdit>> {
    let mut sources = Sources::default();
    let id = sources.add("", document.text.clone());
    let mut errors = Vec::new();
    let file = parse_file(&sources, id, &mut errors);
    if !errors.is_empty() {
        return None;
    }
    let new = print_file(&file);
    if new == document.text {
        return Some(Vec::new());
    }
    let (old_part, new_part) = Difference::of(&document.text, &new).parts();
    let new_text = new.get(new_part)?.to_owned();
    Some(vec![TextEdit { range: document.range(old_part), new_text }])
}

/// What can be folded: items, brackets and comments of several lines.
pub fn folding(document: &Document) -> Vec<FoldingRange> {
    let (text, words) = (&document.text, &document.words);
    let mut found = Vec::new();
    let mut open = Vec::new();
    let mut comments: Option<(u32, u32)> = None;
    let mut last_line = u32::MAX;
    for token in &words.tokens {
        let line = document.lines.line(token.start);
        let is_own_line = token.before(text).trim().is_empty();
        if token.is_comment() && is_own_line {
            comments = match comments {
                Some((first, last)) if last + 1 == line => Some((first, line)),
                other => {
                    found.extend(other.and_then(|(first, last)| fold(first, last, Some(FoldingRangeKind::Comment))));
                    Some((line, line))
                }
            };
        }
        match token.kind {
            Kind::Open => open.push(line),
            Kind::Close => {
                if let Some(first) = open.pop().filter(|first| *first != last_line) {
                    // The closing bracket stays visible.
                    found.extend(fold(first, line.saturating_sub(1), None));
                    last_line = first;
                }
            }
            _ => {}
        }
    }
    found.extend(comments.and_then(|(first, last)| fold(first, last, Some(FoldingRangeKind::Comment))));
    for item in &words.items {
        let (first, last) = (document.lines.line(item.start), document.lines.line(item.end));
        let has_bracket = found.iter().any(|range| range.start_line == first);
        found.extend(fold(first, last, None).filter(|_| !has_bracket));
    }
    found.sort_by_key(|range| (range.start_line, range.end_line));
    found
}

fn fold(first: u32, last: u32, kind: Option<FoldingRangeKind>) -> Option<FoldingRange> {
    (first < last).then(|| FoldingRange { start_line: first, end_line: last, kind, ..FoldingRange::default() })
}
