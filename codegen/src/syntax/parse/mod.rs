//! From the text of a file to its syntax tree. This module alone knows pest.
//!
//! Takes any text; gives the items that could be read, and an error for each that could not. It does not look at what
//! names mean.

mod example;
mod expression;
mod failure;
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

/// What pest makes of `grammar.pest`.
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "syntax/grammar.pest"]
    pub struct Grammar;
}

use grammar::{Grammar, Rule};

type Pair<'i> = pest::iterators::Pair<'i, Rule>;

/// Reads one file. Items with syntax errors are left out of the tree.
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
    /// Where the text that pest sees begins in the file.
    offset: usize,
    errors: RefCell<Vec<Diagnostic>>,
}

impl<'a> Reader<'a> {
    fn piece(&self, piece: Piece) -> Option<ast::Item> {
        let text = self.lines.source.get(piece.range.clone())?;
        let kind = self.parse(Rule::item, text).and_then(|pair| self.item(pair));
        if kind.is_none() && self.errors.borrow().is_empty() {
            self.error(Diagnostic::new("E0001", self.lines.span(piece.range.clone()), "this item cannot be read"));
        }
        Some(ast::Item {
            comments: piece.comments,
            docs: piece.docs,
            blank_before: piece.blank_before,
            kind: kind?,
            span: self.lines.span(piece.range),
        })
    }

    /// Runs pest on a text that begins at `offset`; the error becomes a diagnostic.
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

    /// The place of a pair, without the blanks that pest may have put at its end.
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

    /// A comment inside an item; an error if it does not have its line for itself.
    fn comment(&self, pair: &Pair<'_>) -> Comment {
        let comment = self.lines.comment(self.range(pair));
        if !self.lines.own_line(self.range(pair).start) {
            self.error(lines::misplaced(comment.span));
        }
        comment
    }

    /// Is there a blank line before a pair?
    fn blank_before(&self, pair: &Pair<'_>) -> bool {
        self.lines.blank_before(self.range(pair).start)
    }
}

/// The pairs inside a pair, without the punctuation that is only there for error messages.
struct Parts<'i>(Peekable<Pairs<'i, Rule>>);

impl<'i> Parts<'i> {
    fn of(pair: Pair<'i>) -> Self {
        Parts(pair.into_inner().peekable())
    }

    fn skip_punctuation(&mut self) {
        while self.0.next_if(|pair| is_punctuation(pair.as_rule())).is_some() {}
    }

    /// The next one, if it is of this rule.
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
            kw_map | kw_lower | kw_same | kw_fn | kw_extern | kw_unsupported | kw_import_domain | kw_example
        )
        || matches!(rule, kw_for | kw_in | kw_if | kw_else | kw_let | kw_match | kw_fail | kw_since | kw_ignore)
        || matches!(rule, kw_before | kw_as | kw_with)
}

#[cfg(test)]
mod tests;
