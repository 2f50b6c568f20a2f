//! From the text of a file to its syntax tree. Only this module uses pest.
//!
//! It takes any text and returns the items without syntax errors, and an error for each of the others. It does not resolve names.

pub(crate) mod example;
mod expression;
mod fact;
pub(crate) mod failure;
#[rustfmt::skip]
mod grammar;
mod item;
mod literal;
mod statement;
mod ty;

use std::cell::RefCell;
use std::iter::Peekable;
use std::ops::Range;

use pest::Parser;
use pest::iterators::Pairs;

use super::ast::{self, Comment, Ident};
use super::cut::{self, Piece};
use super::lines::{self, Lines};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Sources, Span};

use grammar::{Grammar, Rule};

type Pair<'i> = pest::iterators::Pair<'i, Rule>;

/// Parses one file. Items with syntax errors are left out of the tree.
pub fn parse_file(sources: &Sources, id: FileId, out: &mut Vec<Diagnostic>) -> ast::File {
    let source = sources.files.get(id.0 as usize).map_or("", |file| file.text.as_str());
    let lines = Lines { source, file: id };
    if u32::try_from(source.len()).is_err() {
        out.push(Diagnostic::new("E0001", lines.span(0..0), "the file is larger than 4 GiB"));
        return ast::File { docs: Vec::new(), items: Vec::new(), trailing: Vec::new() };
    }
    let cut = cut::cut(source, id, out);
    let mut items = Vec::new();
    for piece in cut.pieces {
        if piece.broken {
            continue;
        }
        let reader = Reader { lines, offset: piece.range.start, errors: RefCell::default() };
        items.extend(reader.piece(piece));
        out.extend(reader.errors.into_inner());
    }
    ast::File { docs: cut.docs, items, trailing: cut.trailing }
}

/// Turns pest's pairs into the tree.
struct Reader<'a> {
    lines: Lines<'a>,
    /// The offset in the file of the text that pest parses.
    offset: usize,
    errors: RefCell<Vec<Diagnostic>>,
}

impl<'a> Reader<'a> {
    fn piece(&self, piece: Piece) -> Option<ast::Item> {
        let text = self.lines.source.get(piece.range.clone())?;
        let kind = self.parse(Rule::item, text).and_then(|pair| self.item(pair));
        if kind.is_none() && self.errors.borrow().is_empty() {
            self.error(Diagnostic::new("E0001", self.lines.span(piece.range.clone()), "this item cannot be parsed"));
        }
        Some(ast::Item {
            comments: piece.comments,
            docs: piece.docs,
            blank_before: piece.blank_before,
            kind: kind?,
            span: self.lines.span(piece.range),
        })
    }

    /// Runs pest on a text that begins at `offset`. An error becomes a diagnostic.
    fn parse<'i>(&self, rule: Rule, text: &'i str) -> Option<Pair<'i>> {
        match Grammar::parse(rule, text) {
            Ok(mut pairs) => pairs.next(),
            Err(error) => {
                self.error(failure::diagnostic(self.lines, self.offset, text, &error));
                None
            }
        }
    }

    fn error(&self, error: Diagnostic) {
        self.errors.borrow_mut().push(error);
    }

    /// The place of a pair without trailing blanks, which pest may include.
    fn span(&self, pair: &Pair<'_>) -> Span {
        let start = self.offset + pair.as_span().start();
        self.lines.span(start..start + pair.as_str().trim_end().len())
    }

    fn range(&self, pair: &Pair<'_>) -> Range<usize> {
        self.span(pair).range()
    }

    fn ident(&self, pair: &Pair<'_>) -> Ident {
        Ident { text: pair.as_str().trim_end().to_owned(), span: self.span(pair) }
    }

    /// A comment inside an item. It must be on a line of its own.
    fn comment(&self, pair: &Pair<'_>) -> Comment {
        let comment = self.lines.comment(self.range(pair));
        if !self.lines.own_line(self.range(pair).start) {
            self.error(lines::misplaced(comment.span));
        }
        comment
    }

    /// Whether there is a blank line before a pair.
    fn blank_before(&self, pair: &Pair<'_>) -> bool {
        self.lines.blank_before(self.range(pair).start)
    }
}

/// The pairs inside a pair, without punctuation, which has rules only for error messages.
struct Parts<'i>(Peekable<Pairs<'i, Rule>>);

impl<'i> Parts<'i> {
    fn of(pair: Pair<'i>) -> Self {
        Parts(pair.into_inner().peekable())
    }

    fn skip_punctuation(&mut self) {
        while self.0.next_if(|pair| is_punctuation(pair.as_rule())).is_some() {}
    }

    /// The next pair, if it has this rule.
    fn one(&mut self, rule: Rule) -> Option<Pair<'i>> {
        self.skip_punctuation();
        self.0.next_if(|pair| pair.as_rule() == rule)
    }
}

impl<'i> Iterator for Parts<'i> {
    type Item = Pair<'i>;

    fn next(&mut self) -> Option<Pair<'i>> {
        self.skip_punctuation();
        self.0.next()
    }
}

fn is_punctuation(rule: Rule) -> bool {
    use Rule::*;
    matches!(rule, open_paren | close_paren | open_bracket | close_bracket | open_brace | close_brace | comma | bar)
        || matches!(rule, equals | arrow | fat_arrow | range_mark | EOI)
        || matches!(
            rule,
            kw_map
                | kw_lower
                | kw_raise
                | kw_fuse
                | kw_same
                | kw_fn
                | kw_extern
                | kw_unsupported
                | kw_import_domain
                | kw_example
        )
        || matches!(rule, kw_for | kw_in | kw_if | kw_else | kw_let | kw_match | kw_fail | kw_since | kw_ignore)
        || matches!(rule, kw_before | kw_from | kw_as | kw_with | kw_fold | kw_return | kw_because | kw_is)
}
