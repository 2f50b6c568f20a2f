//! The grammar of opmap for tree-sitter: the language, and its queries for editors.
//!
//! `grammar.js` is its source. The compiler does not use it: a test holds both together.

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_opmap() -> *const ();
}

/// The language.
// SAFETY: the function is the one that tree-sitter generated, and returns its language.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_opmap) };

/// What each word is.
pub const HIGHLIGHTS_QUERY: &str = include_str!("../../queries/highlights.scm");
/// What can be folded.
pub const FOLDS_QUERY: &str = include_str!("../../queries/folds.scm");
/// What is indented.
pub const INDENTS_QUERY: &str = include_str!("../../queries/indents.scm");
/// Where names are bound and used.
pub const LOCALS_QUERY: &str = include_str!("../../queries/locals.scm");
