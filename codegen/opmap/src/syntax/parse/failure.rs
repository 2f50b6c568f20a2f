//! Turns pest's errors into diagnostics.

use pest::error::{Error, ErrorVariant, InputLocation};

use super::Rule;
use crate::diagnostic::Diagnostic;
use crate::syntax::lines::{self, Lines};
use crate::syntax::scan::{self, Kind, Token};

/// Words that are not names.
pub(crate) const RESERVED: &[&str] =
    &["for", "in", "if", "else", "let", "match", "fail", "since", "ignore", "fold", "return"];

/// How useful an expectation is to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Nearly always possible, so it is shown only if nothing else is expected.
    Operator,
    /// Useful.
    Word,
}

/// The diagnostic for pest's error in `text`, which begins at `offset` of the file.
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
        // The separator is missing at the end of the line above.
        (Some(before), Some(found)) if separator && before.line != found.line => {
            let end = lines.span(offset + before.start..offset + before.end);
            Diagnostic::new("E0001", end, message).label("expected after this").also(span, "found here")
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
            Diagnostic::new("E0004", span, "documentation must be directly before an item or a row")
                .help("write a comment with `//`")
        }
        _ => lines::misplaced(span),
    }
}

/// The most useful expectations without duplicates, closing brackets last.
fn expectations(rules: &[Rule]) -> Vec<String> {
    // Where an operand is expected, pest lists all its possible first tokens.
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
    matches!(
        rule,
        number | string | name | kw_if | kw_match | kw_fail | kw_fold | kw_since | bar | dotted | path_with_namespace
    ) || matches!(rule, open_paren | open_bracket | open_brace | called | negate | not)
}

/// Help for habits from other languages.
fn hint(item: &str, at: usize, word: &str, rules: &[Rule], expected: &[String]) -> Option<String> {
    let expects = |wanted: &str| expected.iter().any(|word| word == wanted);
    let reserved = RESERVED.contains(&word) && (expects("a name") || expects("an expression"));
    let after_return = item.get(..at).is_some_and(|before| before.trim_end().ends_with("return"));
    let text = match word {
        _ if expects("`{`") && ends_with_placeholder(item.get(..at).unwrap_or("")) => {
            "`a{b}` is one name with a placeholder; write `a {b}`"
        }
        _ if after_return => "the value of a block is its last expression",
        "=" | "{" if item.starts_with("extern") => "the body of an `extern fn` is written in Rust",
        "=" if rules.contains(&Rule::eq) => "use `==` to compare, `let name = ...;` to bind a name",
        "." => "there are no methods; write `f(x)`",
        "and" | "&" => "write `&&`",
        "or" => "write `||`",
        "not" => "write `!`",
        "lambda" => "write a graph as `|x| { .. }`",
        _ if word.starts_with('\'') => "use double quotes for strings",
        _ if reserved => return Some(format!("`{word}` is a reserved word")),
        _ if expects("a name") && rules.contains(&Rule::alias) => "write a type and a name, such as `Tensor self`",
        _ if (item.starts_with("lower") || item.starts_with("raise"))
            && rules.contains(&Rule::close_paren)
            && is_word(word) =>
        {
            "write only the names of inputs and attributes; their types come from the schema"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// Whether a text ends with a name and, without a blank, a name in braces.
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

/// The name of a grammar rule in messages. None for rules that mean nothing to a reader.
fn wording(rule: Rule) -> Option<(Weight, &'static str)> {
    use Rule::*;
    let wording = match rule {
        coalesce | or | and | eq | ne | le | ge | lt | gt | within | add | sub | pow | mul | div | rem | index => {
            return Some((Weight::Operator, "an operator"));
        }
        optional_mark | list_mark | alias => return Some((Weight::Operator, "`?` or `[]`")),
        EOI => "the end of the item",
        map | lower | raise | same | function | extern_fn | unsupported | import_domain | fact | example => "an item",
        fact_keyword => "an item",
        clause => "a word",
        expr | negate | not | paren | list | closure | call | rule_call | if_expr | match_expr => "an expression",
        fold_expr | fail | condition | named | argument => "an expression",
        example_value | tensor | literal | example_list | example_arg => "a value",
        element | elements | bound => "a number",
        statement | let_statement | ignore_statement | since_statement | return_statement => "a statement",
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
        kw_map | kw_lower | kw_raise | kw_fuse | kw_same | kw_unsupported | kw_import_domain | kw_extern
        | kw_example => "an item",
        kw_pub => "`pub`",
        kw_fn => "`fn`",
        kw_in | value_range => "`in`",
        kw_if => "`if`",
        kw_else => "`else`",
        kw_before => "`before`",
        kw_avoided => "`avoided`",
        is_clause | kw_is => "`is`",
        emits | kw_emits => "`emits`",
        because | kw_because => "`because`",
        kw_from | from_clause => "`from`",
        kw_as => "`as`",
        kw_with | with_clause => "`with`",
        open_paren | params | lower_params | returns | names | arguments | example_args => "`(`",
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
        range_mark | slice_to | slice_rest | spread | rest_name => "`..`",
        _ => return None,
    };
    Some((Weight::Word, wording))
}
