//! What may stand in the headers of items: keywords, operators, opsets, types, clauses.

use std::collections::{HashMap, HashSet};

use aten2onnx_opmap::returned::Returned;
use aten2onnx_opmap::syntax::fact::FactKind;
use aten2onnx_opmap::syntax::scan::{Kind, Token};
use aten2onnx_opmap::vocabulary::{fact_clauses, item_words, operator_params, type_names};
use aten2onnx_schemas::aten::Schema;
use aten2onnx_schemas::onnx::Version;
use lsp_types::CompletionItemKind;

use super::{Blank, Choice, escaped};
use crate::analysis::Analysis;
use crate::describe::opset_summary;

/// What may be written, if the place is in the header of an item.
pub fn choices(blank: &Blank<'_>) -> Option<Vec<Choice>> {
    let before = tokens_before(blank);
    let text = &blank.document.text;
    if begins_item(blank) {
        return Some(item_words().iter().map(|word| keyword(word)).collect());
    }
    let head: Vec<&str> = before.iter().map(|token| token.text(text)).collect();
    if head.last() == Some(&"since") {
        return Some(opsets(blank));
    }
    let rest = head.as_slice();
    match rest {
        ["map"] => Some(new_rules(blank, " = ")),
        ["unsupported"] => Some(new_rules(blank, "")),
        ["example"] => Some(examples(blank)),
        ["view" | "write" | "update" | "rewrite" | "fact"] => Some(overloads(blank)),
        ["lower" | "raise" | "same"] => Some(operators(blank)),
        ["lower", .., "before"] | ["raise", .., "from"] => Some(forms(blank, &before)),
        ["lower", name @ ..] if is_name(name) => Some(vec![keyword("before"), keyword("avoided")]),
        ["raise", name @ ..] if is_name(name) => Some(vec![keyword("from")]),
        ["same", name @ ..] if is_name(name) => Some(versions(blank, &before)),
        ["same", .., "as"] => Some(versions(blank, &before)),
        ["pub"] => Some(vec![keyword("fn"), keyword("extern")]),
        ["extern"] | ["pub", "extern"] => Some(vec![keyword("fn")]),
        [kind @ ("view" | "write" | "update" | "rewrite" | "fact"), _, rest @ ..] if !rest.contains(&"=") => {
            Some(clauses(kind))
        }
        ["extern", ..] | ["pub", "extern", ..] if head.last() == Some(&"is") => {
            Some(Returned::words().map(|word| Choice::new(word, CompletionItemKind::FUNCTION, "", 0)).collect())
        }
        [.., "emits", "["] => Some(blank_operators(blank)),
        _ if is_type_place(&head) => Some(types()),
        _ => None,
    }
}

fn keyword(word: &str) -> Choice {
    Choice::new(word, CompletionItemKind::KEYWORD, "", 0).inserting(format!("{word} "))
}

/// The tokens of the item before the place, without comments.
fn tokens_before(blank: &Blank<'_>) -> Vec<Token> {
    let words = &blank.document.words;
    let Some(item) = words.item_at(blank.start.saturating_sub(1)) else { return Vec::new() };
    let tokens = words.tokens.get(words.within(&(item.start..blank.start))).unwrap_or_default();
    tokens.iter().filter(|token| !token.is_comment()).copied().collect()
}

/// Whether the place is the first of a line, outside all brackets.
fn begins_item(blank: &Blank<'_>) -> bool {
    let before = blank.document.text.get(..blank.start).unwrap_or("");
    let is_first = before.is_empty() || before.ends_with(['\n', '\r']);
    is_first && blank.document.words.depth_at(blank.start.saturating_sub(1)) == 0
}

/// Whether tokens are one name: `aten :: add . Tensor`.
fn is_name(tokens: &[&str]) -> bool {
    let is_part =
        |i: usize, token: &&str| if i.is_multiple_of(2) { is_word(token) } else { matches!(*token, "::" | ".") };
    tokens.len() % 2 == 1 && tokens.iter().enumerate().all(|(i, token)| is_part(i, token))
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a type may follow: in the parameters of a header, or after `->`.
fn is_type_place(head: &[&str]) -> bool {
    let is_typed = matches!(head, ["map" | "fn" | "fuse", ..] | ["pub" | "extern", ..]);
    if !is_typed || head.contains(&"{") && !head.contains(&"->") {
        return false;
    }
    let is_in_params = !head.contains(&")") && head.contains(&"(");
    let after_arrow = head.last() == Some(&"->") || matches!(head, [.., "->", "("]);
    after_arrow || is_in_params && matches!(head.last(), Some(&("(" | "," | "*")))
}

fn types() -> Vec<Choice> {
    type_names().map(|name| Choice::new(name, CompletionItemKind::STRUCT, "type", 0)).collect()
}

/// The header of an overload as rules write it: without alias marks.
pub fn header_of(schema: &Schema) -> String {
    let mut schema = schema.clone();
    schema.args.iter_mut().for_each(|arg| arg.alias = None);
    schema.returns.iter_mut().for_each(|ret| ret.alias = None);
    schema.to_string()
}

/// The overloads that have no rule yet, each with its whole header.
fn new_rules(blank: &Blank<'_>, after: &str) -> Vec<Choice> {
    let mut taken: HashSet<&str> = HashSet::new();
    if let Some(analysis) = &blank.state.latest {
        let program = &analysis.checked.program;
        taken.extend(program.maps.iter().map(|map| map.function.name.as_str()));
        taken.extend(program.unsupported.iter().map(|one| one.name.as_str()));
    }
    let typed = blank.prefix.to_lowercase();
    let names =
        blank.state.schemas.aten.names().filter(|name| !taken.contains(name) && name.to_lowercase().contains(&typed));
    let written = |name: &str| {
        let schema = blank.state.schemas.aten.get(name)?;
        let header = header_of(schema);
        let detail = header.strip_prefix(name).unwrap_or(&header).to_owned();
        let new = match after.is_empty() {
            true => format!("{} \"$0\"", escaped(name)),
            false => format!("{}{after}$0", escaped(&header)),
        };
        Some(Choice::new(name, CompletionItemKind::FUNCTION, detail, 0).inserting(new))
    };
    names.filter_map(written).collect()
}

/// The overloads for facts: those with a rule first.
fn overloads(blank: &Blank<'_>) -> Vec<Choice> {
    let typed = blank.prefix.to_lowercase();
    let names = blank.state.schemas.aten.names().filter(|name| name.to_lowercase().contains(&typed));
    names.map(|name| Choice::new(name, CompletionItemKind::FUNCTION, "", 0)).collect()
}

/// The rules and operators that examples may call, those without an example first.
fn examples(blank: &Blank<'_>) -> Vec<Choice> {
    let Some(analysis) = &blank.state.latest else { return Vec::new() };
    let mut count: HashMap<String, usize> = HashMap::new();
    for example in &analysis.checked.program.examples {
        let target = match &example.target {
            aten2onnx_opmap::tree::Target::Map(name) | aten2onnx_opmap::tree::Target::Lower(name) => name,
            aten2onnx_opmap::tree::Target::Raise(..) => continue,
        };
        *count.entry(target.clone()).or_default() += 1;
    }
    let choice = |name: &str| {
        let number = count.get(name).copied().unwrap_or(0);
        let detail = format!("{number} example{}", if number == 1 { "" } else { "s" });
        Choice::new(name, CompletionItemKind::FUNCTION, detail, u8::from(number > 0))
            .inserting(format!("{}($0)", escaped(name)))
    };
    let program = &analysis.checked.program;
    let maps = program.maps.iter().map(|map| map.function.name.as_str());
    maps.chain(program.lowers.iter().map(|lower| lower.op.as_str())).map(choice).collect()
}

fn operators(blank: &Blank<'_>) -> Vec<Choice> {
    let own = |op: &&String| !op.contains("::");
    blank.state.schemas.onnx.ops.keys().filter(own).map(|op| operator(blank, op)).collect()
}

/// Operators inside of lists.
fn blank_operators(blank: &Blank<'_>) -> Vec<Choice> {
    blank.state.schemas.onnx.ops.keys().map(|op| operator(blank, op)).collect()
}

fn operator(blank: &Blank<'_>, op: &str) -> Choice {
    let versions: Vec<String> = blank.state.schemas.onnx.versions(op).iter().map(|v| v.since.to_string()).collect();
    Choice::new(op, CompletionItemKind::CLASS, format!("opsets {}", versions.join(", ")), 0)
}

/// The name of the operator of a `lower`, a `raise` or a `same`.
fn operator_name(blank: &Blank<'_>, before: &[Token]) -> String {
    let text = &blank.document.text;
    let name = before.iter().skip(1).take_while(|token| {
        let word = token.text(text);
        token.kind != Kind::Word || !matches!(word, "before" | "from" | "as") && word.parse::<u32>().is_err()
    });
    name.map(|token| token.text(text)).collect()
}

/// The opsets that a `before` or a `from` of the operator may have, each with the header that follows.
fn forms(blank: &Blank<'_>, before: &[Token]) -> Vec<Choice> {
    let op = operator_name(blank, before);
    let keyword = before.first().map_or("", |token| token.text(&blank.document.text));
    let opsets = &blank.state.schemas.opsets;
    let taken = |opset: u32| {
        let Some(analysis) = &blank.state.latest else { return false };
        let program = &analysis.checked.program;
        if keyword == "lower" { program.lower(&op, opset).is_some() } else { program.raise(&op, opset).is_some() }
    };
    let versions = blank.state.schemas.onnx.versions(&op);
    let pairs =
        versions.iter().enumerate().filter(|(_, version)| version.since > opsets.min && version.since <= opsets.max);
    pairs
        .filter_map(|(i, version)| {
            let form: Option<&Version> = match keyword {
                "lower" => Some(version),
                _ => i.checked_sub(1).and_then(|before| versions.get(before)),
            };
            let names: Vec<String> = operator_params(form?).into_iter().map(|(name, _)| name).collect();
            let header = format!("{} ({})", version.since, names.join(", "));
            let is_taken = taken(version.since);
            let detail = if is_taken { "has a rule" } else { "" };
            let choice = Choice::new(version.since.to_string(), CompletionItemKind::VALUE, detail, u8::from(is_taken));
            Some(choice.inserting(format!("{} = $0", escaped(&header))))
        })
        .collect()
}

/// The opsets at which an operator changed.
fn versions(blank: &Blank<'_>, before: &[Token]) -> Vec<Choice> {
    let op = operator_name(blank, before);
    let versions = blank.state.schemas.onnx.versions(&op).iter();
    versions.map(|version| Choice::new(version.since.to_string(), CompletionItemKind::VALUE, op.clone(), 0)).collect()
}

/// All opsets that a `since` can have.
fn opsets(blank: &Blank<'_>) -> Vec<Choice> {
    let range = blank.state.schemas.opsets.range().skip(1);
    range
        .map(|opset| {
            Choice::new(opset.to_string(), CompletionItemKind::VALUE, "", 0).inserting(format!("{opset} \"$0\""))
        })
        .collect()
}

fn clauses(keyword: &str) -> Vec<Choice> {
    let kind = FactKind::ALL.into_iter().find(|kind| kind.keyword() == keyword);
    let all = kind.map(fact_clauses).unwrap_or_default();
    all.iter().map(|clause| Choice::new(*clause, CompletionItemKind::KEYWORD, "clause", 0)).collect()
}

/// The rule of an overload for a list of choices in an expression.
pub fn rule(analysis: &Analysis, name: &str) -> Choice {
    let detail = opset_summary(analysis, name).unwrap_or_default();
    let docs = analysis.checked.program.map(name).map(|map| map.function.docs.clone()).unwrap_or_default();
    Choice::new(name, CompletionItemKind::FUNCTION, detail, 0).with_docs(&docs)
}
