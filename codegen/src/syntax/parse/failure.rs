//! What pest says about a text that it cannot parse, in the words of the language.

use pest::error::{Error, ErrorVariant, InputLocation};

use super::Rule;
use crate::diagnostic::Diagnostic;
use crate::syntax::lines::{self, Lines};
use crate::syntax::scan::{self, Kind, Token};

/// Words that `name` excludes.
const RESERVED: &[&str] = &["for", "in", "if", "else", "let", "match", "fail", "since", "ignore"];

/// How much an expectation tells a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Nearly always possible: said only if nothing else is expected.
    Operator,
    /// Worth saying.
    Word,
}

/// The diagnostic of an error that pest found in `text`, which begins at `offset` of the file.
pub(super) fn diagnostic(lines: Lines<'_>, offset: usize, text: &str, error: &Error<Rule>) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let tokens = scan::scan(text);
    let index = tokens.iter().position(|token| token.end > at);
    let found = index.and_then(|index| tokens.get(index)).copied();
    let before = index.and_then(|index| index.checked_sub(1)).and_then(|index| tokens.get(index));
    let span = match found {
        Some(token) => lines.span(offset + at.max(token.start)..offset + token.end),
        None => {
            let last = text.chars().next_back().map_or(0, char::len_utf8);
            lines.span(offset + text.len() - last..offset + text.len())
        }
    };
    if let Some(token) = found.filter(Token::is_comment) {
        return comment(lines, token, span);
    }
    let rules = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
        ErrorVariant::CustomError { .. } => &[],
    };
    let expected = expectations(rules);
    let word = found.and_then(|token| text.get(at.max(token.start)..token.end)).unwrap_or("");
    let shown = if found.is_some() { lines::shown(word) } else { "the end of the item".to_owned() };
    let message = match expected.is_empty() {
        true => format!("unexpected {shown}"),
        false => format!("expected {}, found {shown}", lines::alternatives(&expected)),
    };
    let separator = expected.iter().any(|word| word == "`,`" || word == "`;`");
    let error = match (before, found) {
        // What is missing is missing at the end of the line above.
        (Some(before), Some(found)) if separator && before.line != found.line => {
            let end = lines.span(offset + before.start..offset + before.end);
            Diagnostic::new("E0001", end, message).label("expected after this").also(span, "found this")
        }
        _ => Diagnostic::new("E0001", span, message),
    };
    match hint(text, at, word, rules, &expected) {
        Some(hint) => error.help(hint),
        None => error,
    }
}

fn comment(lines: Lines<'_>, token: Token, span: crate::source::Span) -> Diagnostic {
    match token.kind {
        Kind::Doc if lines.own_line(span.range().start) => {
            Diagnostic::new("E0004", span, "documentation belongs before an item or a row")
                .help("write a comment with `//`")
        }
        _ => lines::misplaced(span),
    }
}

/// What was expected, without repetition, closing brackets last; only what tells most.
fn expectations(rules: &[Rule]) -> Vec<String> {
    // Where an operand may stand pest lists all of its first tokens.
    let operand = rules.contains(&Rule::not);
    let mut words: Vec<(Weight, &str)> = if operand { vec![(Weight::Word, "an expression")] } else { Vec::new() };
    for rule in rules.iter().filter(|rule| !(operand && begins_operand(**rule))) {
        words.extend(wording(*rule).filter(|word| !words.contains(word)));
    }
    let most = words.iter().map(|(weight, _)| *weight).max();
    let (closing, others): (Vec<_>, Vec<_>) = words
        .into_iter()
        .filter(|(weight, _)| Some(*weight) == most)
        .map(|(_, word)| word.to_owned())
        .partition(|word| matches!(word.as_str(), "`)`" | "`]`" | "`}`" | "the end of the item"));
    [others, closing].concat()
}

fn begins_operand(rule: Rule) -> bool {
    use Rule::*;
    matches!(rule, number | string | name | kw_if | kw_match | kw_fail | kw_since | bar | dotted | path_with_namespace)
        || matches!(rule, open_paren | open_bracket | open_brace | called | negate | not)
}

/// Mistakes that users of other languages make.
fn hint(item: &str, at: usize, word: &str, rules: &[Rule], expected: &[String]) -> Option<String> {
    let expects = |wanted: &str| expected.iter().any(|word| word == wanted);
    let reserved = RESERVED.contains(&word) && (expects("a name") || expects("an expression"));
    let after_return = item.get(..at).is_some_and(|before| before.trim_end().ends_with("return"));
    let text = match word {
        _ if expects("`{`") && ends_with_placeholder(item.get(..at).unwrap_or("")) => {
            "`a{b}` without a blank is one name with a placeholder: write `a {b}`"
        }
        _ if after_return => "the last expression of a block is its value",
        "=" | "{" if item.starts_with("extern") => "an `extern fn` has no body here: it is written in Rust",
        "=" if rules.contains(&Rule::eq) => "`==` compares; `let name = ...;` gives a name",
        "." => "there are no methods: write `f(x)`",
        "and" | "&" => "write `&&`",
        "or" => "write `||`",
        "not" => "write `!`",
        "lambda" => "a graph is written `|x| { .. }`",
        _ if word.starts_with('\'') => "strings stand in double quotes",
        _ if reserved => return Some(format!("`{word}` is a word of the language")),
        _ if expects("a name") && rules.contains(&Rule::alias) => "a parameter is a type and a name: `Tensor self`",
        _ if item.starts_with("lower") && rules.contains(&Rule::close_paren) && is_word(word) => {
            "inputs and attributes are only named: their types are the schema's"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// Does a text end with a name that touches braces around another one?
fn ends_with_placeholder(text: &str) -> bool {
    let Some((before, inside)) = text.trim_end().strip_suffix('}').and_then(|text| text.rsplit_once('{')) else {
        return false;
    };
    let is_tail = |c: char| c.is_ascii_alphanumeric() || c == '_';
    before.ends_with(is_tail) && !inside.is_empty() && inside.chars().all(is_tail)
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// How a rule of the grammar is called in a message. None for rules that say nothing to a reader.
fn wording(rule: Rule) -> Option<(Weight, &'static str)> {
    use Rule::*;
    let wording = match rule {
        coalesce | or | and | eq | ne | le | ge | lt | gt | within | add | sub | pow | mul | div | rem | index => {
            return Some((Weight::Operator, "an operator"));
        }
        optional_mark | list_mark | alias => return Some((Weight::Operator, "`?` or `[]`")),
        EOI => "the end of the item",
        map | lower | same | function | extern_fn | unsupported | import_domain | example => "an item",
        expr | negate | not | paren | list | closure | call | rule_call | if_expr | match_expr => "an expression",
        fail | condition | named | argument => "an expression",
        example_value | tensor | literal | example_list | example_arg => "a value",
        element | elements | bound => "a number",
        statement | let_statement | ignore_statement | since_statement => "a statement",
        pattern | patterns | tuple_pattern | arm => "a pattern",
        block => "a block",
        body_expr => "`=`",
        binding | tuple_binding | name | word | called => "a name",
        dotted | row => "a row",
        column => "a column (a name, an operator, a number, a string or an overload)",
        path => "an operator such as `Gelu` or `aten::add.Tensor`",
        path_with_namespace => "an overload such as `aten::add.Tensor`",
        since_clause => "`since`",
        ty | ty_name | ty_tuple | bare_return | returned => "a type",
        param => "a parameter",
        default | list_default | default_number | quoted => "a default",
        size | number | sign => "a number",
        string => "a string",
        rows | kw_for => "`for`",
        kw_map | kw_lower | kw_same | kw_unsupported | kw_import_domain | kw_extern | kw_example => "an item",
        kw_fn => "`fn`",
        kw_in | value_range => "`in`",
        kw_if => "`if`",
        kw_else => "`else`",
        kw_before => "`before`",
        kw_as => "`as`",
        kw_with | with_clause => "`with`",
        open_paren | params | returns | names | arguments | example_args => "`(`",
        close_paren => "`)`",
        open_bracket | output_list => "`[`",
        close_bracket => "`]`",
        open_brace => "`{`",
        close_brace => "`}`",
        comma => "`,`",
        semicolon => "`;`",
        bar => "`|`",
        star => "`*`",
        equals => "`=`",
        arrow => "`->`",
        fat_arrow => "`=>`",
        range_mark | slice_to | slice_rest | spread => "`..`",
        _ => return None,
    };
    Some((Weight::Word, wording))
}
