//! What cutting and parsing both need to know of lines, comments and words.

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

    /// Does nothing stand before a place on its line?
    pub fn own_line(&self, at: usize) -> bool {
        let text =
            self.source.get(..at).unwrap_or("").trim_end_matches(|c: char| c.is_whitespace() && c != '\n' && c != '\r');
        text.is_empty() || text.ends_with(['\n', '\r', BYTE_ORDER_MARK])
    }

    /// Is the line before the line of a place blank? False at the head of the file and after an opening brace.
    pub fn blank_before(&self, at: usize) -> bool {
        let text = self.source.get(..at).unwrap_or("");
        let above = text.trim_end();
        let breaks = text.get(above.len()..).unwrap_or("").matches('\n').count();
        breaks >= 2 && !above.is_empty() && !above.ends_with('{')
    }

    /// A comment that stands on its own line.
    pub fn comment(&self, range: Range<usize>) -> Comment {
        let text = self.source.get(range.clone()).unwrap_or("").trim_end();
        Comment {
            text: content(text, 2),
            span: self.span(range.start..range.start + text.len()),
            blank_before: self.blank_before(range.start),
        }
    }

    /// The error of a string that its line ends.
    pub fn unterminated(&self, token: Token) -> Diagnostic {
        let error = Diagnostic::new("E0005", self.span(token.range()), "the string is not closed on its line");
        match token.text(self.source).starts_with('\'') {
            true => error.help("strings stand in double quotes"),
            false => error.help("end it with `\"`; a line break is written `\\n`"),
        }
    }
}

/// What a comment says: without its `marks` first bytes, one blank after them and blanks at the end.
pub fn content(comment: &str, marks: usize) -> String {
    let text = comment.get(marks..).unwrap_or("").trim_end();
    text.strip_prefix(' ').unwrap_or(text).to_owned()
}

/// The error of a comment where the tree has no room for one.
pub fn misplaced(span: Span) -> Diagnostic {
    Diagnostic::new("E0004", span, "a comment cannot stand here")
        .help("put it on a line of its own, above the item, statement, arm or row that it is about")
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

/// A piece of source in a message: in backquotes, cut if it is long, and by its number if it cannot be seen.
pub fn shown(text: &str) -> String {
    match text.chars().next() {
        Some(c) if c.is_control() || c.is_whitespace() => format!("the character U+{:04X}", c as u32),
        Some('"' | '\'') => "a string".to_owned(),
        _ if text.chars().count() > 24 => format!("`{}...`", text.chars().take(24).collect::<String>()),
        _ => format!("`{text}`"),
    }
}
