//! From text to the syntax tree and back.
//!
//! `cut` finds where the items are, so that a mistake in one does not hide the others; `parse` reads each of them by
//! the grammar in `grammar.pest` and is the only one to know pest; `print` is the formatter.

pub mod ast;
mod brackets;
mod cut;
mod lines;
mod parse;
mod print;
mod scan;

pub use parse::parse_file;
pub use print::print_file;
