//! The items of a file and of the folder as lists.

use lsp_types::{DocumentSymbol, Location, SymbolInformation, SymbolKind};

use crate::document::Document;
use crate::state::State;
use crate::words::Head;

/// The most symbols of an answer about the folder.
const MOST: usize = 256;

fn kind_of(head: &Head) -> SymbolKind {
    match head.keyword.as_str() {
        "map" => SymbolKind::METHOD,
        "lower" | "raise" | "same" => SymbolKind::CLASS,
        "fuse" => SymbolKind::OPERATOR,
        "example" => SymbolKind::EVENT,
        keyword if keyword.ends_with("fn") => SymbolKind::FUNCTION,
        _ => SymbolKind::PROPERTY,
    }
}

/// The items of a file, broken ones too.
#[allow(deprecated, reason = "the protocol's type has a field that is deprecated, and must be written")]
pub fn document_symbols(document: &Document) -> Vec<DocumentSymbol> {
    let heads = document.words.items.iter().filter_map(|item| document.words.head(&document.text, item));
    heads
        .map(|head| DocumentSymbol {
            name: head.title(),
            detail: Some(head.keyword.clone()),
            kind: kind_of(&head),
            tags: None,
            deprecated: None,
            range: document.range(head.range.clone()),
            selection_range: document.range(head.name.range.clone()),
            children: None,
        })
        .collect()
}

/// The items of all files whose name contains these letters in this order; those that contain the text come first. Examples are left out.
#[allow(deprecated, reason = "the protocol's type has a field that is deprecated, and must be written")]
pub fn workspace_symbols(state: &State, query: &str) -> Vec<SymbolInformation> {
    let query = query.to_lowercase();
    let mut found = Vec::new();
    for document in &state.files {
        for head in document.words.items.iter().filter_map(|item| document.words.head(&document.text, item)) {
            if matches!(head.keyword.as_str(), "example" | "view" | "write" | "update" | "rewrite" | "fact") {
                continue;
            }
            let title = head.title();
            let Some(rank) = rank(&title.to_lowercase(), &query) else { continue };
            let location = Location::new(document.uri.clone(), document.range(head.name.range.clone()));
            found.push((rank, title.len(), title, kind_of(&head), head.keyword, location));
        }
    }
    found.sort_by(|a, b| (a.0, a.1, &a.2, a.5.uri.as_str()).cmp(&(b.0, b.1, &b.2, b.5.uri.as_str())));
    found.truncate(MOST);
    found
        .into_iter()
        .map(|(_, _, name, kind, keyword, location)| SymbolInformation {
            name,
            kind,
            tags: None,
            deprecated: None,
            location,
            container_name: Some(keyword),
        })
        .collect()
}

/// How well a name fits a query. None if its letters are not in the name in this order.
fn rank(name: &str, query: &str) -> Option<u8> {
    if name == query {
        return Some(0);
    }
    if name.contains(query) {
        return Some(1);
    }
    let mut letters = name.chars();
    query.chars().all(|wanted| letters.any(|c| c == wanted)).then_some(2)
}
