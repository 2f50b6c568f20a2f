//! What may stand in expressions and in the arguments of calls and examples.

use std::collections::BTreeMap;

use aten2onnx_operators::pattern::is_fusion;
use aten2onnx_opmap::syntax::scan::Kind;
use aten2onnx_opmap::tree::{is_private, short_name};
use aten2onnx_opmap::vocabulary::{builtin_calls, constant_names, dtype_names, element_types, reserved_words};
use aten2onnx_schemas::operators::Values;
use lsp_types::CompletionItemKind;

use super::headers::rule;
use super::{Blank, Choice};
use crate::describe::{attribute_word, header};
use crate::signature::header_of;
use crate::words::Head;

/// The texts that an attribute may have, inside of a string.
pub fn strings(blank: &Blank<'_>) -> Vec<Choice> {
    let words = || {
        let around = blank.document.words.call_around(&blank.document.text, blank.at)?;
        let stem = around.name.as_deref()?.strip_suffix("_s")?;
        let entry = blank.state.schemas.operators.get(&around.callee.text)?;
        match entry.values.get(stem)? {
            Values::Words(words) => Some(words.clone()),
            Values::Integers(_) => None,
        }
    };
    let words = words().unwrap_or_default();
    words.into_iter().map(|word| Choice::new(word, CompletionItemKind::ENUM_MEMBER, "", 0)).collect()
}

/// What may be written in an expression or an example.
pub fn choices(blank: &Blank<'_>) -> Vec<Choice> {
    let head = blank.document.head_at(blank.start.saturating_sub(1));
    if blank.prefix.contains("::") {
        return qualified(blank);
    }
    let mut all = arguments(blank, head.as_ref());
    if head.as_ref().is_some_and(|head| head.keyword == "example") {
        let elements = element_types().iter();
        all.extend(elements.map(|name| {
            Choice::new(*name, CompletionItemKind::STRUCT, "element type", 2).inserting(format!("{name}[$0]"))
        }));
        all.extend(values());
        return all;
    }
    all.extend(locals(blank, head.as_ref()));
    all.extend(helpers(blank));
    all.extend(operators(blank));
    all.extend(values());
    all.extend(builtin_calls().map(|(name, usage)| {
        Choice::new(name, CompletionItemKind::FUNCTION, usage, 3).inserting(format!("{name}($0)"))
    }));
    all.extend(reserved_words().iter().map(|word| Choice::new(*word, CompletionItemKind::KEYWORD, "", 6)));
    all
}

/// Rules and operators of other domains, by their full names.
fn qualified(blank: &Blank<'_>) -> Vec<Choice> {
    let typed = blank.prefix.to_lowercase();
    let domains =
        blank.state.schemas.onnx.ops.keys().filter(|op| op.contains("::") && op.to_lowercase().contains(&typed));
    let mut all: Vec<Choice> = domains.map(|op| Choice::new(op, CompletionItemKind::CLASS, "operator", 1)).collect();
    if let Some(analysis) = &blank.state.latest {
        let names = analysis.checked.program.maps.iter().map(|map| map.function.name.as_str());
        let fitting = names.filter(|name| !is_fusion(name) && name.to_lowercase().contains(&typed));
        all.extend(fitting.map(|name| rule(analysis, name)));
    }
    all
}

/// The names of arguments that the call around the place may have and does not have yet.
fn arguments(blank: &Blank<'_>, head: Option<&Head>) -> Vec<Choice> {
    let Some(around) = blank.document.words.call_around(&blank.document.text, blank.start) else { return Vec::new() };
    if around.name.is_some() {
        return Vec::new();
    }
    let new = |name: &String| !around.named.contains(name);
    if let Some(version) = blank.state.version(&around.callee.text, head) {
        let attributes =
            version.attributes.iter().filter_map(|attribute| Some((attribute_word(attribute)?, attribute)));
        return attributes
            .filter(|(name, _)| new(name))
            .map(|(name, attribute)| {
                let detail = attribute.to_string();
                let snippet = match &attribute.default {
                    Some(default) => format!("{name} = ${{0:{}}}", super::escaped(&default.to_string())),
                    None => format!("{name} = $0"),
                };
                let rank = u8::from(!attribute.required);
                Choice::new(name, CompletionItemKind::PROPERTY, detail, rank).inserting(snippet)
            })
            .collect();
    }
    let Some(header) = header_of(blank.state, blank.file, &around, head) else { return Vec::new() };
    let later = header.params.into_iter().skip(around.argument).filter(|(_, name)| new(name));
    later
        .map(|(text, name)| {
            let snippet = format!("{name} = $0");
            Choice::new(name, CompletionItemKind::PROPERTY, text, 1).inserting(snippet)
        })
        .collect()
}

/// The names that are bound before the place in its item, with their types as far as they are known.
fn locals(blank: &Blank<'_>, head: Option<&Head>) -> Vec<Choice> {
    let Some(head) = head else { return Vec::new() };
    let mut types: BTreeMap<&str, String> = BTreeMap::new();
    let known = blank.file.map(|file| blank.state.known(file)).unwrap_or_default();
    for known in known.iter().rev() {
        for bound in known.analysis.checked.program.links.bound.iter().filter(|bound| bound.span.file == known.file) {
            let Some(at) = known.difference.to_new(bound.span.start as usize) else { continue };
            if head.range.contains(&at) && at < blank.start {
                types.insert(&bound.name, bound.ty.to_string());
            }
        }
    }
    let mut names: BTreeMap<String, String> = types.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect();
    for name in written_names(blank, head) {
        names.entry(name).or_default();
    }
    names.into_iter().map(|(name, ty)| Choice::new(name, CompletionItemKind::VARIABLE, ty, 1)).collect()
}

/// The names that the tokens before the place bind: parameters, `let`, `for`, closures. What is half written has no other sign of them.
fn written_names(blank: &Blank<'_>, head: &Head) -> Vec<String> {
    let (text, words) = (&blank.document.text, &blank.document.words);
    let tokens = words.tokens.get(words.within(&(head.name.range.end..blank.start))).unwrap_or_default();
    let mut names = Vec::new();
    let mut in_header = true;
    let mut binds = false;
    for (i, token) in tokens.iter().enumerate() {
        let word = token.text(text);
        let next = tokens.get(i + 1).map_or("", |token| token.text(text));
        match (token.kind, word) {
            (Kind::Mark, "->") | (Kind::Open, "{") => in_header = false,
            (Kind::Mark, "=")
                if !next.is_empty() && i > 0 && tokens.get(i - 1).is_some_and(|t| t.kind == Kind::Close) =>
            {
                in_header = false
            }
            (Kind::Word, "let" | "for" | "fold") => binds = true,
            (Kind::Mark, "|") => binds = !binds,
            (Kind::Word, "in") | (Kind::Mark, "=") => binds = false,
            (Kind::Word, _) if binds && !reserved_words().contains(&word) => names.push(word.to_owned()),
            (Kind::Word, _) if in_header && matches!(next, "," | ")" | "=") => names.push(word.to_owned()),
            _ => {}
        }
    }
    names
}

/// The helpers that the file sees.
fn helpers(blank: &Blank<'_>) -> Vec<Choice> {
    let Some(analysis) = &blank.state.latest else { return Vec::new() };
    let program = &analysis.checked.program;
    let is_seen = |function: &&aten2onnx_opmap::tree::Function| {
        !is_private(&function.name) || Some(function.span.file) == blank.file
    };
    let seen = program.fns.iter().chain(&program.externs).filter(is_seen);
    seen.map(|function| {
        let name = short_name(&function.name);
        let choice = Choice::new(name, CompletionItemKind::FUNCTION, header(function), 3).with_docs(&function.docs);
        choice.inserting(format!("{name}($0)"))
    })
    .collect()
}

fn operators(blank: &Blank<'_>) -> Vec<Choice> {
    let own = blank.state.schemas.onnx.ops.iter().filter(|(op, _)| !op.contains("::"));
    own.filter_map(|(op, versions)| Some((op, versions.last()?)))
        .filter(|(_, version)| !version.deprecated)
        .map(|(op, version)| {
            let inputs: Vec<&str> = version.inputs.iter().map(|port| port.name.as_str()).collect();
            let detail = format!("({}) since {}", inputs.join(", "), version.since);
            Choice::new(op, CompletionItemKind::CLASS, detail, 2).inserting(format!("{op}($0)"))
        })
        .collect()
}

/// Dtypes and constants.
fn values() -> impl Iterator<Item = Choice> {
    let dtypes = dtype_names().iter().map(|name| Choice::new(*name, CompletionItemKind::ENUM_MEMBER, "dtype", 4));
    let constants = constant_names().iter().map(|name| Choice::new(*name, CompletionItemKind::CONSTANT, "", 5));
    dtypes.chain(constants)
}
