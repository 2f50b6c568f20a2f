//! Semantic tokens: what each word of a file is. Words that are bound are parameters or variables as far as the checker knows them.

use std::collections::{HashMap, HashSet};

use aten2onnx_opmap::source::FileId;
use aten2onnx_opmap::syntax::scan::{Kind, Token};
use aten2onnx_opmap::vocabulary::{
    builtin_calls, constant_names, dtype_names, element_types, header_words, item_words, reserved_words, type_names,
};
use lsp_types::{SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend};

use crate::document::Document;
use crate::state::State;

const TYPES: [SemanticTokenType; 11] = [
    SemanticTokenType::KEYWORD,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::CLASS,
    SemanticTokenType::TYPE,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::ENUM_MEMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::NUMBER,
    SemanticTokenType::COMMENT,
];

/// What the numbers in the answers mean.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.to_vec(),
        token_modifiers: vec![SemanticTokenModifier::DOCUMENTATION, SemanticTokenModifier::DEFAULT_LIBRARY],
    }
}

const DOCUMENTATION: u32 = 1;
const DEFAULT_LIBRARY: u32 = 2;

/// What each word of a file is.
pub fn semantic_tokens(state: &State, document: &Document, file: Option<FileId>) -> SemanticTokens {
    let bound = bound_words(state, document, file);
    let lists = Lists::new();
    let mut data = Vec::new();
    let (mut line, mut character) = (0, 0);
    for (i, token) in document.words.tokens.iter().enumerate() {
        let Some((ty, modifiers)) = class_of(state, document, i, token, &bound, &lists) else { continue };
        let Some(ty) = TYPES.iter().position(|own| *own == ty) else { continue };
        let start = document.position(token.start);
        let delta_start = if start.line == line { start.character - character } else { start.character };
        data.push(SemanticToken {
            delta_line: start.line - line,
            delta_start,
            length: token.text(&document.text).encode_utf16().count() as u32,
            token_type: ty as u32,
            token_modifiers_bitset: modifiers,
        });
        (line, character) = (start.line, start.character);
    }
    SemanticTokens { result_id: None, data }
}

/// The words of the language, for fast look-ups.
struct Lists {
    keywords: HashSet<&'static str>,
    headers: HashSet<&'static str>,
    types: HashSet<&'static str>,
    values: HashSet<&'static str>,
    builtins: HashSet<&'static str>,
}

impl Lists {
    fn new() -> Lists {
        Lists {
            keywords: reserved_words().iter().copied().collect(),
            headers: item_words().iter().chain(header_words()).copied().collect(),
            types: type_names().chain(element_types().iter().copied()).collect(),
            values: dtype_names().iter().chain(constant_names()).copied().collect(),
            builtins: builtin_calls().map(|(name, _)| name).collect(),
        }
    }
}

/// The places of bound names in the text as it is, and whether they are parameters.
fn bound_words(state: &State, document: &Document, file: Option<FileId>) -> HashMap<usize, bool> {
    let mut words = HashMap::new();
    let Some(file) = file else { return words };
    for known in state.known(file).iter().rev() {
        let links = &known.analysis.checked.program.links;
        let params: HashMap<_, _> = links.bound.iter().map(|bound| (bound.span, bound.is_param)).collect();
        let uses = links.uses.iter().filter_map(|(written, bound)| Some((*written, *params.get(bound)?)));
        for (span, is_param) in links.bound.iter().map(|bound| (bound.span, bound.is_param)).chain(uses) {
            if span.file != file {
                continue;
            }
            let now = known.difference.range_to_new(span.range());
            let same = now.filter(|now| document.text.get(now.clone()) == known.analysis.text(file).get(span.range()));
            if let Some(now) = same {
                words.insert(now.start, is_param);
            }
        }
    }
    words
}

fn class_of(
    state: &State,
    document: &Document,
    index: usize,
    token: &Token,
    bound: &HashMap<usize, bool>,
    lists: &Lists,
) -> Option<(SemanticTokenType, u32)> {
    let (text, tokens) = (&document.text, &document.words.tokens);
    let word = token.text(text);
    let near = |i: Option<usize>| i.and_then(|i| tokens.get(i)).map_or("", |token| token.text(text));
    match token.kind {
        Kind::Comment => return Some((SemanticTokenType::COMMENT, 0)),
        Kind::Doc | Kind::FileDoc => return Some((SemanticTokenType::COMMENT, DOCUMENTATION)),
        Kind::Str | Kind::Unterminated => return Some((SemanticTokenType::STRING, 0)),
        Kind::Open | Kind::Close | Kind::Mark => return None,
        Kind::Word => {}
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return Some((SemanticTokenType::NUMBER, 0));
    }
    let (before, after) = (near(index.checked_sub(1)), near(Some(index + 1)));
    if before == "::" || after == "::" {
        let is_operator = word.starts_with(|c: char| c.is_ascii_uppercase());
        return Some((if is_operator { SemanticTokenType::CLASS } else { SemanticTokenType::FUNCTION }, 0));
    }
    if let Some(is_param) = bound.get(&token.start) {
        return Some((if *is_param { SemanticTokenType::PARAMETER } else { SemanticTokenType::VARIABLE }, 0));
    }
    if lists.keywords.contains(word) || lists.headers.contains(word) && is_keyword_here(document, index) {
        return Some((SemanticTokenType::KEYWORD, 0));
    }
    if state.is_operator(word) {
        return Some((SemanticTokenType::CLASS, 0));
    }
    if after == "(" {
        let modifiers = if lists.builtins.contains(word) { DEFAULT_LIBRARY } else { 0 };
        return Some((SemanticTokenType::FUNCTION, modifiers));
    }
    if lists.types.contains(word) && !lists.values.contains(word) || after == "[" && lists.types.contains(word) {
        return Some((SemanticTokenType::TYPE, 0));
    }
    if after == "=" && matches!(before, "(" | ",") {
        return Some((SemanticTokenType::PROPERTY, 0));
    }
    lists.values.contains(word).then_some((SemanticTokenType::ENUM_MEMBER, DEFAULT_LIBRARY))
}

/// Whether a word that is a name elsewhere is a keyword: it is in the beginning of an item, or after its brackets.
fn is_keyword_here(document: &Document, index: usize) -> bool {
    let (text, words) = (&document.text, &document.words);
    let Some(token) = words.tokens.get(index) else { return false };
    let Some(item) = words.item_at(token.start) else { return false };
    let is_first = words.within(&item).start + 2 >= index;
    let word = token.text(text);
    let follows = index.checked_sub(1).and_then(|i| words.tokens.get(i)).map(|token| token.kind);
    match item_words().contains(&word) {
        true => is_first && words.head(text, &item).is_some_and(|head| token.end <= head.name.range.start),
        false => matches!(follows, Some(Kind::Word | Kind::Close)) && words.depth_at(token.start) == 0,
    }
}
