//! A file as a flat list of tokens, to find items, brackets and comments without parsing.

use std::ops::Range;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Letters, digits and underscores.
    Word,
    /// `"text"`, or `'text'` as a default in a header.
    Str,
    /// A string that is not closed on its line.
    Unterminated,
    /// `(`, `[` or `{`
    Open,
    /// `)`, `]` or `}`
    Close,
    /// Any other mark, of one or two characters.
    Mark,
    /// `// text`
    Comment,
    /// `/// text`
    Doc,
    /// `//! text`
    FileDoc,
}

/// A token and the bytes that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// The first byte of its line.
    pub line: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Token {
    /// Its bytes.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Its text.
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.start..self.end).unwrap_or("")
    }

    /// The text before it on its line.
    pub fn before<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.line..self.start).unwrap_or("")
    }

    /// The same token of a text that begins at `offset`.
    pub fn offset_by(self, offset: usize) -> Token {
        Token { line: self.line + offset, start: self.start + offset, end: self.end + offset, ..self }
    }

    /// Whether it is a comment of any kind.
    pub fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::Comment | Kind::Doc | Kind::FileDoc)
    }
}

/// Marks of two characters.
const PAIRS: &[&str] = &["&&", "||", "??", "==", "!=", "<=", ">=", "=>", "->", "**", "..", "::"];

/// May be at the start of a file.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// All tokens of a text in order. Every character that is not blank belongs to one of them.
pub fn scan(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let (mut line, mut at) = (0, 0);
    while let Some(rest) = source.get(at..) {
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() || (at == 0 && first == BYTE_ORDER_MARK) {
            at += first.len_utf8();
            if matches!(first, '\n' | '\r' | BYTE_ORDER_MARK) {
                line = at;
            }
            continue;
        }
        let (kind, length) = token(rest, first);
        tokens.push(Token { kind, line, start: at, end: at + length });
        at += length;
    }
    tokens
}

/// The kind and the length of the token that begins `rest`.
fn token(rest: &str, first: char) -> (Kind, usize) {
    if rest.starts_with("//") {
        return comment(rest);
    }
    match first {
        '"' | '\'' => string(rest, first),
        '(' | '[' | '{' => (Kind::Open, 1),
        ')' | ']' | '}' => (Kind::Close, 1),
        _ if is_word(first) => (Kind::Word, rest.find(|c| !is_word(c)).unwrap_or(rest.len())),
        _ if PAIRS.iter().any(|pair| rest.starts_with(pair)) => (Kind::Mark, 2),
        _ => (Kind::Mark, first.len_utf8()),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn comment(rest: &str) -> (Kind, usize) {
    let line = rest.split(['\n', '\r']).next().unwrap_or(rest);
    let kind = match line {
        _ if line.starts_with("////") => Kind::Comment,
        _ if line.starts_with("///") => Kind::Doc,
        _ if line.starts_with("//!") => Kind::FileDoc,
        _ => Kind::Comment,
    };
    (kind, line.trim_end().len())
}

fn string(rest: &str, quote: char) -> (Kind, usize) {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' | '\r' => return (Kind::Unterminated, at),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return (Kind::Str, at + c.len_utf8()),
            _ => {}
        }
    }
    (Kind::Unterminated, rest.len())
}
