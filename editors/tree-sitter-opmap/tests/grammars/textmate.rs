//! The grammar of VS Code sees the same words as the compiler: comments, strings, numbers, keywords, operators of ONNX. Its regular expressions are run as
//! an editor runs them: line by line, the first one that matches at the earliest place.

use std::fs;

use aten2onnx_opmap::syntax::item_ranges;
use aten2onnx_opmap::syntax::scan::{Kind, Token, scan};
use aten2onnx_opmap::vocabulary::{
    builtin_calls, constant_names, dtype_names, element_types, item_words, reserved_words, type_names,
};
use fancy_regex::{Captures, Regex};
use serde_json::Value;

use crate::texts;

/// A rule of the grammar: what it matches, and the scopes of the whole and of its groups.
struct Rule {
    pattern: Regex,
    /// What ends the text, if it has an end of its own.
    end: Option<Regex>,
    scope: String,
    groups: Vec<(usize, String)>,
}

fn grammar() -> Value {
    let path = texts::root().join("editors/vscode/syntaxes/opmap.tmLanguage.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The rules in the order in which they are tried.
fn rules(grammar: &Value) -> Vec<Rule> {
    let mut rules = Vec::new();
    for include in grammar["patterns"].as_array().unwrap() {
        let name = include["include"].as_str().unwrap().trim_start_matches('#');
        for rule in grammar["repository"][name]["patterns"].as_array().unwrap() {
            let pattern = rule["match"].as_str().or(rule["begin"].as_str()).unwrap();
            let groups = rule["captures"].as_object().into_iter().flatten();
            rules.push(Rule {
                pattern: Regex::new(pattern).unwrap(),
                end: rule["end"].as_str().map(|end| Regex::new(end).unwrap()),
                scope: rule["name"].as_str().unwrap_or("").to_owned(),
                groups: groups
                    .map(|(group, scope)| (group.parse().unwrap(), scope["name"].as_str().unwrap().to_owned()))
                    .collect(),
            });
        }
    }
    rules
}

/// The scope of each byte of a text: the last one that a rule gives it.
fn scopes<'r>(rules: &'r [Rule], text: &str) -> Vec<&'r str> {
    let mut scopes = vec![""; text.len()];
    let mut start = 0;
    for whole_line in text.split_inclusive('\n') {
        let line = whole_line.trim_end_matches(['\r', '\n']);
        let mut at = 0;
        // Where each rule matches next: a search is made again only for places that are passed.
        let mut next: Vec<Option<Option<Captures<'_>>>> = rules.iter().map(|_| None).collect();
        while let Some((number, found)) = first_match(rules, line, at, &mut next) {
            let rule = &rules[number];
            let whole = found.get(0).unwrap();
            let end = match &rule.end {
                Some(end) => string_end(end, line, whole.end()),
                None => whole.end(),
            };
            scopes[start + whole.start()..start + end].fill(&rule.scope);
            for (group, scope) in &rule.groups {
                if let Some(part) = found.get(*group) {
                    scopes[start + part.start()..start + part.end()].fill(scope);
                }
            }
            at = end.max(at + usize::from(end == at));
            while at < line.len() && !line.is_char_boundary(at) {
                at += 1;
            }
        }
        start += whole_line.len();
    }
    scopes
}

/// The rule that matches at the earliest place from `at` on, the first of several. `next` has the matches that are known.
fn first_match<'t>(
    rules: &[Rule],
    line: &'t str,
    at: usize,
    next: &mut [Option<Option<Captures<'t>>>],
) -> Option<(usize, Captures<'t>)> {
    if at >= line.len() {
        return None;
    }
    let start = |found: &Captures<'_>| found.get(0).unwrap().start();
    for (rule, known) in rules.iter().zip(next.iter_mut()) {
        let is_passed = matches!(known, Some(Some(found)) if start(found) < at);
        if known.is_none() || is_passed {
            *known = Some(rule.pattern.captures_from_pos(line, at).unwrap());
        }
    }
    let matches = next.iter().enumerate().filter_map(|(i, found)| Some((i, start(found.as_ref()?.as_ref()?))));
    let (number, _) = matches.min_by_key(|(number, start)| (*start, *number))?;
    Some((number, next[number].take()??))
}

/// Where a string ends: escapes inside of it are its own patterns.
fn string_end(end: &Regex, line: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let Some(found) = end.find_from_pos(line, at).unwrap() else { return line.len() };
        let escapes = line[from..found.start()].bytes().rev().take_while(|byte| *byte == b'\\').count();
        if escapes % 2 == 0 {
            return found.end();
        }
        at = found.end();
    }
}

/// What the compiler says that a token is: the beginning of its scope. None for what has no certain one.
fn expected(text: &str, tokens: &[Token], at: usize, starts: &[usize]) -> Option<&'static str> {
    let token = &tokens[at];
    let near = |i: usize| tokens.get(i).map_or("", |token| token.text(text));
    let word = token.text(text);
    match token.kind {
        Kind::Comment => return Some("comment.line.double-slash"),
        Kind::Doc | Kind::FileDoc => return Some("comment.line.documentation"),
        Kind::Str | Kind::Unterminated => return Some("string.quoted"),
        Kind::Word => {}
        _ => return None,
    }
    let (before, after) = (near(at.wrapping_sub(1)), near(at + 1));
    if starts.contains(&token.start) {
        return Some("keyword.declaration");
    }
    let is_named = matches!(before, "::" | "." | "{") || matches!(after, "::" | ".");
    if is_named || word.contains('{') {
        return None;
    }
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some("constant.numeric");
    }
    // Schemas have arguments with the names of keywords, and `=` follows those in calls.
    let is_keyword = reserved_words().contains(&word) && !matches!(after, "," | ")" | "=");
    if is_keyword {
        return Some("keyword.control");
    }
    let is_operator = after == "(" && word.starts_with(|c: char| c.is_ascii_uppercase());
    if is_operator && token.end == tokens[at + 1].start && !type_names().any(|name| name == word) {
        return Some("entity.name.class");
    }
    None
}

#[test]
fn words_have_the_scope_that_the_compiler_gives_them() {
    let grammar = grammar();
    let rules = rules(&grammar);
    let mut failures = Vec::new();
    let mut compared = 0;
    for text in texts::all() {
        let scopes = scopes(&rules, &text.text);
        let tokens = scan(&text.text);
        let starts: Vec<usize> = item_ranges(&text.text).into_iter().map(|item| item.start).collect();
        for (i, token) in tokens.iter().enumerate() {
            let Some(wanted) = expected(&text.text, &tokens, i, &starts) else { continue };
            compared += 1;
            let found = scopes[token.start];
            if !found.starts_with(wanted) {
                let line = 1 + text.text[..token.start].matches('\n').count();
                failures.push(format!(
                    "{}:{line}: `{}` is {found:?}, not {wanted}",
                    text.place,
                    token.text(&text.text)
                ));
            }
        }
    }
    assert!(compared > 40_000, "only {compared} words are compared");
    let shown = failures.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {compared} words differ:\n{shown}", failures.len());
}

#[test]
fn every_word_of_the_language_has_a_scope() {
    let grammar = grammar();
    let rules = rules(&grammar);
    let is = |text: &str, scope: &str| {
        let scopes = scopes(&rules, text);
        let word = text.find(|c: char| c.is_ascii_alphanumeric()).unwrap();
        assert!(scopes[word].starts_with(scope), "{text}: {:?}, not {scope}", scopes[word]);
    };
    item_words().iter().for_each(|word| is(&format!("{word} x"), "keyword.declaration"));
    reserved_words().iter().for_each(|word| is(&format!(" {word} "), "keyword.control"));
    type_names().for_each(|name| is(&format!("({name} "), "storage.type"));
    constant_names().iter().for_each(|name| is(&format!("= {name} "), "constant.language"));
    element_types().iter().for_each(|name| is(&format!("({name}["), "support.type.element"));
    builtin_calls().for_each(|(name, _)| is(&format!("= {name}("), "support.function.builtin"));
    let dtypes = dtype_names().iter().filter(|name| !type_names().any(|own| own == **name));
    dtypes.for_each(|name| is(&format!("= {name})"), "constant.other.dtype"));
    for header in [
        "lower Gelu before 20 (X)",
        "raise Squeeze from 13 (X)",
        "lower Or avoided (A)",
        "same Cast 13 as 19",
        "example aten::x(f32[n]) with n = 2",
        "extern fn rank(Tensor x) -> int is rank(x)",
        "    emits [Concat]",
        "    because \"why\"",
        "    from Mul(x, y)",
    ] {
        let scopes = scopes(&rules, header);
        assert!(scopes.contains(&"keyword.other.opmap"), "{header}: {scopes:?}");
    }
}
