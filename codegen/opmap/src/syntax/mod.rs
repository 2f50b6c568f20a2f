//! The parser and the formatter.
//!
//! `cut` finds the items, so that a syntax error in one does not hide those in others. `parse` parses each item with the grammar in
//! `grammar.pest`; only this module uses pest. `print` is the formatter.

pub mod ast;
mod brackets;
mod cut;
pub mod fact;
mod lines;
mod parse;
mod print;
pub mod scan;

pub use parse::parse_file;
pub use print::{example_line, print_file};
