//! The queries are those of this grammar, and name all words of the language.

use std::collections::BTreeSet;

use aten2onnx_opmap::vocabulary::{header_words, item_words, reserved_words};
use streaming_iterator::StreamingIterator;
use tree_sitter::{Language, Parser, Query, QueryCursor};

use crate::texts;

fn language() -> Language {
    tree_sitter_opmap::LANGUAGE.into()
}

#[test]
fn queries_fit_the_grammar() {
    for query in [
        tree_sitter_opmap::HIGHLIGHTS_QUERY,
        tree_sitter_opmap::FOLDS_QUERY,
        tree_sitter_opmap::INDENTS_QUERY,
        tree_sitter_opmap::LOCALS_QUERY,
    ] {
        let query = Query::new(&language(), query).unwrap_or_else(|error| panic!("{error}"));
        assert!(query.pattern_count() > 1);
    }
}

#[test]
fn every_word_of_the_language_is_highlighted() {
    let all = item_words().iter().chain(reserved_words()).chain(header_words());
    let missing: Vec<_> =
        all.filter(|word| !tree_sitter_opmap::HIGHLIGHTS_QUERY.contains(&format!("\"{word}\""))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_name_of_a_highlight_is_used_by_the_rules() {
    let query = Query::new(&language(), tree_sitter_opmap::HIGHLIGHTS_QUERY).unwrap();
    let mut parser = Parser::new();
    parser.set_language(&language()).unwrap();
    let mut seen = BTreeSet::new();
    for text in texts::all() {
        let tree = parser.parse(&text.text, None).unwrap();
        let mut cursor = QueryCursor::new();
        let mut captures = cursor.captures(&query, tree.root_node(), text.text.as_bytes());
        while let Some((found, at)) = captures.next() {
            seen.insert(query.capture_names()[found.captures[*at].index as usize]);
        }
    }
    let unused: Vec<_> = query.capture_names().iter().filter(|name| !seen.contains(*name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}
