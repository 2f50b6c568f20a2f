//! The parser and the formatter.
//!
//! `cut` finds the items, so that a syntax error in one does not hide those in others. `parse` parses each item with the grammar in
//! `grammar.pest`; only this module uses pest. `print` is the formatter.

use std::ops::Range;

use crate::source::FileId;

pub mod ast;
mod brackets;
pub(crate) mod cut;
pub mod fact;
mod lines;
pub(crate) mod parse;
mod print;
pub mod scan;

pub use parse::parse_file;
pub use print::{example_line, print_file};

/// The items of a text in their order, from the keyword to the last character. Those with syntax errors are among them.
pub fn item_ranges(source: &str) -> Vec<Range<usize>> {
    cut::cut(source, FileId::default(), &mut Vec::new()).pieces.into_iter().map(|piece| piece.range).collect()
}
