//! Lines, comments and words, for cutting and parsing.

use std::ops::Range;

use super::ast::Comment;
use super::scan::{BYTE_ORDER_MARK, Token};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};

/// The text of a file.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    /// All of it.
    pub source: &'a str,
    /// Its number.
    pub file: FileId,
}

impl<'a> Lines<'a> {
    /// A range of bytes as a span.
    pub fn span(&self, range: Range<usize>) -> Span {
        Span { file: self.file, start: range.start as u32, end: range.end as u32 }
    }

    /// Whether a place is the first on its line.
    pub fn own_line(&self, at: usize) -> bool {
        let text =
            self.source.get(..at).unwrap_or("").trim_end_matches(|c: char| c.is_whitespace() && c != '\n' && c != '\r');
        text.is_empty() || text.ends_with(['\n', '\r', BYTE_ORDER_MARK])
    }

    /// Whether there is a blank line above a place. False at the start of the file and after an opening brace.
    pub fn blank_before(&self, at: usize) -> bool {
        let text = self.source.get(..at).unwrap_or("");
        let above = text.trim_end();
        let breaks = text.get(above.len()..).unwrap_or("").matches('\n').count();
        breaks >= 2 && !above.is_empty() && !above.ends_with('{')
    }

    /// A comment on a line of its own.
    pub fn comment(&self, range: Range<usize>) -> Comment {
        let text = self.source.get(range.clone()).unwrap_or("").trim_end();
        Comment {
            text: comment_text(text, 2),
            span: self.span(range.start..range.start + text.len()),
            blank_before: self.blank_before(range.start),
        }
    }

    /// The error for a string that is not closed on its line.
    pub fn unterminated(&self, token: Token) -> Diagnostic {
        let error = Diagnostic::new("E0005", self.span(token.range()), "unclosed string");
        match token.text(self.source).starts_with('\'') {
            true => error.help("use double quotes for strings"),
            false => error.help("close it with `\"`; write `\\n` for a line break"),
        }
    }
}

/// The text of a comment without its marks, one blank after them, and trailing blanks.
pub fn comment_text(comment: &str, marks: usize) -> String {
    let text = comment.get(marks..).unwrap_or("").trim_end();
    text.strip_prefix(' ').unwrap_or(text).to_owned()
}

/// The error for a comment where none may be.
pub fn misplaced(span: Span) -> Diagnostic {
    Diagnostic::new("E0004", span, "a comment cannot stand here")
        .help("put it on its own line, above the item, statement, arm or row that it describes")
}

/// `` `a`, `b` or `c` ``
pub fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    alternatives(&quoted)
}

/// `a, b or c`
pub fn alternatives(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// A source text in a message: in backquotes, shortened if it is long, and by code point if it is invisible.
pub fn shown(text: &str) -> String {
    match text.chars().next() {
        Some(c) if c.is_control() || c.is_whitespace() => format!("the character U+{:04X}", c as u32),
        Some('"' | '\'') => "a string".to_owned(),
        _ if text.chars().count() > 24 => format!("`{}...`", text.chars().take(24).collect::<String>()),
        _ => format!("`{text}`"),
    }
}
