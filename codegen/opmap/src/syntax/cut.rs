//! Cuts a file into items before parsing, so that the errors of several items are found in one run.
//!
//! An item begins with its keyword at the start of a line, outside brackets. If brackets do not balance, a keyword in the first
//! column begins a new item. After this pass every part of the file belongs to one item or to the comments before one, and items
//! that are not broken have balanced brackets and a bounded depth.

use aten2onnx_schemas::nearest::nearest;
use std::ops::Range;

use super::ast::Comment;
use super::brackets::Brackets;
use super::lines::{self, Lines};
use super::scan::{Kind, Token, scan};
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::{FileId, Span};

/// The first words of items.
pub const KEYWORDS: &[&str] = &[
    "map",
    "lower",
    "raise",
    "fuse",
    "same",
    "pub",
    "fn",
    "extern",
    "unsupported",
    "import_domain",
    "view",
    "write",
    "update",
    "rewrite",
    "fact",
    "example",
];

/// Words that may begin a line inside an item, even in the first column.
const CONTINUE: &[&str] = &["else", "for", "since", "with", "before", "from", "as", "in"];

/// A file in pieces.
#[derive(Debug, Default)]
pub struct Cut {
    /// `//!` lines.
    pub docs: Vec<String>,
    /// The items, in order.
    pub pieces: Vec<Piece>,
    /// Comments after the last item.
    pub trailing: Vec<Comment>,
}

/// The text of one item.
#[derive(Debug)]
pub struct Piece {
    /// Comment lines before it.
    pub comments: Vec<Comment>,
    /// Its `///` lines.
    pub docs: Vec<String>,
    /// There is a blank line before its documentation or keyword.
    pub blank_before: bool,
    /// Its bytes, from its keyword to its last character.
    pub range: Range<usize>,
    /// It has an error and is not parsed.
    pub broken: bool,
}

/// Cuts `source`, the text of `file`.
pub fn cut(source: &str, file: FileId, out: &mut Vec<Diagnostic>) -> Cut {
    let tokens = scan(source);
    let mut cutter = Cutter {
        lines: Lines { source, file },
        tokens: &tokens,
        out,
        cut: Cut::default(),
        item: None,
        waiting: Vec::new(),
    };
    for at in 0..tokens.len() {
        cutter.token(at);
    }
    cutter.end_of_file();
    cutter.cut
}

struct Cutter<'a> {
    lines: Lines<'a>,
    tokens: &'a [Token],
    out: &'a mut Vec<Diagnostic>,
    cut: Cut,
    item: Option<Current<'a>>,
    /// Comments since the last other token. They are in the item if it continues, else before the next one.
    waiting: Vec<Token>,
}

/// The current item.
struct Current<'a> {
    piece: Piece,
    last: Token,
    brackets: Brackets<'a>,
}

impl<'a> Cutter<'a> {
    fn token(&mut self, at: usize) {
        let Some(&token) = self.tokens.get(at) else { return };
        if token.is_comment() {
            self.waiting.push(token);
        } else if self.begins_item(at, token) {
            self.end_item();
            self.begin_item(at, token);
        } else {
            self.waiting.clear();
            self.extend_item(token);
        }
    }

    fn begins_item(&self, at: usize, token: Token) -> bool {
        let Some(item) = &self.item else { return true };
        if token.kind != Kind::Word || !token.before(self.lines.source).trim().is_empty() {
            return false;
        }
        let word = token.text(self.lines.source);
        let first_column = token.line == token.start;
        if KEYWORDS.contains(&word) {
            return match item.brackets.balanced() {
                true => first_column || self.name_follows(at),
                false => first_column && self.name_follows(at),
            };
        }
        // A misspelt keyword, if the item before may end here and a name follows.
        let complete = matches!(item.last.kind, Kind::Word | Kind::Str | Kind::Close);
        first_column && item.brackets.balanced() && complete && !CONTINUE.contains(&word) && self.name_follows(at)
    }

    /// Whether a name follows on the same line, after blanks. Inside items, two names are adjacent only in headers.
    fn name_follows(&self, at: usize) -> bool {
        let (Some(token), Some(next)) = (self.tokens.get(at), self.tokens.get(at + 1)) else { return false };
        let between = self.lines.source.get(token.end..next.start).unwrap_or("");
        let name = next.kind == Kind::Word || next.text(self.lines.source) == "{";
        name && !between.is_empty() && !between.contains('\n')
    }

    fn begin_item(&mut self, at: usize, token: Token) {
        let (comments, docs) = self.lead();
        let blank_before = self.blank_before(at, docs.len());
        let word = token.text(self.lines.source);
        // The check of brackets reports a closing bracket without an opening one.
        let broken = !KEYWORDS.contains(&word) && token.kind != Kind::Close;
        if broken {
            self.out.push(self.unknown_item(token));
        }
        let piece = Piece { comments, docs, blank_before, range: token.range(), broken };
        let brackets = Brackets::new(self.lines);
        self.item = Some(Current { piece, last: token, brackets });
        self.extend_item(token);
    }

    /// Whether there is a blank line before the documentation (the last `docs` comment tokens) or the keyword.
    fn blank_before(&self, at: usize, docs: usize) -> bool {
        let first = at.checked_sub(docs).and_then(|first| self.tokens.get(first));
        first.is_some_and(|token| self.lines.blank_before(token.start))
    }

    fn unknown_item(&self, token: Token) -> Diagnostic {
        let word = token.text(self.lines.source);
        let span = self.lines.span(token.range());
        if token.kind != Kind::Word {
            return Diagnostic::new("E0006", span, format!("expected an item, found {}", lines::shown(word)))
                .note(format!("an item begins with {}", lines::one_of(KEYWORDS)));
        }
        let error = Diagnostic::new("E0006", span, format!("unknown item `{word}`"));
        match nearest(word, KEYWORDS.iter().copied()) {
            Some(keyword) => error.label(format!("did you mean `{keyword}`?")).fix(
                format!("replace by `{keyword}`"),
                FixPlace::Text(span),
                keyword,
            ),
            None => error.note(format!("an item begins with {}", lines::one_of(KEYWORDS))),
        }
    }

    fn extend_item(&mut self, token: Token) {
        let Some(item) = &mut self.item else { return };
        item.last = token;
        item.piece.range.end = token.end;
        let error = match token.kind {
            Kind::Unterminated => Some(self.lines.unterminated(token)),
            _ => item.brackets.feed(token),
        };
        if let Some(error) = error {
            if !item.piece.broken {
                self.out.push(error);
            }
            item.piece.broken = true;
        }
    }

    fn end_item(&mut self) {
        let Some(mut item) = self.item.take() else { return };
        if !item.piece.broken
            && let Some(error) = item.brackets.finish()
        {
            item.piece.broken = true;
            self.out.push(error);
        }
        self.cut.pieces.push(item.piece);
    }

    /// Comments and documentation before an item, or at the start of the file.
    fn lead(&mut self) -> (Vec<Comment>, Vec<String>) {
        let mut comments = Vec::new();
        let mut docs = Vec::new();
        for token in std::mem::take(&mut self.waiting) {
            let (span, text) = (self.lines.span(token.range()), token.text(self.lines.source));
            if !token.before(self.lines.source).trim().is_empty() {
                self.out.push(lines::misplaced(span));
            } else if token.kind == Kind::FileDoc {
                if self.cut.pieces.is_empty() && comments.is_empty() && docs.is_empty() {
                    self.cut.docs.push(lines::comment_text(text, 3));
                    continue;
                }
                let error = Diagnostic::new("E0004", span, "`//!` must be at the start of the file");
                self.out.push(error.help("write `///` to document an item and `//` for a comment"));
            } else if token.kind == Kind::Doc {
                docs.push(lines::comment_text(text, 3));
            } else if docs.is_empty() {
                comments.push(self.lines.comment(token.range()));
            } else {
                let error = Diagnostic::new("E0004", span, "a comment between documentation and its item");
                self.out.push(error.help("put it above the `///` lines"));
            }
        }
        (comments, docs)
    }

    fn end_of_file(&mut self) {
        self.end_item();
        let first_doc = self.waiting.iter().find(|token| token.kind == Kind::Doc).copied();
        let (comments, docs) = self.lead();
        self.cut.trailing = comments;
        if let Some(token) = first_doc
            && !docs.is_empty()
        {
            let span: Span = self.lines.span(token.range());
            let error = Diagnostic::new("E0004", span, "documentation without an item");
            self.out.push(error.label("no item follows").help("write a comment with `//`"));
        }
    }
}
